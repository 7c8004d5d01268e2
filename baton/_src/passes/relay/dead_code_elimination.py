"""DeadCodeElimination: drop lets whose variable is not used; keep those with effects.

let %u = %x + 1; %x                       becomes   %x
let %u = ref_write(%r, 1); %x             stays
let %u = %x + 1; %u * 2    (inline_once)  becomes   (%x + 1) * 2

Creating a reference that is not used is no effect; reading one is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.passes.relay.effects import Effects
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.passes.relay.type_instances import needs_its_name
from baton._src.relay.expressions import count_uses, parts, walk, with_parts, with_values
from baton._src.relay.nodes import Function, Let, Var
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class DeadCodeElimination(RelayFunctionPass):
    """See the module. `inline_once` also inlines the value of a variable that is used exactly once, not inside another
    function.
    """

    opt_level: ClassVar[int] = 1
    keeps_effects: ClassVar[bool] = True
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)
    inline_once: bool = False
    ignore_impurity: bool = False

    def rewriter(self, module: IRModule, ctx: PassContext) -> Callable[[Any], Any]:
        found = None if self.ignore_impurity else Effects(module, creation=False)
        return lambda function: self._rewritten(function, found)

    def _rewritten(self, function: Function, found: Effects | None) -> Any:
        for step in (_drop_unused, _inline_once) if self.inline_once else (_drop_unused,):
            function = step(function, found.of_nodes(function) if found is not None else set())  # each makes new nodes
        return function


def _drop_unused(function: Function, effects: set[Any]) -> Any:
    """Drop unused lets, and in turn those that only dropped values used."""
    uses = _count(function)
    dead: set[Any] = set()
    for node in walk(function):  # inner lets come first
        if isinstance(node, Let) and uses.get(node.var, 0) == 0 and node.value not in effects:
            dead.add(node)
            _uncount(node.value, uses, dead)
    if not dead:
        return function
    done: dict[Any, Any] = {}
    for node in walk(function):
        made = done.get(node.body, node.body) if node in dead else with_parts(node, done)
        if made is not node:
            done[node] = made
    return done.get(function, function)


def _count(root: GraphExpr) -> dict[Any, int]:
    uses = count_uses(walk(root))
    for node in walk(root):  # a function that only calls itself is not used
        if isinstance(node, Let) and isinstance(node.value, Function):
            own = sum(p is node.var for inner in walk(node.value) for p in parts(inner)) if uses.get(node.var) else 0
            uses[node.var] = uses.get(node.var, 0) - own
    return uses


def _uncount(root: Any, uses: dict[Any, int], dead: set[Any]) -> None:
    """Decrement the use count of `root`, and of its parts if that was the last use. A dropped let has only its body."""
    work = [root]
    while work:
        node = work.pop()
        uses[node] = uses.get(node, 0) - 1
        if uses[node] <= 0 and not isinstance(node, Var):
            work.extend([node.body] if node in dead else parts(node))


def _inline_once(function: Function, effects: set[Any]) -> Any:
    order = walk(function)
    uses = count_uses(order)
    stays = _used_inside_functions(function)
    lets = [n for n in order if isinstance(n, Let) and uses.get(n.var) == 1 and n.var not in stays]
    return with_values(
        function, order, {n.var: n.value for n in lets if n.value not in effects and not needs_its_name(n, order)}
    )


def _used_inside_functions(function: Function) -> set[Any]:
    """Variables used by a function that is written in their scope: it may be called many times (so may one that calls
    itself).
    """
    found: set[Any] = set()
    for node in walk(function.body):
        if isinstance(node, Function):
            inner = walk(node)
            own = {n.var for n in inner if isinstance(n, Let)}
            found.update(n for n in inner if isinstance(n, Var) and n not in own)
    return found
