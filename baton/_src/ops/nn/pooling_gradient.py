"""Gradients of two-dimensional pooling: grad.max_pool2d_backward, grad.avg_pool2d_backward (Relay:
nn.max_pool2d_grad, ...).

Operands: the gradient of the result, and the data. Each window hands its gradient to its first maximum, or in equal
shares to the elements that counted in its mean. Source: facts relax-ops-passes-vm §1 (grad), relay-language §6 level
2.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.linalg.products import computing_dtype
from baton._src.ops.nn.convolution_reference import from_canonical, to_canonical
from baton._src.ops.nn.pooling import Pool2DAttrs, pool_count, pool_orders
from baton._src.ops.precision import wide
from baton._src.ops.samples import Arr, Sample
from baton._src.te import reduction


def infer(call: OpCall[Pool2DAttrs]) -> Info:
    """The data's own type."""
    data, _ = pool_orders(call.attrs)
    x = call.tensor(1)
    if x.ndim not in (-1, data.rank):
        call.fail(f"the data has rank {x.ndim}, but its layout {data.name} has {data.rank} axes")
    return x


def _first_maximum(x: k.Tensor, grad: k.Tensor, a: Pool2DAttrs) -> k.Tensor:
    """For every window, which of its taps (row-major) holds the first maximum."""
    data, result = pool_orders(a)
    taps = [k.reduce_axis(a.pool_size[i], f"r{letter.lower()}") for i, letter in enumerate("HW")]

    def pick(left: Any, right: Any) -> Any:
        wins = k.tir.Or(left[1] > right[1], k.tir.And(k.tir.EQ(left[1], right[1]), left[0] < right[0]))
        return k.select(wins, left[0], right[0]), k.select(wins, left[1], right[1])

    largest = 2**63 - 1
    reducer = reduction.comm_reducer(pick, lambda i, v: (k.const(largest, "int64"), k.lowest(v)), "argmax")

    def body(*indices: Any) -> Any:
        at = result.split(indices)
        inside: list[Any] = []
        for i, letter in enumerate("HW"):
            place = at[letter] * a.strides[i] + taps[i].var * a.dilation[i] - a.padding[i]
            inside += [place >= k.index(0), place < k.index(x.shape[data.position(letter)])]
            at[letter] = place
        value = k.if_then_else(k.all_of(inside), x(*data.indices(at)), k.lowest(x.dtype))
        tap = k.if_then_else(k.all_of(inside), taps[0].var * a.pool_size[1] + taps[1].var, k.index(largest - 1))
        return reducer((tap, value), taps)

    found: Any = k.compute(grad.shape, body, "first_maximum")
    first: k.Tensor = found[0]
    return first


def _gathered(x: k.Tensor, grad: k.Tensor, a: Pool2DAttrs, out: Any, share: Any) -> k.Tensor:
    """For every element: the sum, over the windows it lies in, of `share(indices of the window, tap)`."""
    data, result = pool_orders(a)
    taps = [k.reduce_axis(a.pool_size[i], f"r{letter.lower()}") for i, letter in enumerate("HW")]
    kept = computing_dtype(out.dtype)

    def body(*indices: Any) -> Any:
        at = data.split(indices)
        inside: list[Any] = []
        for i, letter in enumerate("HW"):
            start = at[letter] + a.padding[i] - taps[i].var * a.dilation[i]
            window = start // a.strides[i]
            inside += [
                k.tir.EQ(start % a.strides[i], k.index(0)),
                window >= k.index(0),
                window < k.index(grad.shape[result.position(letter)]),
            ]
            at[letter] = window
        where = result.indices(at)
        value = k.cast(kept, share(where, taps[0].var * a.pool_size[1] + taps[1].var))
        return k.reduce_sum(k.if_then_else(k.all_of(inside), value, k.const(0, kept)), taps)

    total = k.compute(x.shape, body, "pool_gradient")
    return total if kept == out.dtype else k.compute(x.shape, lambda *i: k.cast(out.dtype, total(*i)), "cast")


