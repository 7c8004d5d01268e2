"""TopologicalSort: the bindings of every dataflow block in a chosen order in which each use follows its binding.

    TopologicalSort(order="depth-first", direction="from-inputs")

`depth-first` follows one chain of uses to its end before the next one; `breadth-first` takes ready bindings in turn.
`from-inputs` starts with bindings that need nothing of the block and appends their users; `from-outputs` starts with
the outputs and prepends their operands. Ties keep the original order.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.analysis.exposure import overwritten_later
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, tir_vars_in_struct_info
from baton._src.relax.nodes import Binding, BindingBlock, DataflowBlock, Function, MatchCast
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass

_ORDERS = ("depth-first", "breadth-first")
_DIRECTIONS = ("from-inputs", "from-outputs")


@dataclass(frozen=True)
class TopologicalSort(FunctionPass):
    """See the module. Error `api` for another order or direction."""

    function_class = Function
    order: str = "depth-first"
    direction: str = "from-inputs"

    def __post_init__(self) -> None:
        for given, known in ((self.order, _ORDERS), (self.direction, _DIRECTIONS)):
            if given not in known:
                raise fail("api", f"TopologicalSort: {given!r} is not one of {', '.join(known)}")

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return _Sorter(self.order == "depth-first", self.direction == "from-inputs").function(function)


class _Sorter(BindingRewriter):
    def __init__(self, deep: bool, forward: bool) -> None:
        super().__init__()
        self.deep, self.forward = deep, forward

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Any:
        if not isinstance(block, DataflowBlock):
            return super().leave_block(block, bindings)
        return super().leave_block(block, sort_bindings(bindings, self.deep, self.forward))


def sort_bindings(bindings: Sequence[Binding], deep: bool, forward: bool) -> list[Binding]:
    """The bindings in the order described in the module."""
    needs = needs_of(bindings)
    users: list[list[int]] = [[] for _ in bindings]
    for number, found in enumerate(needs):
        for other in found:
            users[other].append(number)
    order = _walk(needs, users, deep) if forward else list(reversed(_walk(users, needs, deep)))
    return [bindings[n] for n in order]


def in_order(bindings: Sequence[Binding]) -> list[Binding]:
    """The bindings, moved back only as far as their operands require."""
    needs = needs_of(bindings)
    users: list[list[int]] = [[] for _ in bindings]
    missing = [len(n) for n in needs]
    for number, found in enumerate(needs):
        for other in found:
            users[other].append(number)
    ready = [n for n, count in enumerate(missing) if count == 0]
    made: list[Binding] = []
    while ready:
        number = heapq.heappop(ready)
        made.append(bindings[number])
        for user in users[number]:
            missing[user] -= 1
            if missing[user] == 0:
                heapq.heappush(ready, user)
    if len(made) < len(bindings):
        raise fail("pass-circle", "bindings of a dataflow block depend on each other in a cycle")
    return made


def _walk(needs: list[list[int]], users: list[list[int]], deep: bool) -> list[int]:
    missing = [len(n) for n in needs]
    ready = deque(n for n, count in enumerate(missing) if count == 0)
    order: list[int] = []
    while ready:
        number = ready.popleft()
        order.append(number)
        freed = []
        for user in users[number]:
            missing[user] -= 1
            if missing[user] == 0:
                freed.append(user)
        if deep:
            ready.extendleft(reversed(freed))
        else:
            ready.extend(freed)
    return order


def needs_of(bindings: Sequence[Binding]) -> list[list[int]]:
    """For each binding the numbers of the bindings it depends on, through variables and through shape variables that
    match_casts define.
    """
    home: dict[Any, int] = {b.var: number for number, b in enumerate(bindings)}
    known: set[Any] = set()  # shape variables from outside, or defined already
    found: list[list[int]] = []
    for number, binding in enumerate(bindings):
        mentioned = _symbols(binding)
        if isinstance(binding, MatchCast):
            new = [s for s in definable_tir_vars_in_struct_info(binding.struct_info) if s not in known]
            home.update((s, number) for s in new)
        known.update(mentioned)
        numbers = dict.fromkeys(home[m] for m in (*used_vars(binding), *mentioned) if m in home)
        found.append([n for n in numbers if n != number])
    for reader, writer in overwritten_later(bindings):
        found[writer].append(reader)
    return found


def _symbols(binding: Binding) -> list[TirVar]:
    """The shape variables that a binding or its annotation mentions."""
    said = [] if binding.var.struct_info_ is None else tir_vars_in_struct_info(binding.var.struct_info_)
    return [*said, *(n for n in post_order(binding) if isinstance(n, TirVar))]
