"""Straight lines of code: a short transform of values in registers, complex products, squares that are transposed.

    lines = Lines();  y = butterfly(lines, x, -1);  lines.before(store(.., y[0].re))

An even number of values is two transforms of half of them, a prime one sums of mirrored pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.ops import kernel_words as k
from baton._src.ops.linalg.fourier_kernel.roots import roots
from baton._src.tir import expr as tir
from baton._src.tir.stmt import LetStmt, Stmt


class Complex(NamedTuple):
    """The two parts of a value."""

    re: PrimExpr
    im: PrimExpr


class Lines:
    """Values bound to names, one after the other."""

    def __init__(self) -> None:
        self._bound: list[tuple[tir.Var, PrimExpr]] = []

    def named(self, value: PrimExpr) -> PrimExpr:
        """A variable that holds the value."""
        if isinstance(value, tir.Var):
            return value
        self._bound.append((tir.Var(f"v{len(self._bound)}", value.dtype), value))
        return self._bound[-1][0]

    def complex(self, re: PrimExpr, im: PrimExpr) -> Complex:
        """Both parts named."""
        return Complex(self.named(re), self.named(im))

    def before(self, body: Stmt) -> Stmt:
        """The lines, then `body`."""
        for var, value in reversed(self._bound):
            body = LetStmt(var, value, body)
        return body


def butterfly(lines: Lines, x: Sequence[Complex], sign: int) -> list[Complex]:
    """The transform of some values: y[f] = sum over j of x[j] * root^(f j), root = exp(sign 2 pi i / count)."""
    count = len(x)
    if count == 1:
        return list(x)
    if count % 2:
        return _of_prime(lines, x, sign)
    even, odd = (butterfly(lines, x[side::2], sign) for side in (0, 1))
    both = [_sum_and_gap(lines, e, *_times_root(lines, o, f, count, sign)) for f, (e, o) in enumerate(zip(even, odd))]
    return [found[side] for side in (0, 1) for found in both]


def _sum_and_gap(lines: Lines, x: Complex, y: Complex, quarter: int) -> tuple[Complex, Complex]:
    """x + y and x - y, where y is still to be rotated by a `quarter` (1, 0 or -1)."""
    if quarter == 0:
        return lines.complex(x.re + y.re, x.im + y.im), lines.complex(x.re - y.re, x.im - y.im)
    ahead, behind = lines.complex(x.re - y.im, x.im + y.re), lines.complex(x.re + y.im, x.im - y.re)
    return (ahead, behind) if quarter > 0 else (behind, ahead)


def _times_root(lines: Lines, x: Complex, part: int, count: int, sign: int) -> tuple[Complex, int]:
    """x * exp(sign 2 pi i part / count), part / count below one half; a rotation by a quarter is left to do."""
    if 4 * part in (0, count):
        return x, sign if part else 0
    if 8 * part in (count, 3 * count):
        re, im = (x.re - x.im, x.im + x.re) if sign > 0 else (x.re + x.im, x.im - x.re)
        half = constant(np.sqrt(0.5), x.re)
        return lines.complex(re * half, im * half), sign if 8 * part == 3 * count else 0
    root = roots(count, sign)[part]
    return product(lines, x, Complex(constant(root.real, x.re), constant(root.imag, x.re))), 0


def _of_prime(lines: Lines, x: Sequence[Complex], sign: int) -> list[Complex]:
    """cos is the same for j and count - j, sin the opposite."""
    count, half = len(x), len(x) // 2
    pairs = [(x[j], x[count - j]) for j in range(1, half + 1)]
    sums = [lines.complex(p.re + q.re, p.im + q.im) for p, q in pairs]
    gaps = [lines.complex(p.re - q.re, p.im - q.im) for p, q in pairs]
    first = x[0]
    for s in sums:
        first = lines.complex(first.re + s.re, first.im + s.im)
    found = [first, *[first] * (count - 1)]
    for f in range(1, half + 1):
        row = roots(count, sign)[[f * j % count for j in range(1, half + 1)]]
        straight, across = x[0], Complex(constant(0.0, first.re), constant(0.0, first.re))
        for root, s, g in zip(row, sums, gaps):
            c, t = constant(root.real, s.re), constant(root.imag, s.re)
            straight = lines.complex(straight.re + s.re * c, straight.im + s.im * c)
            across = lines.complex(across.re + g.re * t, across.im + g.im * t)
        found[f] = lines.complex(straight.re - across.im, straight.im + across.re)
        found[count - f] = lines.complex(straight.re + across.im, straight.im - across.re)
    return found


def product(lines: Lines, x: Complex, y: Complex) -> Complex:
    """x * y"""
    return lines.complex(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)


def square(lines: Lines, rows: Sequence[PrimExpr]) -> list[PrimExpr]:
    """Element c of vector r becomes element r of vector c. Step d exchanges the elements whose bit d differs from that
    of their vector.
    """
    lanes, vectors = len(rows), [lines.named(r) for r in rows]
    step = 1
    while step < lanes:
        lower = tuple(p if not p & step else lanes + p - step for p in range(lanes))
        upper = tuple(p + step if not p & step else lanes + p for p in range(lanes))
        for first in (r for r in range(lanes) if not r & step):
            pair = (vectors[first], vectors[first + step])
            vectors[first], vectors[first + step] = (lines.named(tir.Shuffle(pair, order)) for order in (lower, upper))
        step *= 2
    return vectors


def constant(value: float, like: PrimExpr) -> PrimExpr:
    """A number in all lanes of another value."""
    single = k.const(float(value), like.dtype.element)
    return tir.Broadcast(single, like.dtype.lanes) if like.dtype.lanes > 1 else single
