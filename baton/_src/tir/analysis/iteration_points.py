"""Evaluate integer expressions at many iterations of loops at once: exactly, or not at all.

    points = Points({})
    points.loop(i, 0, 8); points.loop(j, 0, i + 1)          one column a pair (i, j): all, or (of many) chosen ones
    points.value(i * 8 + j)                                 one integer a column

Values that depend on memory, on variables without a value, that overflow or divide by 0 raise `Unknown`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.tir import expr as tir
from baton._src.tir.intrinsics import Operands, definition

MOST = 1 << 12
"""Most columns, unless told otherwise."""
_SAFE = 1 << 31
"""Bound below which products of two integers do not overflow."""


class Unknown(Exception):
    """The value is not known at compile time."""


class Points:
    """Columns of values of variables. `definitions` are variables that stand for expressions; `numbers` of constants
    in conditions are where iterations are chosen, if there are too many for all of them: more than `most`.
    """

    def __init__(
        self, definitions: Mapping[tir.Var, PrimExpr], numbers: tuple[int, ...] = (), most: int = MOST
    ) -> None:
        self.definitions = definitions
        self.numbers = numbers
        self.most = most
        self.columns: dict[tir.Var, Any] = {}
        self.count = 1
        self.complete = True
        """Whether every iteration is among the columns."""
        self.memo: dict[PrimExpr, Any] = {}

    def fix(self, var: tir.Var, value: int) -> None:
        """A variable with one value everywhere."""
        self.columns[var] = np.int64(value)

    def loop(self, var: tir.Var, begin: PrimExpr, extent: PrimExpr) -> None:
        """An inner loop: columns for which it does not run are dropped."""
        first, length = (np.broadcast_to(self.value(e), self.count) for e in (begin, extent))
        self.keep(length > 0)
        first, length = first[length > 0], length[length > 0]
        if not self.count:
            self.columns[var] = np.zeros(0, np.int64)
            return
        steps = self._steps(int(length.max()), int(first.min()))
        self._repeat(len(steps))
        self.columns[var] = np.repeat(first, len(steps)) + np.tile(steps, len(first))
        self.memo.clear()
        self.keep(np.tile(steps, len(first)) < np.repeat(length, len(steps)))

    def keep(self, chosen: Any) -> None:
        """Keep only the columns for which the condition holds."""
        mask = np.broadcast_to(np.asarray(chosen, bool), self.count)  # a literal is a number
        if not mask.all():
            self.columns = {v: c[mask] if np.ndim(c) else c for v, c in self.columns.items()}
            self.count = int(mask.sum())
            self.memo.clear()

    def _repeat(self, times: int) -> None:
        self.columns = {v: np.repeat(c, times) if np.ndim(c) else c for v, c in self.columns.items()}
        self.count *= times

    def _steps(self, length: int, first: int) -> Any:
        """The iterations of a loop that are examined, counted from its first one."""
        room = max(self.most // self.count, 1)
        if length <= room:
            return np.arange(length, dtype=np.int64)
        self.complete = False
        near = {0, length - 1}
        for number in self.numbers:
            near |= {n for n in (number - first - 1, number - first, number - first + 1) if 0 <= n < length}
        if len(near) > room:
            near = {0, length - 1} if room > 1 else {length - 1}
        return np.array(sorted(near), np.int64)

    # ------------------------------------------------------------------------------------------- values

    def value(self, root: PrimExpr) -> Any:
        """The value in every column; one number where it is the same in all."""
        stack = [root]
        while stack:
            node = stack[-1]
            needed = [n for n in self._needed(node) if n not in self.memo]
            if node not in self.memo and needed:
                if len(stack) > MOST:
                    raise Unknown
                stack += needed
                continue
            stack.pop()
            if node not in self.memo:
                self.memo[node] = _fitting(self._compute(node), node)
        return self.memo[root]

    def _needed(self, node: PrimExpr) -> tuple[PrimExpr, ...]:
        match node:
            case tir.Var():
                defined = None if node in self.columns else self.definitions.get(node)
                return () if defined is None else (defined,)
            case tir.BinaryOp() | tir.CompareOp() | tir.LogicalOp():
                return (node.a, node.b)
            case tir.Not():
                return (node.a,)
            case tir.Cast():
                return (node.value,)
            case tir.Select():
                return (node.condition, node.true_value, node.false_value)
            case tir.Call():
                return tuple(node.args) if _is_arithmetic(node) else ()
            case _:
                return ()

    def _compute(self, node: PrimExpr) -> Any:
        held = [self.memo[n] for n in self._needed(node)]
        match node:
            case tir.IntImm():
                return np.int64(node.value)
            case tir.Var() if node in self.columns:
                return self.columns[node]
            case tir.Var() if held:
                return held[0]
            case tir.Not():
                return held[0] == 0
            case tir.Cast() if node.dtype.lanes == 1 and not node.value.dtype.is_float:
                return held[0] != 0 if node.dtype.is_bool else held[0]
            case tir.Select():
                return np.where(held[0] != 0, held[1], held[2])
            case tir.Call() if held:
                return _called(node, held)
            case _ if type(node) in _BINARY:
                return _BINARY[type(node)](*held)
            case _:
                raise Unknown


def _fitting(value: Any, node: PrimExpr) -> Any:
    """A value that the node's dtype holds."""
    if node.dtype.lanes != 1 or node.dtype.is_float:
        raise Unknown
    if np.size(value) and not node.dtype.is_bool:
        bits = min(node.dtype.bits, 64) - (node.dtype.kind == "int")
        low = -(1 << bits) if node.dtype.kind == "int" else 0
        if int(np.min(value)) < low or int(np.max(value)) >= 1 << bits:
            raise Unknown
    return value


