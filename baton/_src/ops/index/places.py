"""Kernels for the places of the elements that are not zero: how many there are, and which.

    x = [[0, 7], [5, 0]]      count 2      by axis [[0, 1], [1, 0]]      by place [[0, 1], [1, 0]]

Filling needs the number of places, by which the rows of the result are apart and at which it ends.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from baton._src.ir.attrs import Attrs
from baton._src.ops import kernel_words as k
from baton._src.ops.loop_nests import both, load, local, loops, store, when
from baton._src.te.computation import extern
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import INT32, INT64

_NARROW = 1 << 31
"""Elements up to which int32 counts them: twice as many in a vector."""


def count_places(inputs: Sequence[k.Tensor], a: Attrs) -> k.Tensor:
    """int64 (1,)"""
    (x,) = inputs
    known = [d.value for d in x.shape if isinstance(d, tir.IntImm)]
    dtype = INT32 if len(known) == x.ndim and math.prod(known) < _NARROW else INT64
    axes = [k.reduce_axis(dim, f"k{n}") for n, dim in enumerate(x.shape)]
    places = [axis.var for axis in axes]

    def one(*at: k.Scalar) -> k.Scalar:
        return k.cast(dtype, _counts(x(*at)))

    if not axes:
        return k.compute((k.index(1),), lambda i: k.cast(INT64, one()), "count")
    total = k.compute((k.index(1),), lambda i: k.reduce_sum(one(*places), axes), "total")
    return total if dtype == INT64 else k.compute((k.index(1),), lambda i: k.cast(INT64, total(i)), "count")


def fill_by_axis(inputs: Sequence[k.Tensor], a: Attrs, out: k.Result) -> k.Tensor:
    """(axes, n)"""
    return _filled(inputs, out, lambda axis, number: (axis, number), max(inputs[0].ndim, 1))


def fill_by_place(inputs: Sequence[k.Tensor], a: Attrs, out: k.Result) -> k.Tensor:
    """(n, axes)"""
    return _filled(inputs, out, lambda axis, number: (number, axis), inputs[0].ndim)


def _counts(element: k.Scalar) -> k.Scalar:
    """Whether the element is not zero; NaN is not."""
    return element if element.dtype.is_bool else tir.NE(element, k.const(0, element.dtype))


def _filled(
    inputs: Sequence[k.Tensor], out: k.Result, at: Callable[[k.Scalar, k.Scalar], k.Indices], axes: int
) -> k.Tensor:
    """Places of so many coordinates: a scalar has none, or one that is 0."""
    (x,) = inputs
    end = next(d for d in out.shape if not isinstance(d, int))

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        def search(held: Buffer) -> Stmt:
            number, first = load(held, k.index(0)), [k.index(0)]

            def element(*place: k.Scalar) -> Stmt:
                # Noted before it is known whether it counts: the next place overwrites it if not, without a jump.
                coordinates = enumerate((place or first)[:axes])
                note = [store(outs[0], at(k.index(n), number), k.cast(out.dtype, p)) for n, p in coordinates]
                step = store(held, first, number + k.cast(INT64, _counts(load(ins[0], *place))))
                return when(tir.LT(number, k.index(end)), both(*note, step))

            return both(store(held, first, k.index(0)), loops(x.shape, element))

        return local("number", [1], INT64, search)

    return extern(k.dims(out.shape), [x], body, "places", out.dtype)
