"""The order of elements along an axis: a bottom-up merge sort of positions, in TIR and over NumPy.

It is stable in both directions (equal elements keep their order). NaN counts as greater than any number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ops import kernel_words as k
from baton._src.ops.loop_nests import both, let, load, local, loop, store, when
from baton._src.ops.precision import wide
from baton._src.ops.vector_loops import over_rows
from baton._src.te.computation import extern
from baton._src.tir import expr as tir
from baton._src.tir.stmt import Stmt

USUAL = 1 << 12
"""Steps for a row whose extent is not known when compiling."""
PASSES = 40
"""Merging passes for an axis whose extent is not known when compiling: enough for 2**40 elements."""


def comes_before(a: Any, b: Any, descending: bool) -> Any:
    """Whether value `a` is ordered strictly before `b`."""
    left, right = (b, a) if descending else (a, b)
    if left.dtype.is_bool:
        left, right = k.cast("uint8", left), k.cast("uint8", right)
    less = tir.LT(left, right)
    if not left.dtype.is_float:
        return less
    return tir.Or(less, tir.And(tir.NE(right, right), tir.EQ(left, left)))


def order(x: k.Tensor, axis: int, descending: bool) -> k.Tensor:
    """int64 positions along `axis`, in sorted order; the shape of `x`."""
    extent = k.index(x.shape[axis])
    rows = [d for a, d in enumerate(x.shape) if a != axis]

    def body(ins: Any, outs: Any) -> Stmt:
        (keys,) = ins
        found, spare = outs

        def row(*outer: Any) -> Stmt:
            def at(position: Any) -> list[Any]:
                return [*outer[:axis], position, *outer[axis:]]

            def key(position: Any) -> Any:
                return k.wide(load(keys, *at(load(found, *at(position)))))

            start = loop(extent, lambda i: store(found, at(i), i), "s")
            merges = _passes(extent, lambda width: _merge_pass(extent, width, at, key, found, spare, descending))
            return both(start, merges)

        size = extent.value * max(1, extent.value.bit_length()) if isinstance(extent, tir.IntImm) else USUAL
        return over_rows(rows, size, lambda outer: row(*outer))

    result: k.Tensor = extern([tuple(x.shape)] * 2, [x], body, "sort_order", ["int64"] * 2)[0]
    return result


def _passes(extent: Any, merge: Any) -> Stmt:
    """`merge` of width 1, 2, 4, ... below the extent."""
    count = max(0, (extent.value - 1).bit_length()) if isinstance(extent, tir.IntImm) else PASSES

    def one(p: Any) -> Stmt:
        width = k.call("shift_left", k.index(1), p)
        return let("width", width, lambda w: when(tir.LT(w, extent), merge(w)))

    return loop(count, one, "p")


def _merge_pass(extent: Any, width: Any, at: Any, key: Any, found: Any, spare: Any, descending: bool) -> Stmt:
    """Merge runs of `width` pairwise into `spare`, then copy back."""
    twice = width * k.index(2)
    pairs = (extent + twice - k.index(1)) // twice

    def pair(number: Any) -> Stmt:
        def with_bounds(low: Any) -> Stmt:
            return let(
                "middle",
                k.minimum(low + width, extent),
                lambda middle: let(
                    "high",
                    k.minimum(low + twice, extent),
                    lambda high: _merge(low, middle, high, at, key, found, spare, descending),
                ),
            )

        return let("low", number * twice, with_bounds)

    back = loop(extent, lambda i: store(found, at(i), load(spare, *at(i))), "c")
    return both(loop(pairs, pair, "q"), back)


def _merge(low: Any, middle: Any, high: Any, at: Any, key: Any, found: Any, spare: Any, descending: bool) -> Stmt:
    """One merge."""
    zero, one = k.index(0), k.index(1)

    def step(t: Any, cursor: Any) -> Stmt:
        def choose(i: Any, j: Any) -> Stmt:
            behind = k.if_then_else(
                tir.GE(j, high), tir.IntImm("bool", 1), tir.Not(comes_before(key(j), key(i), descending))
            )
            left = k.if_then_else(tir.LT(i, middle), behind, tir.IntImm("bool", 0))
            take_left = both(store(spare, at(low + t), load(found, *at(i))), store(cursor, [zero], i + one))
            take_right = both(store(spare, at(low + t), load(found, *at(j))), store(cursor, [one], j + one))
            return when(left, take_left, take_right)

        return let("i", load(cursor, zero), lambda i: let("j", load(cursor, one), lambda j: choose(i, j)))

    def steps(cursor: Any) -> Stmt:
        """`cursor` holds the next positions of the left and the right run."""
        start = both(store(cursor, [zero], low), store(cursor, [one], middle))
        return both(start, loop(high - low, lambda t: step(t, cursor), "t"))

    return local("cursor", (2,), "int64", steps)


def reference_order(x: Any, axis: int, descending: bool) -> Any:
    """A stable argsort, NaN greatest: NumPy has it so of its own floats."""
    x = wide(x)
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    flipped = np.flip(x, axis)
    found = np.flip(np.argsort(flipped, axis=axis, kind="stable"), axis)
    return x.shape[axis] - 1 - found