def _small(a: Any, b: Any) -> bool:
    return all(not np.size(x) or int(np.max(np.abs(x))) < _SAFE for x in (a, b))


def _safe(function: Any) -> Any:
    def apply(a: Any, b: Any) -> Any:
        if not _small(a, b):
            raise Unknown
        return function(np.asarray(a, np.int64), np.asarray(b, np.int64))

    return apply


def _division(function: Any) -> Any:
    def apply(a: Any, b: Any) -> Any:
        if np.any(np.equal(b, 0)):
            raise Unknown
        return function(a, b)

    return _safe(apply)


def _towards_zero(a: Any, b: Any) -> Any:
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


_BINARY: dict[type, Any] = {
    tir.Add: _safe(np.add),
    tir.Sub: _safe(np.subtract),
    tir.Mul: _safe(np.multiply),
    tir.FloorDiv: _division(np.floor_divide),
    tir.FloorMod: _division(np.mod),
    tir.Div: _division(_towards_zero),
    tir.Mod: _division(lambda a, b: a - b * _towards_zero(a, b)),
    tir.Min: np.minimum,
    tir.Max: np.maximum,
    tir.EQ: np.equal,
    tir.NE: np.not_equal,
    tir.LT: np.less,
    tir.LE: np.less_equal,
    tir.GT: np.greater,
    tir.GE: np.greater_equal,
    tir.And: np.logical_and,
    tir.Or: np.logical_or,
}
_SAME_IN_64_BITS = frozenset({"tir.bitwise_and", "tir.bitwise_or", "tir.bitwise_xor", "tir.likely"})


def _is_arithmetic(call: tir.Call) -> bool:
    row = definition(call.op)
    return row is not None and (row.lazy or row.name in _SAME_IN_64_BITS)


def _called(call: tir.Call, held: list[Any]) -> Any:
    row = definition(call.op)
    assert row is not None
    if row.lazy:
        return np.where(held[0] != 0, held[1], held[2])
    if row.operands is Operands.INT and any(a.dtype.kind == "uint" for a in call.args):
        raise Unknown
    assert row.numpy is not None
    return row.numpy(*held)


def numbers_of(conditions: tuple[PrimExpr, ...]) -> tuple[int, ...]:
    """The constants of conditions, and their quotients: what is special about them is near one."""
    found = {n.value for n in post_order(list(conditions)) if isinstance(n, tir.IntImm)}
    return tuple(sorted(found | {a // b for a in found for b in found if b > 1}))[:64]
