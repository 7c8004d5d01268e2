"""Pooling: the maximum or the mean over sliding windows, over one to three spatial axes, in any layout.

Extents: (x + begin + end - (k - 1) * dilation - 1) / stride + 1, rounded down, or up with `ceil_mode`. Windows are
cut to the data: padding never wins a maximum, and counts in a mean only with `count_include_pad`. Source: facts
relax-ops-passes-vm §1 (nn), relay-language §6 level 2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from types import EllipsisType
from typing import ClassVar

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradient, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.canonical_axes import from_canonical, to_canonical
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.layout_names import AxisOrder, Place, layout_over, whole
from baton._src.ops.layouts import Anchor
from baton._src.ops.means import refuse_bools, summing_dtype
from baton._src.ops.operand_checks import check_layout_rank
from baton._src.ops.precision import computed_wide
from baton._src.ops.reduce.folds import Fold, greatest
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import SPATIAL, both_sides, padded, steps, window_extent, windows
from baton._src.te.tag import default_tag
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


class Pooled(Attrs):
    """What the attributes of all poolings have; `spatial` is the number of spatial axes."""

    spatial: ClassVar[int]
    layout: str
    out_layout: str


@attrs
class PoolAttrs(Pooled):
    """Geometry and layout."""

    spatial: ClassVar[int] = 2
    relax_order = (
        "pool_size",
        "strides",
        "dilation",
        "padding",
        "ceil_mode",
        "count_include_pad",
        "layout",
        "out_layout",
    )

    pool_size: tuple[int, ...] = attr(1, "extents of the window")
    strides: tuple[int, ...] = attr(1, "strides of the window")
    dilation: tuple[int, ...] = attr(1, "dilation of the window")
    padding: tuple[int, ...] = attr(0, "padding: one value, one per axis, or begins then ends")
    layout: str = attr("", "layout of the data")
    out_layout: str = attr("", "layout of the result; empty: that of the data")
    ceil_mode: bool = attr(False, "round extents up")
    count_include_pad: bool = attr(False, "padding counts in a mean")

    def __post_init__(self) -> None:
        count = self.spatial
        for name in ("pool_size", "strides", "dilation"):
            set_attr(self, name, steps(getattr(self, name), count, name))
        set_attr(self, "padding", both_sides(self.padding, count))
        set_attr(self, "layout", self.layout or f"NC{SPATIAL[count]}")
        set_attr(self, "out_layout", self.out_layout or "")
        set_attr(self, "ceil_mode", bool(self.ceil_mode))
        set_attr(self, "count_include_pad", bool(self.count_include_pad))


@attrs
class Pool2DAttrs(PoolAttrs):
    """Two spatial axes (H, W)."""

    layout: str = attr("NCHW", "layout of the data")


@attrs
class Pool1DAttrs(PoolAttrs):
    """One spatial axis (W)."""

    spatial: ClassVar[int] = 1

    layout: str = attr("NCW", "layout of the data")


@attrs
class Pool3DAttrs(PoolAttrs):
    """Three spatial axes (D, H, W)."""

    spatial: ClassVar[int] = 3

    layout: str = attr("NCDHW", "layout of the data")


def pool_orders(a: Pooled) -> tuple[AxisOrder, AxisOrder]:
    """The layouts of data and result."""
    letters = "NC" + SPATIAL[a.spatial]
    return layout_over(a.layout, letters, "layout"), layout_over(a.out_layout or a.layout, letters, "out_layout")


def pooled_info(call: OpCall[Pooled], extent: Callable[[DimMath, int, Dim], Dim]) -> Info:
    """The data with other extents along its spatial axes: `extent(math, n, before)` is that of the n-th of them.

    Fails where the data has another rank than its layout.
    """
    a, x = call.attrs, call.tensor(0)
    data, out = pool_orders(a)
    check_layout_rank(call, 0, data, "layout")
    if x.shape is None:
        return TensorInfo(None, x.dtype, out.rank, x.vdevice)
    math = DimMath(call.prover)
    result: dict[str, Dim] = data.canonical(math, x.shape)
    for n, letter in enumerate(SPATIAL[a.spatial]):
        result[letter] = extent(math, n, result[letter])
    return TensorInfo(out.physical(math, result), x.dtype, vdevice=x.vdevice)


def infer(call: OpCall[PoolAttrs]) -> Info:
    """Spatial extents from the formula, the rest as the data."""
    a = call.attrs

    def extent(math: DimMath, n: int, before: Dim) -> Dim:
        begin, end = a.padding[n], a.padding[n + a.spatial]
        found = window_extent(math, before, a.pool_size[n], a.strides[n], a.dilation[n], begin, end, a.ceil_mode)
        if isinstance(found, int) and found <= 0:
            shape = show_shape(call.tensor(0).shape)
            call.fail(f"the window {a.pool_size} is larger than the padded data {shape}")
        return found

    return pooled_info(call, extent)


def _windows(x: k.Tensor, a: PoolAttrs, fill: k.Scalar | float) -> tuple[k.Tensor, list[int]]:
    """The data with its border (also what `ceil_mode` reads beyond), and the begins."""
    data, _ = pool_orders(a)
    begins = list(a.padding[: a.spatial])
    ends = list(a.padding[a.spatial :])
    if a.ceil_mode:
        ends = [e + s - 1 for e, s in zip(ends, a.strides)]
    return padded(x, data, SPATIAL[a.spatial], begins, ends, fill, axes="ax"), begins


LONG = 16
"""The length of windows from which on they may be expected to be longer than data of unknown extent."""


def _reach(x: k.Tensor, a: PoolAttrs, axis: int) -> Dim:
    """How many taps of a window can see data along one axis: of a window of 1280 over 7 elements, as models write
    "all of them", no more than 7. (Those behind see the border, which changes no sum and no maximum.)
    """
    size, step = a.pool_size[axis], a.dilation[axis]
    data, _ = pool_orders(a)
    extent = k.index(x.shape[data.position(SPATIAL[a.spatial][axis])])
    if isinstance(extent, k.tir.IntImm):
        return min(size, max(1, -(-(extent.value + a.padding[axis]) // step)))
    if size < LONG:
        return size
    seen = (extent + (a.padding[axis] + step - 1)) // step
    return k.minimum(k.index(size), k.maximum(seen, k.index(1)))


def _fold(
    x: k.Tensor, source: k.Tensor, a: PoolAttrs, out: k.Result, fold: Fold, kept: DataType, name: str
) -> k.Tensor:
    data, result = pool_orders(a)
    letters = SPATIAL[a.spatial]
    taps = [k.reduce_axis(_reach(x, a, i), f"rv{i}") for i in range(a.spatial)]

    def body(*indices: k.Scalar) -> k.Scalar:
        at = result.split(indices)
        for i, letter in enumerate(letters):
            window = whole(at[letter])
            start = window * a.strides[i] if a.strides[i] > 1 else window
            at[letter] = start + (taps[i].var * a.dilation[i] if a.dilation[i] > 1 else taps[i].var)
        return fold(k.cast(kept, source(*data.indices(at))), taps)

    attrs = windows(out.shape, result, letters)
    with default_tag(name):
        return k.compute(out.shape, body, name, "", axes="ax", **attrs)


def infer_mean(call: OpCall[PoolAttrs]) -> Info:
    """The same, of numbers."""
    refuse_bools(call, call.tensor(0))
    return infer(call)


def compute_max(inputs: Sequence[k.Tensor], a: PoolAttrs, out: k.Result) -> k.Tensor:
    """A border of the lowest value, then one reduction."""
    (x,) = inputs
    source, _ = _windows(x, a, k.lowest(x.dtype))
    return _fold(x, source, a, out, k.reduce_max, x.dtype, "pool_max")


def compute_mean(inputs: Sequence[k.Tensor], a: PoolAttrs, out: k.Result) -> k.Tensor:
    """A border of zeros, a sum, then the division by the number of elements that count."""
    (x,) = inputs
    source, begins = _windows(x, a, 0)
    total = _fold(x, source, a, out, k.reduce_sum, summing_dtype(x.dtype), "pool_sum")
    _, result = pool_orders(a)

    def body(*indices: k.Scalar) -> k.Scalar:
        count = pool_count(x, a, result.split(indices), begins)
        return k.cast(out.dtype, k.tir.Div(total(*indices), k.cast(total.dtype, count)))

    return k.compute(out.shape, body, "pool_avg", axes="ax")


def pool_count(x: k.Tensor, a: PoolAttrs, at: Mapping[str, Place], begins: list[int]) -> k.Scalar:
    """How many elements of a window count in its mean."""
    data, _ = pool_orders(a)
    count = k.index(1)
    for i, letter in enumerate(SPATIAL[a.spatial]):
        extent = k.index(x.shape[data.position(letter)])
        end = a.padding[i + a.spatial]
        if not (a.padding[i] or end or a.ceil_mode) or (a.count_include_pad and not a.ceil_mode):
            count = count * a.pool_size[i]
            continue
        start = whole(at[letter]) * a.strides[i] - begins[i]
        low, high = (k.index(-begins[i]), extent + end) if a.count_include_pad else (k.index(0), extent)
        d = a.dilation[i]
        first = k.maximum(k.index(0), (low - start + (d - 1)) // d)
        stop = k.minimum(k.index(a.pool_size[i]), (high - start + (d - 1)) // d)
        count = count * (stop - first)
    return k.maximum(count, k.index(1))


def reference_max(inputs: Sequence[AnyArray], a: PoolAttrs) -> AnyArray:
    """Window by window."""
    return computed_wide(lambda x: _pool(x, a, True), inputs[0])


def reference_mean(inputs: Sequence[AnyArray], a: PoolAttrs) -> AnyArray:
    """Window by window."""
    return computed_wide(lambda x: _pool(x, a, False), inputs[0])


def _pool(x: AnyArray, a: PoolAttrs, is_max: bool) -> AnyArray:
    data, out = pool_orders(a)
    letters = SPATIAL[a.spatial]
    canonical = to_canonical(x, data, "NC" + letters)
    extents = [_extent(canonical.shape[2 + i], a, i) for i in range(a.spatial)]
    if min(extents) <= 0:
        raise ValueError(f"the window {a.pool_size} is larger than the padded data {x.shape}")
    result = np.zeros((*canonical.shape[:2], *extents), canonical.dtype)
    for at in itertools.product(*(range(e) for e in extents)):
        element: tuple[EllipsisType | int, ...] = (..., *at)
        picks: list[list[int]] = []
        count = 1
        for i, position in enumerate(at):
            size = canonical.shape[2 + i]
            taps = [position * a.strides[i] - a.padding[i] + t * a.dilation[i] for t in range(a.pool_size[i])]
            inside = [t for t in taps if 0 <= t < size]
            limit = size + a.padding[i + a.spatial]
            count *= len([t for t in taps if -a.padding[i] <= t < limit]) if a.count_include_pad else len(inside)
            picks.append(inside)
        window = canonical[np.ix_(range(canonical.shape[0]), range(canonical.shape[1]), *picks)]
        flat = window.reshape(*canonical.shape[:2], math.prod(window.shape[2:]))
        if is_max:
            value = greatest(flat, axis=-1)
        else:
            value = flat.sum(axis=-1) / max(count, 1)
            value = np.trunc(value) if np.issubdtype(canonical.dtype, np.integer) else value
        result[element] = value
    return from_canonical(result, out, "NC" + letters)


def _extent(size: int, a: PoolAttrs, i: int) -> int:
    room = size + a.padding[i] + a.padding[i + a.spatial] - (a.pool_size[i] - 1) * a.dilation[i] - 1
    if not a.ceil_mode or a.strides[i] == 1:
        return int(room // a.strides[i] + 1)
    found = -(-room // a.strides[i]) + 1
    return int(found - 1 if (found - 1) * a.strides[i] >= size + a.padding[i] else found)


def _samples(record: type[PoolAttrs], spatial: int, is_max: bool) -> tuple[Sample, ...]:
    s = (6,) * (spatial - 1)
    last = {1: "NWC", 2: "NHWC", 3: "NDHWC"}[spatial]
    calls = [
        Sample((Arr(("n", 3, *s, "w")),), record(pool_size=3, strides=2, padding=1)),
        Sample((Arr((1, 3, *s, 7)),), record(pool_size=2, strides=2, ceil_mode=True)),
        Sample((Arr((1, *s, 7, 3)),), record(pool_size=2, layout=last)),
        Sample((Arr((1, 2, *s, 7)),), record(pool_size=2, dilation=2, padding=1, count_include_pad=True)),
        Sample(
            (Arr(("n", 3, *s, "w")),), record(pool_size=20, strides=20, padding=2, ceil_mode=True)
        ),  # longer than the data
    ]
    if spatial == 2:
        calls += [
            Sample((Arr((1, 2, 5, 5, 4)),), record(pool_size=3, strides=2, padding=(0, 1), layout="NCHW4c")),
            Sample((Arr((1, 2, 6, 6), "float16"),), record(pool_size=3), rtol=1e-2, atol=1e-3),
        ]
    if is_max:
        calls.append(Sample((Arr((1, 3, *s, 7), "int32", -9, 9),), record(pool_size=3, strides=3)))
    return tuple(calls)


def _gradient(name: str) -> Gradient[PoolAttrs]:
    def gradient(b: CallMaker, args: Exprs, a: PoolAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
        return [b.op(name, grad, args[0], **dict(a.items()))]

    return gradient


def _define(spatial: int, record: type[PoolAttrs], kind: str) -> OpDef[PoolAttrs]:
    is_max = kind == "max"
    return OpDef(
        f"nn.{kind}_pool{spatial}d",
        record,
        inputs=(Input("data", "the images"),),
        infer=infer if is_max else infer_mean,
        compute=compute_max if is_max else compute_mean,
        reference=reference_max if is_max else reference_mean,
        gradient=_gradient(f"grad.{kind}_pool{spatial}d_backward"),
        fusion=Fusion.OUT_EWISE_FUSABLE,
        layout=Anchor("layout", None, "out_layout"),
        samples=lambda: _samples(record, spatial, is_max),
        summary=f"{'Max' if is_max else 'Average'} pooling over {spatial} spatial "
        + ("axis." if spatial == 1 else "axes."),
    )


POOLING: tuple[Definition, ...] = tuple(
    _define(spatial, record, kind)
    for kind in ("max", "avg")
    for spatial, record in ((1, Pool1DAttrs), (2, Pool2DAttrs), (3, Pool3DAttrs))
)
