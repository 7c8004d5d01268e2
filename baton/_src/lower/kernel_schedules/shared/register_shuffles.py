"""Exchanges of elements between vector registers: squares are transposed, vectors are interleaved and taken apart."""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.shared.loops import sequence
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st

INTERLEAVED = (2, 3, 4, 8)
"""Numbers of vectors that can be interleaved."""
MOST_DEINTERLEAVED = 16
"""Most vectors to deinterleave, so that they stay in registers."""


def square(load: Callable[[int], PrimExpr], store: Callable[[int, tir.Var], st.Stmt], lanes: int) -> st.Stmt:
    """Load `lanes` vectors, exchange, store: element c of vector r becomes element r of vector c. Step d makes element
    p of vector i that of vector p in bit d.
    """
    bound: list[tuple[tir.Var, PrimExpr]] = []

    def named(value: PrimExpr) -> tir.Var:
        bound.append((tir.Var(f"v{len(bound)}", value.dtype), value))
        return bound[-1][0]

    vectors = [named(load(r)) for r in range(lanes)]
    step = 1
    while step < lanes:
        for first in (r for r in range(lanes) if not r & step):
            pair = (vectors[first], vectors[first + step])
            lower = [p if not p & step else lanes + p - step for p in range(lanes)]
            upper = [p + step if not p & step else lanes + p for p in range(lanes)]
            vectors[first], vectors[first + step] = (named(tir.Shuffle(pair, tuple(order))) for order in (lower, upper))
        step *= 2
    body = sequence(*(store(c, v) for c, v in enumerate(vectors)))
    for var, value in reversed(bound):
        body = st.LetStmt(var, value, body)
    return body


def interleave(vectors: list[PrimExpr]) -> PrimExpr:
    """Interleave vectors, whose number is a power of 2 or 3, taking elements from each in turn."""
    if len(vectors) == 1:
        return vectors[0]
    if len(vectors) == 3:
        return _interleaved_three(vectors)
    even, odd = interleave(vectors[::2]), interleave(vectors[1::2])
    size = even.dtype.lanes
    return tir.Shuffle((even, odd), tuple(i + size * side for i in range(size) for side in range(2)))


def _interleaved_three(vectors: list[PrimExpr]) -> PrimExpr:
    """Two of them spread to their places, then the third one put between."""
    first, second, third = vectors
    size = first.dtype.lanes
    places = [divmod(place, 3) for place in range(3 * size)]
    two = tir.Shuffle((first, second), tuple(at + size * side if side < 2 else 0 for at, side in places))
    one = tir.Shuffle((third, third), tuple(at for at, _ in places))
    return tir.Shuffle((two, one), tuple(n + 3 * size * (side == 2) for n, (_, side) in enumerate(places)))


def deinterleave(vectors: list[PrimExpr], store: Callable[[int, PrimExpr], st.Stmt]) -> st.Stmt:
    """The inverse: `store(t, v)` with the vector v of every element whose index is t modulo the number of vectors, a
    power of 2.
    """
    bound: list[tuple[tir.Var, PrimExpr]] = []

    def named(value: PrimExpr) -> tir.Var:
        bound.append((tir.Var(f"v{len(bound)}", value.dtype), value))
        return bound[-1][0]

    def apart(whole: list[tir.Var]) -> list[tir.Var]:
        if len(whole) == 1:
            return whole
        size = whole[0].dtype.lanes
        sides = []
        for side in range(2):
            order = tuple(range(side, 2 * size, 2))
            sides.append(apart([named(tir.Shuffle(pair, order)) for pair in zip(whole[::2], whole[1::2])]))
        return [v for pair in zip(*sides) for v in pair]

    body = sequence(*(store(t, v) for t, v in enumerate(apart([named(v) for v in vectors]))))
    for var, value in reversed(bound):
        body = st.LetStmt(var, value, body)
    return body