def compute_max(inputs: Any, a: Pool2DAttrs, out: Any) -> Any:
    """The first maximum of each window, then a gathering sum."""
    grad, x = inputs
    first = _first_maximum(x, grad, a)
    zero = k.const(0, grad.dtype)
    return _gathered(x, grad, a, out, lambda i, tap: k.select(k.tir.EQ(first(*i), tap), grad(*i), zero))


def compute_mean(inputs: Any, a: Pool2DAttrs, out: Any) -> Any:
    """A gathering sum of shares."""
    grad, x = inputs
    _, result = pool_orders(a)

    def share(*i: Any) -> Any:
        value = k.wide(grad(*i))
        return value / k.cast(value.dtype, pool_count(x, a, result.split(i), list(a.padding[:2])))

    shares = k.compute(grad.shape, share, "shares")
    return _gathered(x, grad, a, out, lambda i, tap: shares(*i))


def _reference(inputs: Any, a: Pool2DAttrs, is_max: bool) -> Any:
    """Window by window."""
    data, result = pool_orders(a)
    grad = wide(to_canonical(inputs[0], result, "NCHW"))
    x = to_canonical(inputs[1], data, "NCHW")
    total = np.zeros(x.shape, grad.dtype)
    rows, columns = np.indices(x.shape[:2])
    for at in itertools.product(range(grad.shape[2]), range(grad.shape[3])):
        taps: list[list[int]] = []
        count = 1
        for i, position in enumerate(at):
            places = [position * a.strides[i] - a.padding[i] + t * a.dilation[i] for t in range(a.pool_size[i])]
            size = x.shape[2 + i]
            taps.append([p for p in places if 0 <= p < size])
            limit = size + a.padding[i + 2]
            count *= len([p for p in places if p < limit]) if a.count_include_pad else len(taps[-1])
        given = grad[:, :, at[0], at[1]]
        if not is_max:
            total[np.ix_(range(x.shape[0]), range(x.shape[1]), *taps)] += (given / max(count, 1))[..., None, None]
            continue
        window = x[np.ix_(range(x.shape[0]), range(x.shape[1]), *taps)].reshape(*x.shape[:2], -1)
        best = window.argmax(axis=-1)
        np.add.at(
            total,
            (rows, columns, np.asarray(taps[0])[best // len(taps[1])], np.asarray(taps[1])[best % len(taps[1])]),
            given,
        )
    return from_canonical(total.astype(inputs[1].dtype), data, "NCHW")


def _samples(is_max: bool) -> tuple[Sample, ...]:
    calls = [
        Sample((Arr(("n", 3, 3, 3)), Arr(("n", 3, 6, 6))), Pool2DAttrs(2, 2)),
        Sample((Arr((1, 2, 4, 4)), Arr((1, 2, 7, 7))), Pool2DAttrs(3, 2, padding=1), rtol=1e-4),
        Sample((Arr((1, 3, 3, 2)), Arr((1, 5, 5, 2))), Pool2DAttrs(3, 1, layout="NHWC"), rtol=1e-4),
    ]
    if not is_max:
        calls.append(
            Sample((Arr((1, 2, 4, 4)), Arr((1, 2, 7, 7))), Pool2DAttrs(3, 2, 1, 1, count_include_pad=True), rtol=1e-4)
        )
    return tuple(calls)


def _define(kind: str) -> OpDef[Any]:
    is_max = kind == "max"
    return OpDef(
        f"grad.{kind}_pool2d_backward",
        Pool2DAttrs,
        inputs=(Input("output_grad", "the gradient of the result", relay_name="out_grad"), Input("data", "the images")),
        infer=infer,
        compute=compute_max if is_max else compute_mean,
        reference=lambda inputs, a: _reference(inputs, a, is_max),
        gradient=NotApplicable("a gradient itself"),
        fusion=Fusion.OPAQUE,
        relay_name=f"nn.{kind}_pool2d_grad",
        samples=lambda: _samples(is_max),
        summary=f"The gradient of nn.{kind}_pool2d towards its data.",
    )


POOLING_GRADIENTS: tuple[OpDef[Any], ...] = (_define("max"), _define("avg"))
