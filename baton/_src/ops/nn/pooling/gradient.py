"""Gradients of pooling: grad.max_pool2d_backward, grad.avg_pool2d_backward (Relay: nn.max_pool2d_grad, ...), the same
over one and three axes; and grad.max_pool2d_picked, the gradient of the gradient of a maximum.

Operands: the gradient of the result, and the data. Each window hands its gradient to its first maximum, or in equal
shares to the elements that counted in its mean. Source: facts relax-ops-passes-vm §1 (grad), relay-language §6 level
2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import EllipsisType

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradient, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info
from baton._src.ops import kernel_words as k
from baton._src.ops.canonical_axes import from_canonical, to_canonical
from baton._src.ops.layout_names import whole
from baton._src.ops.nn.pooling.pooling import (
    Pool1DAttrs,
    Pool2DAttrs,
    Pool3DAttrs,
    PoolAttrs,
    pool_count,
    pool_orders,
    reference_max,
)
from baton._src.ops.nn.pooling.pooling import infer as infer_pool
from baton._src.ops.operand_checks import check_floats, check_operand
from baton._src.ops.precision import accumulator, wide
from baton._src.ops.reduce.arg_extrema import arg_reducer
from baton._src.ops.samples import Arr, Sample, SampleDim
from baton._src.ops.windows import SPATIAL
from baton._src.te.computation import compute
from baton._src.tir.expr import IterVar
from baton._src.values.tensor import AnyArray


def infer(call: OpCall[PoolAttrs]) -> Info:
    """The data's own type. The gradient has the shape of what pooling the data gives: it is read by window."""
    x = call.tensor(1)
    check_operand(call, 0, infer_pool(replace(call, args=(x,))))
    return x


def infer_max(call: OpCall[PoolAttrs]) -> Info:
    """The same; every window has an element that is its maximum."""
    _refuse_empty_windows(call)
    return infer(call)


def _refuse_empty_windows(call: OpCall[PoolAttrs]) -> None:
    a = call.attrs
    for n, (window, dilation) in enumerate(zip(a.pool_size, a.dilation)):
        if max(a.padding[n], a.padding[n + a.spatial]) > (window - 1) * dilation:
            message = f"windows of {a.pool_size} fit into the border {a.padding}, where there is no maximum"
            call.fail(message, code="op-attribute")


def infer_mean(call: OpCall[PoolAttrs]) -> Info:
    """The same; shares of a gradient are fractions."""
    check_floats(call, 0, 1)
    return infer(call)


def infer_picked(call: OpCall[PoolAttrs]) -> Info:
    """What pooling gives. The other tensor has the shape of the data: it is read where the data is."""
    _refuse_empty_windows(call)
    check_operand(call, 1, call.tensor(0))
    return infer_pool(call)


def _flat(taps: Sequence[IterVar], a: PoolAttrs) -> k.Scalar:
    """The number of a tap, row-major."""
    number: k.Scalar = taps[0].var
    for tap, extent in zip(taps[1:], a.pool_size[1:]):
        number = number * extent + tap.var
    return number


def _taps(a: PoolAttrs) -> list[IterVar]:
    return [k.reduce_axis(size, f"r{letter.lower()}") for size, letter in zip(a.pool_size, SPATIAL[a.spatial])]


def _first_maximum(x: k.Tensor, shape: Sequence[Dim], a: PoolAttrs) -> k.Tensor:
    """For every window of a result of `shape`, which of its taps (row-major) holds the first maximum, or NaN."""
    data, result = pool_orders(a)
    taps = _taps(a)

    reducer, outside = arg_reducer(is_max=True), 2**63 - 2  # behind all taps

    def body(*indices: k.Scalar) -> tuple[k.Scalar, ...]:
        at = result.split(indices)
        inside: list[k.Scalar] = []
        for i, letter in enumerate(SPATIAL[a.spatial]):
            place = whole(at[letter]) * a.strides[i] + taps[i].var * a.dilation[i] - a.padding[i]
            inside += [place >= k.index(0), place < k.index(x.shape[data.position(letter)])]
            at[letter] = place
        value = k.if_then_else(k.all_of(inside), x(*data.indices(at)), k.lowest(x.dtype))
        tap = k.if_then_else(k.all_of(inside), _flat(taps, a), k.index(outside))
        return reducer((tap, value), taps)

    return compute(k.dims(shape), body, "first_maximum")[0]


