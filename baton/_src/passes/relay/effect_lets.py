"""Effects in lets: what has an effect is bound by a let, in the order of evaluation.

    @tick(%r) - @tick(%r) * 2f     becomes     let %v1 = @tick(%r); let %v2 = @tick(%r); %v1 - %v2 * 2f

Then passes may take the graph apart and put it together again: its nodes have no effects. The last value of a scope
stays where it is, since nothing comes after it.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.module import IRModule
from baton._src.passes.relay.effects import Effects
from baton._src.passes.relay.let_placement import LetPlacement
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.expressions import walk
from baton._src.relay.nodes import Function, If, Let, Match
from baton._src.relay.scopes import Scopes


def effects_in_lets(module: IRModule) -> IRModule:
    """A typed module in that form; the same object if it has it already."""
    effects = Effects(module)
    if not effects.anywhere:
        return module
    changed: dict[Any, Any] = {}
    for var, function in module.functions.items():
        if isinstance(function, Function) and not function.attrs.get("Primitive"):
            scopes = Scopes(function)
            unbound = _unbound(function, effects, scopes)
            if unbound:
                placement = LetPlacement(scopes, unbound.__contains__, inside_kernels=False)
                changed[var] = placement.function(function)
    return infer_type(module.with_functions({**module.functions, **changed})) if changed else module


def _unbound(function: Function, effects: Effects, scopes: Scopes) -> set[Any]:
    """The nodes with effects of their own, or in a branch, that no let binds and that do not end a scope.

    A node with another user, too, may be evaluated for that one first: its let, or the end of its scope, is too late.
    """
    order = walk(function)
    has_effects = effects.of_nodes(function)
    own = {n for n in order if effects.acts(n) or (isinstance(n, (If, Match)) and n in has_effects)}
    placed: set[Any] = set()
    for node in order:
        match node:
            case Let():
                placed.add(node.value)
            case Function():
                placed.add(_end(node.body))
            case If():
                placed |= {_end(node.true_branch), _end(node.false_branch)}
            case Match():
                placed |= {_end(clause.rhs) for clause in node.clauses}
            case _:
                pass
    return {node for node in own if node not in placed or scopes.shared(node)}


def _end(scope: Any) -> Any:
    """The value of a scope, behind its lets."""
    while isinstance(scope, Let):
        scope = scope.body
    return scope
