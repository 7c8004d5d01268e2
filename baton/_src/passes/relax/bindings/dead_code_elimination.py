"""DeadCodeElimination: remove unused bindings and unreachable functions.

    lv = R.exp(x)       # unused                  gv = R.add(x, y)
    gv = R.add(x, y)                      ->      return gv
    return gv

Kept are bindings with effects, those that check (match_casts, which define shape variables, too, annotations that say
more than is known, and Ifs with any in their branches), public functions (`global_symbol`), `entry_functions`, and
whatever these need. A module without any of those keeps all its functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.analysis.call_graph import call_graph, reachable
from baton._src.analysis.purity import find_impure_call
from baton._src.ir.module import IRModule
from baton._src.ir.op_def import DimProver
from baton._src.ir.traverse import children
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.check.narrowed import is_narrowed
from baton._src.relax.check.variables import shape_holders
from baton._src.relax.nodes import Binding, Function, If, MatchCast, SeqExpr, Var, VarBinding
from baton._src.support.dataclass import dataclass
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class DeadCodeElimination(Pass):
    """See the module."""

    opt_level = 1
    entry_functions: Sequence[str] | None = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        changed = {}
        for var, function in module.functions.items():
            if isinstance(function, Function):
                swept = remove_all_unused(function)
                if swept is not function:
                    changed[var] = swept
        if changed:
            module = module.with_functions({**module.functions, **changed})
        entries = [module.get_global_var(name).name_hint for name in self.entry_functions or ()]
        return remove_unreachable(module, entries)


def remove_unreachable(module: IRModule, entry_functions: Sequence[str] = ()) -> IRModule:
    """The module without functions that no public or entry function reaches."""
    entries = [
        var
        for var, function in module.functions.items()
        if var.name_hint in entry_functions or "global_symbol" in (function.attrs or {})
    ]
    if not entries:
        return module
    needed = reachable(call_graph(module), entries)
    if len(needed) == len(module.functions):
        return module
    return module.with_functions({v: f for v, f in module.functions.items() if v in needed})


def remove_all_unused(function: Function) -> Function:
    """The function without bindings whose variables are not needed; the same object if all are."""
    return _Sweeper(_live_variables(function)).function(function)


class _Sweeper(BindingRewriter):
    def __init__(self, live: set[Var]) -> None:
        super().__init__()
        self.live = live

    def visit_binding(self, binding: Binding) -> None:
        if binding.var in self.live:
            self.keep(binding)


def _live_variables(function: Function) -> set[Var]:
    """The variables whose bindings must stay, computed backwards from results and effects."""
    live: set[Var] = set()
    bindings: dict[Var, Binding] = {}
    todo: list[Any] = [function.body]
    seen: set[Any] = set()
    prover = Analyzer()
    while todo:
        item = todo.pop()
        if isinstance(item, Var):
            binding = bindings.get(item)
            if item not in live:
                live.add(item)
                if binding is not None:
                    todo.append(_value(binding))
                    if item.struct_info_ is not None:
                        todo.extend(shape_holders(item.struct_info_))
        elif item not in seen:
            seen.add(item)
            if isinstance(item, SeqExpr):
                _enter(item, bindings, live, todo, prover)
                todo.append(item.body)
            else:
                todo.extend(children(item))
    return live


def _enter(seq: SeqExpr, bindings: dict[Var, Binding], live: set[Var], todo: list[Any], prover: DimProver) -> None:
    """Visit the bindings of a live sequence: those that must stay, and those already live, make others live in turn."""
    for block in seq.blocks:
        for binding in block.bindings:
            bindings[binding.var] = binding
            if binding.var in live or _must_stay(binding, prover):
                live.add(binding.var)
                todo.append(_value(binding))
                if isinstance(binding, MatchCast):
                    todo.extend(shape_holders(binding.struct_info))


def _must_stay(binding: Binding, prover: DimProver) -> bool:
    """Whether running the binding has an effect or checks something."""
    return find_impure_call(_value(binding)) is not None or _checks(binding, prover)


def _checks(binding: Binding, prover: DimProver) -> bool:
    """Whether it is a cast, or runs one in a branch (bodies of inner functions are not run)."""
    todo: list[Any] = [binding]
    while todo:
        item = todo.pop()
        if isinstance(item, MatchCast) or is_narrowed(item, prover):
            return True
        if isinstance(item, VarBinding):
            todo += [item.value] if isinstance(item.value, If) else []
        elif not isinstance(item, Function):
            todo.extend(children(item))
    return False


def _value(binding: Binding) -> Any:
    assert isinstance(binding, (VarBinding, MatchCast))
    return binding.value
