"""Outline groups of bindings as functions: shared by FuseOps, FuseOpsByPattern and MergeCompositeFunctions.

    with R.dataflow():                         with R.dataflow():
        a = R.exp(x)    # of the group             lv = cls.fused_exp_sin(x)
        b = R.cos(a)                ->             a = lv[0]
        c = R.sin(a)    # of the group             c = lv[1]
        gv = R.add(b, c)                           b = R.cos(a)
                                                   ...

A group's inputs become parameters in order of first use; of a tuple that is only read by fields, these fields. Its
outputs are outputs of the block, then variables that other bindings use, in order of use; several are returned as a
tuple. Where dependences allow it, the call is placed at the group's first binding. Shape variables that no input
determines come last, as one shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.traverse import post_order, substitute
from baton._src.passes.relax.bindings.topological_sort import needs_of
from baton._src.passes.relax.fusion.unshown_shape_vars import unshown_shape_vars
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    Function,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.own_variables import with_own_symbols
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import ShapeStructInfo, TupleStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.spans import places_together
from baton._src.tir.expr import Var as TirVar


@dataclass(eq=False)
class Group:
    """Bindings that become one function, in order; `attrs` are the function's."""

    bindings: list[Binding]
    attrs: Mapping[str, Any]


def group_name(group: Group) -> str:
    """The name of a group's function, derived from the functions it calls: `fused_add_exp`,
    `fused_relax_matmul_relax_nn_relu`.
    """
    parts = ["fused"]
    for call in (b.value for b in group.bindings if isinstance(b, VarBinding) and isinstance(b.value, Call)):
        callee = call.args[0] if call.op is special_op("call_tir") else call.op
        if isinstance(callee, Op):
            parts.append(callee.name.replace(".", "_"))
        elif isinstance(callee, GlobalVar):
            parts.append(callee.name_hint.removeprefix("fused_") if callee is call.op else callee.name_hint)
    return "_".join(parts)


class GroupOutliner(ModuleRewriter):
    """Replaces the groups of each dataflow block by calls. Override `groups` and `define`."""

    def groups(self, bindings: list[Binding]) -> Sequence[Group]:
        """The groups of a block to outline; no binding is in two of them."""
        raise NotImplementedError

    def define(self, function: Function, group: Group) -> GlobalVar:
        """The variable of the group's function, which is added to the module unless an equal one exists."""
        raise NotImplementedError

    def lifts(self, constant: Constant) -> bool:
        """Whether a constant becomes a parameter instead of moving into the function."""
        return False

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Sequence[BindingBlock]:
        groups = self.groups(bindings) if isinstance(block, DataflowBlock) else []
        if not groups:
            return super().leave_block(block, bindings)
        units = _units(bindings, groups)
        reads = _reads(bindings)
        self._made = []
        for unit in _ordered(bindings, units):
            if isinstance(unit, Group):
                self._call(unit, _outputs(unit, bindings, reads))
            else:
                self._made.append(unit)
        return (DataflowBlock(self._made, block.span),)

    def _call(self, group: Group, outputs: list[Var]) -> None:
        """Append the call of the group's function, and a binding for each of its results if there are several."""
        inputs = self._inputs(group)
        symbols = unshown_shape_vars(group.bindings, inputs)
        callee = self.define(_outlined(group, inputs, outputs, symbols), group)
        span = places_together(b.span for b in group.bindings)
        infos = [o.struct_info for o in outputs]
        whole = outputs[0] if len(outputs) == 1 else DataflowVar("lv", TupleStructInfo(infos))
        call = self.normalized(Call(callee, [*inputs, *((ShapeExpr(symbols),) if symbols else ())], span=span))
        self.keep(VarBinding(whole, call.with_fields(struct_info_=whole.struct_info), span))
        if whole is not outputs[0]:
            for number, output in enumerate(outputs):
                self.keep(VarBinding(output, self.normalized(TupleGetItem(whole, number)), span))

    def _inputs(self, group: Group) -> list[Any]:
        """What the group reads from outside: variables, fields of tuples, and constants that are lifted."""
        own = {b.var for b in group.bindings}
        values = [b.value for b in group.bindings if isinstance(b, VarBinding)]
        found: dict[Any, dict[TupleGetItem, None] | None] = {}
        """By variable or constant: None, or the fields that are read of it if nothing else of it is."""
        for value in values:
            for leaf in post_order(value):
                outside = isinstance(leaf, Var) and leaf not in own
                if not outside and not (isinstance(leaf, Constant) and self.lifts(leaf)):
                    continue
                fields = found.setdefault(leaf, {})
                if not isinstance(value, TupleGetItem):
                    found[leaf] = None
                elif fields is not None and all(f.index != value.index for f in fields):
                    fields[value] = None
        return [i for leaf, fields in found.items() for i in ((leaf,) if fields is None else fields)]