def _gathered(
    x: k.Tensor, grad: k.Tensor, a: PoolAttrs, out: k.Result, share: Callable[[list[k.Scalar], k.Scalar], k.Scalar]
) -> k.Tensor:
    """For every element: the sum, over the windows it lies in, of `share(indices of the window, tap)`."""
    data, result = pool_orders(a)
    taps = _taps(a)
    kept = accumulator(out.dtype)

    def body(*indices: k.Scalar) -> k.Scalar:
        at = data.split(indices)
        inside: list[k.Scalar] = []
        for i, letter in enumerate(SPATIAL[a.spatial]):
            start = whole(at[letter]) + a.padding[i] - taps[i].var * a.dilation[i]
            window = start // a.strides[i]
            inside += [
                k.tir.EQ(start % a.strides[i], k.index(0)),
                window >= k.index(0),
                window < k.index(grad.shape[result.position(letter)]),
            ]
            at[letter] = window
        where = result.indices(at)
        value = k.cast(kept, share(where, _flat(taps, a)))
        return k.reduce_sum(k.if_then_else(k.all_of(inside), value, k.const(0, kept)), taps)

    total = k.compute(x.shape, body, "pool_gradient")
    return total if kept == out.dtype else k.compute(x.shape, lambda *i: k.cast(out.dtype, total(*i)), "cast")


def compute_max(inputs: Sequence[k.Tensor], a: PoolAttrs, out: k.Result) -> k.Tensor:
    """The first maximum of each window, then a gathering sum."""
    grad, x = inputs
    first = _first_maximum(x, grad.shape, a)
    zero = k.const(0, grad.dtype)
    return _gathered(x, grad, a, out, lambda i, tap: k.select(k.tir.EQ(first(*i), tap), grad(*i), zero))


def compute_mean(inputs: Sequence[k.Tensor], a: PoolAttrs, out: k.Result) -> k.Tensor:
    """A gathering sum of shares."""
    grad, x = inputs
    _, result = pool_orders(a)

    def share(*i: k.Scalar) -> k.Scalar:
        value = k.wide(grad(*i))
        return value / k.cast(value.dtype, pool_count(x, a, result.split(i), list(a.padding[: a.spatial])))

    shares = k.compute(grad.shape, share, "shares")
    return _gathered(x, grad, a, out, lambda i, tap: shares(*i))


def compute_picked(inputs: Sequence[k.Tensor], a: PoolAttrs, out: k.Result) -> k.Tensor:
    """The first maximum of each window, then one element each."""
    x, other = inputs
    data, result = pool_orders(a)
    first = _first_maximum(x, out.shape, a)

    def body(*indices: k.Scalar) -> k.Scalar:
        at = result.split(indices)
        tap: k.Scalar = first(*indices)
        for i in reversed(range(a.spatial)):
            letter, extent = SPATIAL[a.spatial][i], k.index(a.pool_size[i])
            at[letter] = whole(at[letter]) * a.strides[i] + (tap % extent if i else tap) * a.dilation[i] - a.padding[i]
            tap = tap // extent
        return other(*data.indices(at))

    return k.compute(out.shape, body, "pool_picked")


def _windows(
    x: AnyArray, extents: Sequence[int], a: PoolAttrs
) -> Iterator[tuple[tuple[int, ...], list[AnyArray], int]]:
    """Each window: where its result lies, the places along every axis, and how many elements count in its mean."""
    for at in itertools.product(*(range(e) for e in extents)):
        taps: list[AnyArray] = []
        count = 1
        for i, position in enumerate(at):
            places = [position * a.strides[i] - a.padding[i] + t * a.dilation[i] for t in range(a.pool_size[i])]
            size = x.shape[2 + i]
            taps.append(np.asarray([p for p in places if 0 <= p < size], int))
            limit = size + a.padding[i + a.spatial]
            count *= len([p for p in places if p < limit]) if a.count_include_pad else len(taps[-1])
        yield at, taps, max(count, 1)


def _maximum(x: AnyArray, taps: list[AnyArray]) -> tuple[AnyArray, ...]:
    """Indices of the first maximum of a window, image by image and channel by channel."""
    every = np.ix_(*map(np.arange, x.shape[:2]), *taps)
    best = x[every].reshape(*x.shape[:2], math.prod(map(len, taps))).argmax(axis=-1)
    chosen = np.unravel_index(best, tuple(len(t) for t in taps))
    return (*np.indices(x.shape[:2]), *(t[c] for t, c in zip(taps, chosen)))


def _reference(inputs: Sequence[AnyArray], a: PoolAttrs, is_max: bool) -> AnyArray:
    """Window by window."""
    data, result = pool_orders(a)
    letters = "NC" + SPATIAL[a.spatial]
    grad = wide(to_canonical(inputs[0], result, letters))
    x = to_canonical(inputs[1], data, letters)
    total = np.zeros(x.shape, grad.dtype)
    for at, taps, count in _windows(x, grad.shape[2:], a):
        element: tuple[EllipsisType | int, ...] = (..., *at)
        given = grad[element]
        if is_max:
            np.add.at(total, _maximum(x, taps), given)
        else:
            every = np.ix_(*map(np.arange, x.shape[:2]), *taps)
            total[every] += (given / count).reshape(*given.shape, *(1,) * a.spatial)
    return from_canonical(total.astype(inputs[1].dtype), data, letters)


