"""Rebuild expressions after substitution so that literals fold and vectors of constant stride stay `Ramp`s.

    substitute_and_fold(body, {i: IntImm("int64", 0)})

Only foldings that need no proof: `x * 1`, `0 + x`, literals, `Ramp + scalar`. (`tir.arith` has the simplifier with
bounds.)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, map_content, post_order, rebuild
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.buffer import Buffer
from baton._src.tir.effects import is_pure
from baton._src.tir.folding import wrap

_BUILD: dict[type, Callable[[Any, Any], PrimExpr]] = {
    tir.Add: ops.add,
    tir.Sub: ops.subtract,
    tir.Mul: ops.multiply,
    tir.FloorDiv: ops.floordiv,
    tir.FloorMod: ops.floormod,
    tir.Div: ops.div,
    tir.Mod: ops.truncmod,
    tir.Min: ops.min,
    tir.Max: ops.max,
    tir.EQ: tir.EQ,
    tir.And: ops.logical_and,
    tir.Or: ops.logical_or,
}

_COMPARISONS: dict[type, Callable[[int, int], bool]] = {
    tir.EQ: operator.eq, tir.NE: operator.ne, tir.LT: operator.lt, tir.LE: operator.le, tir.GT: operator.gt,
    tir.GE: operator.ge,
}  # fmt: skip
_DIVISIONS = (tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod)


def fold(node: Node) -> Node | None:
    """The folded form of a node whose children are folded; None if there is nothing to fold."""
    rule = _RULES.get(type(node))
    return None if rule is None else rule(node)


def _fold_binary(node: tir.BinaryOp) -> Node | None:
    if node.dtype.lanes > 1:
        return _fold_vector(node)
    if node.dtype.is_int and (isinstance(node.a, tir.IntImm) or isinstance(node.b, tir.IntImm)):
        return fold_integers(node)
    return None


def _fold_cast(node: tir.Cast) -> Node | None:
    return ops.cast(node.dtype, node.value) if isinstance(node.value, tir.IntImm) and node.dtype.is_int else None


def fold_integers(node: tir.BinaryOp) -> PrimExpr | None:
    """Literals folded, and `(x + 2) + 3`, `(x * 2) * 3` gathered."""
    a, b = node.a, node.b
    if isinstance(b, tir.IntImm) and isinstance(node, (tir.Add, tir.Sub, tir.Mul)):
        if isinstance(a, type(node)) and isinstance(a.b, tir.IntImm) and not isinstance(node, tir.Sub):
            return _BUILD[type(node)](a.a, _BUILD[type(node)](a.b, b))
        if b.value not in (0, 1) and not isinstance(a, tir.IntImm):
            return None  # by far the most frequent case: an index times a stride, or plus an offset
    build = _BUILD.get(type(node))
    if build is None or (isinstance(b, tir.IntImm) and b.value == 0 and isinstance(node, _DIVISIONS)):
        return None
    found = build(a, b)
    if type(found) is type(node) and found.a is a and found.b is b:
        return None
    return found


def _fold_comparison(node: tir.CompareOp) -> PrimExpr | None:
    """A comparison of known numbers, where it has the same result in all lanes: a mask that excludes no lane would keep
    loads under it from being plain ones.
    """
    a, b = _numbers(node.a), _numbers(node.b)
    if a is None or b is None:
        return None
    held = {_COMPARISONS[type(node)](x, y) for x, y in zip(a, b)}
    return _everywhere(held.pop(), node.dtype.lanes) if len(held) == 1 else None


def _numbers(expr: PrimExpr) -> Sequence[int] | None:
    """The lanes of an expression of whole numbers, if they are known."""
    match expr:
        case tir.IntImm(value=value):
            return (value,)
        case tir.Broadcast(value=tir.IntImm(value=value), lanes=lanes):
            return (value,) * lanes
        case tir.Ramp(base=tir.IntImm(value=base), stride=tir.IntImm(value=stride), lanes=lanes):
            return [wrap(base + n * stride, expr.dtype.element) for n in range(lanes)]
        case _:
            return None


def _everywhere(held: bool, lanes: int) -> PrimExpr:
    known = tir.IntImm("bool", int(held))
    return known if lanes == 1 else tir.Broadcast(known, lanes)


def _known(condition: PrimExpr) -> bool | None:
    """What a condition is in all lanes, if it is known."""
    found = condition.value if isinstance(condition, tir.Broadcast) else condition
    return bool(found.value) if isinstance(found, tir.IntImm) else None


def _fold_logical(node: tir.LogicalOp) -> PrimExpr | None:
    is_neutral = isinstance(node, tir.And)
    left, right = _known(node.a), _known(node.b)
    if left is not None:
        return node.b if left == is_neutral else node.a
    if right is None or (right != is_neutral and not is_pure(node.a)):
        return None
    return node.a if right == is_neutral else node.b


def _fold_select(node: tir.Select) -> PrimExpr | None:
    """The value that is selected anyway."""
    known = _known(node.condition)
    if known is None:
        return None
    chosen, other = (node.true_value, node.false_value)[:: 1 if known else -1]
    return chosen if is_pure(other) else None


def _fold_choice(node: tir.Call) -> PrimExpr | None:
    """The value that `if_then_else` has anyway."""
    if getattr(node.op, "name", "") != "tir.if_then_else":
        return None
    known = _known(node.args[0])
    return None if known is None else node.args[1] if known else node.args[2]


def _fold_vector(node: tir.BinaryOp) -> PrimExpr | None:
    """`Ramp + Broadcast(x)` and the like stay ramps."""
    a, b = node.a, node.b
    if isinstance(node, tir.Add) and isinstance(a, tir.Broadcast) and isinstance(b, tir.Ramp):
        a, b = b, a
    if isinstance(node, (tir.Add, tir.Sub)) and isinstance(a, tir.Ramp) and isinstance(b, tir.Broadcast):
        base = ops.add(a.base, b.value) if isinstance(node, tir.Add) else ops.subtract(a.base, b.value)
        return tir.Ramp(base, a.stride, a.lanes)
    return None


_RULES: dict[type, Callable[[Any], Node | None]] = {
    **dict.fromkeys((tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod, tir.Min, tir.Max), _fold_binary),
    **dict.fromkeys((tir.FloorDiv, tir.FloorMod), _fold_binary),
    **dict.fromkeys((tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE), _fold_comparison),
    **dict.fromkeys((tir.And, tir.Or), _fold_logical),
    tir.Select: _fold_select,
    tir.Call: _fold_choice,
    tir.Cast: _fold_cast,
}
"""Rules by node class, for speed: nearly all nodes have nothing to fold."""


def substitute_and_fold(root: Node, replacements: Mapping[Any, Any]) -> Any:
    """`root` with variables replaced and everything folded.

    A buffer none of whose variables is replaced stays the same object: buffers are known by identity.
    """
    changed: dict[Any, Any] = {}
    for item in post_order(root):
        found = replacements.get(item)
        if found is None:
            rebuilt = rebuild(item, changed) if changed else item
            if rebuilt is not item and isinstance(item, Buffer) and replacements.keys().isdisjoint(post_order(item)):
                continue
            folded = fold(rebuilt)
            found = rebuilt if folded is None else folded
        if found is not item:
            changed[item] = found
    return map_content(root, changed) if changed else root


class Template:
    """A folded expression that is instantiated repeatedly with other values for some variables: the parts that depend
    on them are determined once.
    """

    def __init__(self, root: Node, variables: Collection[Any]) -> None:
        self._root = root
        self._above: list[Node] = []
        """Nodes that contain one of the variables, children first; without the variables themselves."""
        depending = set(variables)
        for item in post_order(root):
            if item not in depending and any(child in depending for child in children(item)):
                depending.add(item)
                self._above.append(item)

    def instance(self, replacements: Mapping[Any, Any]) -> Any:
        """The root with the variables replaced and everything above them folded."""
        changed = dict(replacements)
        for item in self._above:
            rebuilt = rebuild(item, changed)
            folded = fold(rebuilt)
            changed[item] = rebuilt if folded is None else folded
        return map_content(self._root, changed)
