"""TopologicalSort: the bindings of every dataflow block in a chosen order in which each use follows its binding.

    TopologicalSort(order="depth-first", direction="from-inputs")

`depth-first` follows one chain of uses to its end before the next one; `breadth-first` takes ready bindings in turn.
`from-inputs` starts with the users of the parameters in order, then with bindings that use nothing, and appends the
users of these; `from-outputs` starts with unused bindings and the results, and prepends their operands, as TVM does.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from typing import Any

from baton._src.analysis.bindings import used_vars
from baton._src.analysis.exposure import overwritten_later
from baton._src.analysis.variables import free_vars
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import children, post_order
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, tir_vars_in_struct_info
from baton._src.relax.nodes import Binding, BindingBlock, DataflowBlock, Function, MatchCast, SeqExpr, Var
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
        self.places: list[dict[Any, int]] = []
        """For each function being visited, outermost first: when the walk comes to each variable."""

    def enter_function(self, function: Function) -> None:
        self.places.append(_Walk(function, self.deep, self.forward).places())

    def leave_function(self, function: Function) -> Function:
        self.places.pop()
        return function

    def leave_block(self, block: BindingBlock, bindings: list[Binding]) -> Any:
        if not isinstance(block, DataflowBlock):
            return super().leave_block(block, bindings)
        places = self.places[-1]
        return super().leave_block(block, sorted(bindings, key=lambda b: places[_node(b)], reverse=not self.forward))


_INPUTS, _OUTPUTS = "inputs", "outputs"


class _Walk:
    """One function as a graph: its variables, and two more nodes, which give all inputs and take all outputs."""

    def __init__(self, function: Function, deep: bool, forward: bool) -> None:
        self.deep, self.forward = deep, forward
        self.needs: dict[Any, list[Any]] = {}
        self.users: dict[Any, list[Any]] = {}
        nodes = post_order(function.body, below=lambda n: () if isinstance(n, Function) else children(n))
        uses = {_node(b): _uses(b) for b in nodes if isinstance(b, Binding)}
        outer = dict.fromkeys(v for found in uses.values() for v in found if v not in uses)
        for var in dict.fromkeys((*function.params, *outer)):
            self._add(_INPUTS, var)
        for node, found in uses.items():
            for var in found:
                self._add(var, node)
        results = _mentioned(function.body)
        unused = [node for node in uses if node not in self.users and node not in results]
        for node in [node for node in uses if node not in self.needs]:
            self._add(_INPUTS, node)
        for node in (*unused, *results):
            self._add(node, _OUTPUTS)
        for block in (n for n in nodes if isinstance(n, DataflowBlock)):
            self._add_hidden(block.bindings)

    def _add(self, needed: Any, user: Any) -> None:
        self.needs.setdefault(user, []).append(needed)
        self.users.setdefault(needed, []).append(user)

    def _add_hidden(self, bindings: Sequence[Binding]) -> None:
        """What the data flow does not show: sizes that casts define, tensors that are overwritten later."""
        for binding, numbers in zip(bindings, needs_of(bindings)):
            shown = set(self.needs[_node(binding)])
            for needed in (_node(bindings[n]) for n in numbers):
                if needed not in shown:
                    self._add(needed, _node(binding))

    def places(self) -> dict[Any, int]:
        """The number of each node in the order in which the walk visits them."""
        ahead, behind = (self.users, self.needs) if self.forward else (self.needs, self.users)
        missing = {node: len(found) for node, found in behind.items()}
        found: dict[Any, int] = {}
        ready: deque[Any] = deque([_INPUTS if self.forward else _OUTPUTS])
        while ready:
            node = ready.pop() if self.deep else ready.popleft()
            found[node] = len(found)
            freed = []
            for other in ahead.get(node, ()):
                missing[other] -= 1
                if missing[other] == 0:
                    freed.append(other)
            ready.extend(reversed(freed) if self.deep and self.forward else freed)
        return found


def _node(binding: Binding) -> Any:
    """What stands for a binding in the graph: its variable, if it has one."""
    return binding if binding.var is None else binding.var


def _uses(binding: Binding) -> list[Var]:
    """The variables that a binding needs directly; of branches it needs the results. (Inner functions are walked by
    themselves.)"""
    value = getattr(binding, "value", None)
    return [v for v in free_vars(value) if v is not binding.var] if isinstance(value, Function) else _mentioned(value)


def _mentioned(value: Any) -> list[Var]:
    nodes = post_order(value, below=lambda n: (n.body,) if isinstance(n, SeqExpr) else children(n))
    return [n for n in nodes if isinstance(n, Var)]


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


def needs_of(bindings: Sequence[Binding]) -> list[list[int]]:
    """For each binding the numbers of the bindings it depends on, through variables and through shape variables that
    match_casts define.
    """
    home: dict[Any, int] = {b.var: number for number, b in enumerate(bindings) if b.var is not None}
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
    info = None if binding.var is None else binding.var.struct_info_
    said = [] if info is None else tir_vars_in_struct_info(info)
    return [*said, *(n for n in post_order(binding) if isinstance(n, TirVar))]
