"""Where the maximum of each window lies: the second result of ONNX's MaxPool.

x [n, c, ...] and its pooled maxima [n, c, windows...]  ->  int64 [n, c, windows...]: the row-major place within the
plane of the first element of the window that equals the maximum; the first NaN of one that has any. Ours: neither of
TVM's languages says places.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import same_dtype
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.row_major import element_count, flat_index
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import per_axis, steps
from baton._src.values.dtype import INT32, INT64
from baton._src.values.tensor import AnyArray


@attrs
class PlacesAttrs(Attrs):
    """The windows: a number for each spatial axis; of the padding, how much there is before each."""

    pool_size: tuple[int, ...] = attr(doc="extents of the window")
    strides: tuple[int, ...] = attr(doc="strides of the window")
    dilation: tuple[int, ...] = attr(doc="dilation of the window")
    begins: tuple[int, ...] = attr(doc="how far the first window begins before the data")

    def __post_init__(self) -> None:
        count = len(self.pool_size)
        for name in ("pool_size", "strides", "dilation"):
            set_attr(self, name, steps(getattr(self, name), count, name))
        set_attr(self, "begins", per_axis(self.begins, count, "begins"))


def infer(call: OpCall[PlacesAttrs]) -> Info:
    """A place for each maximum."""
    x, pooled, rank = call.tensor(0), call.tensor(1), len(call.attrs.pool_size) + 2
    same_dtype(call, (x, pooled))
    for t in (x, pooled):
        if t.ndim not in (-1, rank):
            call.fail(f"windows of {rank - 2} axes are over tensors of {rank}, got {show_shape(t.shape, t.ndim)}")
    if x.shape is not None and pooled.shape is not None:
        if any(DimMath(call.prover).equal(a, b) is False for a, b in zip(x.shape[:2], pooled.shape[:2])):
            call.fail(f"the maxima {show_shape(pooled.shape)} are not those of {show_shape(x.shape)}")
    return TensorInfo(pooled.shape, INT64, rank, pooled.vdevice)


def compute(inputs: Sequence[k.Tensor], a: PlacesAttrs, out: k.Result) -> k.Tensor:
    """The least place of an element that equals the maximum; what lies in the border is behind all elements."""
    x, pooled = inputs
    sizes = x.shape[2:]
    area = element_count(sizes)
    known = isinstance(area, k.tir.IntImm) and area.value < INT32.int_range[1]
    kept = INT32 if known else INT64
    behind = k.cast(kept, area)

    def body(n: k.Scalar, c: k.Scalar, *at: k.Scalar) -> k.Scalar:
        taps = [k.reduce_axis(size, f"rv{i}") for i, size in enumerate(a.pool_size)]
        place, inside = [], []
        for i, (start, tap) in enumerate(zip(at, taps, strict=True)):
            place.append(start * k.index(a.strides[i]) + tap.var * k.index(a.dilation[i]) - k.index(a.begins[i]))
            inside += [place[-1] >= k.index(0), place[-1] < k.index(sizes[i])]
        value = x(n, c, *place)
        hit: k.Scalar = k.tir.EQ(value, pooled(n, c, *at))
        if x.dtype.is_float:
            hit = k.tir.Or(hit, k.tir.NE(value, value))
        found = k.select(hit, k.cast(kept, flat_index(place, sizes)), behind)
        return k.reduce_min(k.if_then_else(k.all_of(inside), found, behind), taps)

    places = k.compute(pooled.shape, body, "pool_places")
    return places if kept == INT64 else k.compute(pooled.shape, lambda *i: k.cast(INT64, places(*i)), "places")


def reference(inputs: Sequence[AnyArray], a: PlacesAttrs) -> AnyArray:
    """Tap by tap, the last one first."""
    x, pooled = inputs
    sizes, found = x.shape[2:], np.full(pooled.shape, math.prod(x.shape[2:]), np.int64)
    if not math.prod(sizes):
        return found
    for tap in itertools.product(*(reversed(range(size)) for size in a.pool_size)):
        known = zip(pooled.shape[2:], a.strides, tap, a.dilation, a.begins, strict=True)
        axes = [np.arange(count) * stride + t * gap - begin for count, stride, t, gap, begin in known]
        grid = np.meshgrid(*axes, indexing="ij")
        inside = np.all([(at >= 0) & (at < size) for at, size in zip(grid, sizes, strict=True)], axis=0)
        place = np.ravel_multi_index([np.where(inside, at, 0) for at in grid], sizes)
        value = x.reshape(*x.shape[:2], math.prod(sizes))[:, :, place]
        found = np.where(((value == pooled) | (value != value)) & inside, place, found)
    return found


def _pairs(begins: tuple[int, int]) -> PlacesAttrs:
    return PlacesAttrs(pool_size=(2, 2), strides=(2, 2), dilation=(1, 1), begins=begins)


MAX_POOL_PLACES = OpDef(
    "nn.max_pool_places",
    PlacesAttrs,
    inputs=(Input("data"), Input("pooled", "the maxima of its windows")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("places are not differentiable"),
    fusion=Fusion.OUT_EWISE_FUSABLE,
    samples=lambda: (
        Sample((Arr((1, 2, 4, 6), "int32", 0, 3), Arr((1, 2, 2, 3), "int32", 2, 3)), _pairs((0, 0))),
        Sample((Arr((2, "n", "m", 5)), Arr((2, "n", 3, 3), low=3, high=9)), _pairs((1, 1))),
    ),
    summary="Where the maxima of windows lie within their planes.",
)