def _units(bindings: Sequence[Binding], groups: Sequence[Group]) -> dict[Binding, Group | Binding]:
    """For each binding its group, or itself."""
    group_of = {b: group for group in groups for b in group.bindings}
    return {b: group_of.get(b, b) for b in bindings}


def _ordered(bindings: Sequence[Binding], units: Mapping[Binding, Group | Binding]) -> list[Group | Binding]:
    """The units by their first binding, each after those it needs. Error `pass-circle`: two need each other."""
    needs: dict[Group | Binding, dict[Group | Binding, None]] = {unit: {} for unit in units.values()}
    for binding, numbers in zip(bindings, needs_of(bindings)):
        needs[units[binding]].update((units[bindings[n]], None) for n in numbers)
    made: dict[Group | Binding, None] = {}
    entered: set[Group | Binding] = set()
    todo = list(reversed(needs))
    while todo:
        unit = todo.pop()
        if unit in made:
            continue
        missing = [n for n in needs[unit] if n not in made and n is not unit]
        if not missing:
            made[unit] = None
        elif unit in entered:
            raise fail("pass-circle", "groups of a dataflow block depend on each other in a cycle")
        else:
            entered.add(unit)
            todo += [unit, *reversed(missing)]
    return list(made)


Place = tuple[int, int]
"""A use of a variable: the number of the binding, and its index among the variables that this reads."""


def _reads(bindings: Sequence[Binding]) -> dict[Any, list[Place]]:
    """The places at which each variable is read, in order."""
    found: dict[Any, list[Place]] = {}
    for number, binding in enumerate(bindings):
        for position, var in enumerate(used_vars(binding)):
            found.setdefault(var, []).append((number, position))
    return found


def _outputs(group: Group, bindings: Sequence[Binding], reads: Mapping[Any, Sequence[Place]]) -> list[Var]:
    """The group's variables that are needed outside; the last one if none is (nothing needs the group)."""
    own = set(group.bindings)
    outside: dict[Var, Place] = {}
    for var in (b.var for b in group.bindings):
        place = next((p for p in reads.get(var, ()) if bindings[p[0]] not in own), None)
        if not isinstance(var, DataflowVar):
            outside[var] = (-1, len(outside))
        elif place is not None:
            outside[var] = place
    return sorted(outside, key=lambda v: outside[v]) or [group.bindings[-1].var]


def _outlined(group: Group, inputs: Sequence[Any], outputs: Sequence[Var], symbols: Sequence[TirVar]) -> Function:
    """The group as a function of its inputs, in variables of its own."""
    names: dict[str, int] = {}
    params = [Var(_fresh(_hint(i), names), i.struct_info) for i in inputs]
    renamed: dict[Any, Any] = dict(zip(inputs, params))
    fields = {(i.tuple_value, i.index): p for i, p in renamed.items() if isinstance(i, TupleGetItem)}
    if symbols:
        params.append(Var(_fresh("tir_vars", names), ShapeStructInfo(symbols)))
    made: list[Binding] = []
    for binding in group.bindings:
        value = binding.value
        if isinstance(value, TupleGetItem) and (value.tuple_value, value.index) in fields:
            renamed[binding.var] = fields[value.tuple_value, value.index]
            continue
        kind, hint = (Var, "gv") if binding.var in outputs else (DataflowVar, "lv")
        renamed[binding.var] = own = kind(_fresh(hint, names), binding.var.struct_info)
        made.append(VarBinding(own, substitute(value, renamed, notes=False), binding.span))
    result: Any = renamed[outputs[0]]
    if len(outputs) > 1:
        infos = [o.struct_info for o in outputs]
        result = Tuple([renamed[o] for o in outputs]).with_fields(struct_info_=TupleStructInfo(infos))
    body = SeqExpr([DataflowBlock(made)], result).with_fields(struct_info_=result.struct_info_)
    return with_own_symbols(Function(params, body, result.struct_info_, True, dict(group.attrs)))


def _hint(given: Any) -> str:
    if isinstance(given, TupleGetItem):
        return f"{_hint(given.tuple_value)}_{given.index}"
    return getattr(given, "name_hint", "param")


def _fresh(hint: str, names: dict[str, int]) -> str:
    count = names.get(hint, 0)
    names[hint] = count + 1
    return hint if count == 0 else f"{hint}_{count}"