def reference_picked(inputs: Sequence[AnyArray], a: PoolAttrs) -> AnyArray:
    """Window by window."""
    data, result = pool_orders(a)
    letters = "NC" + SPATIAL[a.spatial]
    x, other = (to_canonical(v, data, letters) for v in inputs)
    shape = to_canonical(reference_max(inputs[:1], a), result, letters).shape
    found = np.zeros(shape, other.dtype)
    for at, taps, _ in _windows(x, shape[2:], a):
        element: tuple[EllipsisType | int, ...] = (..., *at)
        found[element] = other[_maximum(x, taps)]
    return from_canonical(found, result, letters)


def _samples(record: type[PoolAttrs], spatial: int, kind: str) -> tuple[Sample, ...]:
    def arr(size: int, *options: SampleDim) -> Arr:
        return Arr((*options[:2], *(size,) * spatial, *options[2:]))

    last = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[spatial]

    def call(result: Arr, data: Arr, a: PoolAttrs) -> Sample:
        return Sample((data, data) if kind == "picked" else (result, data), a, rtol=1e-4)

    calls = [
        call(arr(3, "n", 3), arr(6, "n", 3), record(2, 2)),
        call(arr(3, 1, 2), arr(5, 1, 2), record(3, 2, padding=1)),
        call(Arr((1, *(3,) * spatial, 2)), Arr((1, *(5,) * spatial, 2)), record(3, 1, layout=last)),
    ]
    if kind == "avg":
        calls.append(call(arr(3, 1, 2), arr(5, 1, 2), record(3, 2, 1, 1, count_include_pad=True)))
        calls.append(call(arr(3, 1, 1), arr(3, 1, 1), record(1, 2, padding=1)))  # windows of the border alone
    return tuple(calls)


def _again(forward: str) -> Gradient[PoolAttrs]:
    """The gradient of a gradient: linear in the result's; that of the data moves nothing but at ties."""

    def gradient(b: CallMaker, args: Exprs, a: PoolAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
        options = dict(a.items())
        picked = b.op(forward, args[1], grad, **options) if forward.startswith("grad.") else None
        return [b.op(forward, grad, **options) if picked is None else picked, None]

    return gradient


def _define(kind: str, spatial: int, record: type[PoolAttrs]) -> OpDef[PoolAttrs]:
    is_max = kind == "max"
    return OpDef(
        f"grad.{kind}_pool{spatial}d_backward",
        record,
        inputs=(Input("output_grad", "the gradient of the result", relay_name="out_grad"), Input("data", "the images")),
        infer=infer_max if is_max else infer_mean,
        compute=compute_max if is_max else compute_mean,
        reference=lambda inputs, a: _reference(inputs, a, is_max),
        gradient=_again(f"grad.max_pool{spatial}d_picked" if is_max else f"nn.avg_pool{spatial}d"),
        fusion=Fusion.OPAQUE,
        relay_name=f"nn.{kind}_pool{spatial}d_grad",
        samples=lambda: _samples(record, spatial, kind),
        summary=f"The gradient of nn.{kind}_pool{spatial}d towards its data.",
    )


def _define_picked(spatial: int, record: type[PoolAttrs]) -> OpDef[PoolAttrs]:
    def gradient(b: CallMaker, args: Exprs, a: PoolAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
        return [None, b.op(f"grad.max_pool{spatial}d_backward", grad, args[0], **dict(a.items()))]

    return OpDef(
        f"grad.max_pool{spatial}d_picked",
        record,
        inputs=(Input("data", "the images"), Input("other", "what is picked from, of the same shape")),
        infer=infer_picked,
        compute=compute_picked,
        reference=reference_picked,
        gradient=gradient,
        fusion=Fusion.OPAQUE,
        relay_name=f"nn.max_pool{spatial}d_picked",
        samples=lambda: _samples(record, spatial, "picked"),
        summary="For every window, the element of the second operand at the position of the first maximum of the data.",
    )


_RECORDS = ((1, Pool1DAttrs), (2, Pool2DAttrs), (3, Pool3DAttrs))
POOLING_GRADIENTS: tuple[Definition, ...] = (
    *(_define(kind, spatial, record) for kind in ("max", "avg") for spatial, record in _RECORDS),
    *(_define_picked(spatial, record) for spatial, record in _RECORDS),
)
