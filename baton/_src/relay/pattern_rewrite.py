"""Rewriting and partitioning by patterns.

class AddZero(DFPatternCallback):
    def __init__(self):
        super().__init__()
        self.x = wildcard()
        self.pattern = self.x + is_constant()

    def callback(self, pre, post, node_map):
        return node_map[self.x][0]

rewrite(AddZero(), expr)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from baton._src.relay.check.infer_type import infer_expr
from baton._src.relay.expressions import parts, walk, with_parts
from baton._src.relay.expressions import rewrite as rewrite_expr
from baton._src.relay.nodes import Call, Constant, Function, Var
from baton._src.relay.pattern_match import Matcher
from baton._src.relay.patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
)
from baton._src.support.diagnostics import fail

MAX_ROUNDS = 100
_STRUCTURAL = (CallPattern, TuplePattern, TupleGetItemPattern, IfPattern, LetPattern, FunctionPattern, ConstantPattern)
_WRAPPERS = (AltPattern, AttrPattern, TypePattern, DataTypePattern, ShapePattern, DominatorPattern)


class DFPatternCallback:
    """What to do where a pattern matches. `require_type`: types are inferred before; `rewrite_once`: no fixpoint."""

    pattern: DFPattern

    def __init__(self, require_type: bool = False, rewrite_once: bool = False) -> None:
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr: Any) -> Any:
        return rewrite(self, expr)

    def callback(self, pre: Any, post: Any, node_map: Mapping[DFPattern, list[Any]]) -> Any:
        """The replacement for `post`. `pre` is the node before its parts were rewritten."""
        raise NotImplementedError


def rewrite(callbacks: DFPatternCallback | Sequence[DFPatternCallback], expr: Any, mod: Any = None) -> Any:
    """Apply each callback wherever its pattern matches, again and again until nothing changes."""
    for one in [callbacks] if isinstance(callbacks, DFPatternCallback) else callbacks:
        for _ in range(1 if one.rewrite_once else MAX_ROUNDS):
            if one.require_type:
                infer_expr(expr, mod)
            made = _once(one, expr)
            if made is expr:
                break
            expr = made
        else:
            if not one.rewrite_once:
                help = "its callback makes what its pattern matches; pass rewrite_once=True"
                raise fail("relay-pattern", f"{type(one).__name__} never comes to an end", help=help)
    return expr


def _once(one: DFPatternCallback, expr: Any) -> Any:
    matcher = Matcher(expr)

    def rule(old: Any, new: Any) -> Any:
        found = matcher.match(one.pattern, new if new is not old else old)
        if found is None:
            return None
        made = one.callback(old, new, {pattern: [matched] for pattern, matched in found.items()})
        return made if made is not new else None

    return rewrite_expr(expr, rule)


def partition(
    pattern: DFPattern,
    expr: Any,
    attrs: Mapping[str, Any] | None = None,
    check: Callable[[Any], bool] = lambda matched: True,
) -> Any:
    """`expr` with every match (the outermost first, none overlapping) as a call of a function of its own.

    The function has the attribute `PartitionedFromPattern` and `attrs`. A match whose inner values are used outside of
    it is left alone, as is one that `check` refuses.
    """
    matcher = Matcher(expr)
    users = _users(expr)
    taken: set[Any] = set()
    groups: dict[Any, set[Any]] = {}
    for node in reversed(walk(expr)):
        if node in taken:
            continue
        found = matcher.match(pattern, node)
        if found is None:
            continue
        inside = {m for p, m in found.items() if _is_inner(p) and not isinstance(m, Constant)}
        closed = all(m is node or all(u in inside for u in users.get(m, ())) for m in inside)
        if closed and not inside & taken and check(node):
            groups[node] = inside
            taken |= inside
    return _with_groups(expr, groups, dict(attrs or {}))


def _is_inner(pattern: Any) -> bool:
    """Whether what a pattern matched belongs to the match (not what a wildcard or variable stood for)."""
    while isinstance(pattern, _WRAPPERS):
        pattern = (
            pattern.left
            if isinstance(pattern, AltPattern)
            else (pattern.child if isinstance(pattern, DominatorPattern) else pattern.pattern)
        )
    return isinstance(pattern, _STRUCTURAL)


def _users(root: Any) -> dict[Any, list[Any]]:
    users: dict[Any, list[Any]] = {}
    for node in walk(root):
        for part in parts(node):
            users.setdefault(part, []).append(node)
    return users


def _with_groups(expr: Any, groups: dict[Any, set[Any]], attrs: dict[str, Any]) -> Any:
    done: dict[Any, Any] = {}
    for node in walk(expr):
        made = _call_of(node, groups[node], done, attrs) if node in groups else with_parts(node, done)
        if made is not node:
            done[node] = made
    return done.get(expr, expr)


def _call_of(root: Any, inside: set[Any], done: dict[Any, Any], attrs: dict[str, Any]) -> Call:
    params: dict[Any, Var] = {}
    inner: dict[Any, Any] = {}
    names: list[str] = []
    for node in walk(root):
        if node not in inside:
            continue
        for part in parts(node):
            is_value = not isinstance(part, Constant) and type(part).__name__ != "Op"
            if part not in inside and part not in params and is_value:
                params[part] = Var(f"FunctionVar_0_{len(params)}", part.checked_type_)
                inner[part] = params[part]
        inner[node] = with_parts(node, inner)
        names.append(getattr(getattr(node, "op", None), "name", type(node).__name__))
    marked = {"PartitionedFromPattern": "".join(f"{n}_" for n in names), **attrs}
    function = Function(list(params.values()), inner[root], root.checked_type_, attrs=marked)
    return Call(function, [done.get(p, p) for p in params])


def match(pattern: DFPattern, expr: Any) -> bool:
    """Whether `expr` as a whole matches."""
    return Matcher(expr).match(pattern, expr) is not None


class _Plain(DFPatternCallback):
    """A function as a callback."""

    def __init__(self, pattern: DFPattern, function: Callable[[Any, Any, Any], Any]) -> None:
        super().__init__()
        self.pattern = pattern
        self.function = function

    def callback(self, pre: Any, post: Any, node_map: Mapping[DFPattern, list[Any]]) -> Any:
        return self.function(pre, post, node_map)


def rewrite_with(pattern: DFPattern, callback: Callable[[Any, Any, Any], Any], expr: Any) -> Any:
    """`pattern.rewrite(callback, expr)`."""
    return rewrite(_Plain(pattern, callback), expr)
