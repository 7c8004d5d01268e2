"""MergeCompositeFunctions: neighbouring composite functions of one external compiler become one function for it.

    lv = cls.fused_matmul(x, w)      # Composite "tensorrt.matmul"
    gv = cls.fused_relu(lv)          # Composite "tensorrt.relu"
    ->
    gv = cls.fused_matmul_tensorrt(x, w)     # Codegen "tensorrt", with both functions and their calls inside

Calls of composite functions whose names agree up to the first dot are merged along uses in a dataflow block, as long as
no other binding stands between them; a value that others use too is an output (the function then returns a tuple). What
nobody calls any more goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order, substitute, with_fresh_binders
from baton._src.passes.relax.binding_rewriter import BindingRewriter, rewrite_functions
from baton._src.passes.relax.bindings.dead_code_elimination import remove_unreachable
from baton._src.passes.relax.bindings.topological_sort import in_order
from baton._src.passes.relax.fusion.fuse_ops_by_pattern import codegen_of
from baton._src.passes.relax.fusion.unshown_shape_vars import unshown_shape_vars
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.signatures import function_info
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
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
from baton._src.relax.struct_info import ShapeStructInfo, TupleStructInfo
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class MergeCompositeFunctions(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        merger = _Merger(module)
        made = rewrite_functions(module, merger.function, merger.builder, lambda _, f: not _is_external(f))
        return made if made is module else remove_unreachable(made, ("main",))


def _is_external(function: Function) -> bool:
    """Whether a function is for an external compiler already."""
    return bool(_codegen_of(function) or function.attrs.get("Codegen"))


def _codegen_of(function: Any) -> str | None:
    """The external compiler a composite function is for."""
    name = function.attrs.get("Composite") if isinstance(function, Function) else None
    return None if not name else codegen_of(str(name))


class _Merger(BindingRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.builder = BlockBuilder(module)

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Any:
        if not isinstance(block, DataflowBlock):
            return super().leave_block(block, bindings)
        groups = self._groups(bindings)
        if not groups:
            return super().leave_block(block, bindings)
        used = {v for b in bindings for v in used_vars(b)}
        inside = {b.var: number for number, group in enumerate(groups) for b in group}
        made: list[Binding] = [b for b in bindings if b.var not in inside]
        for group in groups:
            made.extend(self._merged(group, bindings, used))
        place = {b.var: n for n, b in enumerate(bindings)}
        made.sort(key=lambda b: place.get(b.var, -1))
        return (DataflowBlock(in_order(made), block.span),)

    def _codegen(self, binding: Binding) -> str | None:
        value = binding.value if isinstance(binding, VarBinding) else None
        callee = value.op if isinstance(value, Call) else None
        return _codegen_of(self.context.functions.get(callee)) if isinstance(callee, GlobalVar) else None

    def _groups(self, bindings: list[Binding]) -> list[list[Binding]]:
        """The calls to merge, in groups that do not need one another in a circle."""
        group_of: dict[Var, int] = {}
        groups: list[list[Binding]] = []
        needs: list[set[int]] = []
        behind: dict[Var, set[int]] = {}
        """For each binding outside of groups, the groups that it is computed from."""
        for binding in bindings:
            codegen = self._codegen(binding)
            operands = used_vars(binding)
            direct = {group_of[v] for v in operands if v in group_of}
            around = {g for v in operands for g in behind.get(v, ())}
            if codegen is None:
                behind[binding.var] = around | direct
                continue
            fitting = [g for g in sorted(direct) if self._codegen(groups[g][0]) == codegen]
            chosen = next((g for g in fitting if g not in _reached(around | (direct - {g}), needs)), len(groups))
            if chosen == len(groups):
                groups.append([])
                needs.append(set())
            groups[chosen].append(binding)
            needs[chosen] |= around | (direct - {chosen})
            group_of[binding.var] = chosen
        return groups

    def _merged(self, group: list[Binding], bindings: list[Binding], used: set[Any]) -> list[Binding]:
        """What replaces a group: a call, and projections if several of its values are used outside."""
        own = {b.var for b in group}
        outside = {v for b in bindings if b.var not in own for v in used_vars(b)}
        outputs = [b.var for b in group if not isinstance(b.var, DataflowVar) or b.var in outside]
        outputs = outputs or [group[-1].var]
        inputs = list(dict.fromkeys(v for b in group for v in used_vars(b) if v not in own))
        symbols = unshown_shape_vars(group, inputs)
        function, name = self._outlined(group, inputs, symbols, outputs)
        var = GlobalVar(name)
        self.builder.update_func(var, function)
        self.context.functions[var] = function
        infos = [o.struct_info for o in outputs]
        info = infos[0] if len(outputs) == 1 else TupleStructInfo(infos)
        sizes = [ShapeExpr(symbols).with_fields(struct_info_=ShapeStructInfo(symbols))] if symbols else []
        call: Any = Call(var, [*inputs, *sizes]).with_fields(struct_info_=info)
        if len(outputs) == 1:
            return [VarBinding(outputs[0], call)]
        whole = DataflowVar("lv", info)
        items = [TupleGetItem(whole, n).with_fields(struct_info_=o.struct_info) for n, o in enumerate(outputs)]
        return [VarBinding(whole, call), *(VarBinding(o, item) for o, item in zip(outputs, items))]

    def _inside(self, binding: Any) -> VarBinding:
        """The composite function that a binding calls, as a local one."""
        inner = with_fresh_binders(self.context.functions[binding.value.op])
        info = function_info(inner)
        return VarBinding(DataflowVar("local_func", info), inner.with_fields(struct_info_=info))

    def _outlined(
        self, group: list[Binding], inputs: list[Var], symbols: list[TirVar], outputs: list[Var]
    ) -> tuple[Function, str]:
        params = [Var(v.name_hint, v.struct_info) for v in inputs]
        renamed: dict[Any, Any] = dict(zip(inputs, params))
        if symbols:
            params.append(Var("s", ShapeStructInfo(symbols)))
        made: list[Binding] = []
        single = outputs[0] if len(outputs) == 1 else None
        for binding in group:
            local = self._inside(binding)
            made.append(local)
            own = (Var if binding.var is single else DataflowVar)(binding.var.name_hint, binding.var.struct_info)
            call: Any = substitute(binding.value, renamed, notes=False)
            made.append(VarBinding(own, call.with_fields(op=local.var)))
            renamed[binding.var] = own
        result = renamed[single] if single is not None else None
        if result is None:
            info = TupleStructInfo([o.struct_info for o in outputs])
            result = Var("gv", info)
            made.append(VarBinding(result, Tuple([renamed[o] for o in outputs]).with_fields(struct_info_=info)))
        body = SeqExpr([DataflowBlock(made)], result).with_fields(struct_info_=result.struct_info)
        codegen = self._codegen(group[0])
        first: Any = group[0]
        name = self.builder.get_unique_name(f"{first.value.op.name_hint}_{codegen}")
        attrs = {"Codegen": codegen, "global_symbol": name}
        function = Function(params, body, result.struct_info, True, attrs)
        mentioned = [n for n in post_order(function, notes=True) if isinstance(n, TirVar)]
        return substitute(function, {v: v.copy() for v in mentioned}), name


def _reached(start: set[int], needs: list[set[int]]) -> set[int]:
    """The groups that those of `start` need, themselves included."""
    found, todo = set(start), list(start)
    while todo:
        new = needs[todo.pop()] - found
        found |= new
        todo.extend(new)
    return found
