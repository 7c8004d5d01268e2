"""Images read at computed points: image.grid_sample.

data (b, c, [d,] h, w), grid (b, 2 or 3, ...) -> (b, c, ...): grid holds x, y (and z) in [-1, 1]. Channels may be last.

Methods nearest, bilinear (trilinear in 3d), bicubic (2d); outside the image stands zero, the border, or the
reflection. With `align_corners`, -1 and 1 are the centres of the outer pixels, otherwise their outer edges. Weighed
in float32, or in float64 where data or grid is of it. Source: facts relax-ops-passes-vm §1 (image), relay-language
§6 level 5.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.elementwise.casts import convert
from baton._src.ops.image.resampling import N, Scalars, numpy_scalars, te_scalars, weighed_in
from baton._src.ops.operand_checks import check_floats, check_ranks
from baton._src.ops.samples import Arr, Sample
from baton._src.tir import expr as tir
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

T = TypeVar("T")

CUBIC_ALPHA = -0.75
METHODS = ("nearest", "bilinear", "bicubic")
LAYOUTS = ("NCHW", "NCDHW", "NHWC", "NDHWC")
"""TVM has the first two."""
PADDINGS = ("zeros", "border", "reflection")


@attrs
class GridSampleAttrs(Attrs):
    """The interpolation method, and the value outside the image."""

    method: str = attr("bilinear", "nearest, bilinear or bicubic")
    layout: str = attr("NCHW", "NCHW or NCDHW, or with the channels last")
    padding_mode: str = attr("zeros", "zeros, border or reflection")
    align_corners: bool = attr(True, "-1 and 1 are the centres of the outer pixels, else their outer edges")

    @property
    def channels(self) -> int:
        """The axis of the channels."""
        return self.layout.index("C")

    def joined(self, outer: tuple[T, T], places: Sequence[T]) -> tuple[T, ...]:
        """Image, channel and places in the order of the layout."""
        image, channel = outer
        return (image, channel, *places) if self.channels == 1 else (image, *places, channel)

    def places_of(self, shape: Sequence[T]) -> tuple[T, ...]:
        """The spatial ones of the axes."""
        return tuple(dim for axis, dim in enumerate(shape) if axis not in (0, self.channels))


def infer_sample(call: OpCall[GridSampleAttrs]) -> Info:
    """The data's batch and channels, the grid's extents."""
    x, grid, a = call.tensor(0), call.tensor(1), call.attrs
    if a.layout not in LAYOUTS:
        call.fail(f"layout must be {', '.join(LAYOUTS[:-1])} or {LAYOUTS[-1]}, got {a.layout!r}", code="op-attribute")
    if a.method not in METHODS or a.padding_mode not in PADDINGS:
        call.fail(f"method {a.method!r} or padding_mode {a.padding_mode!r} is unknown", code="op-attribute")
    rank = len(a.layout)
    if rank == 5 and a.method == "bicubic":
        call.fail("bicubic sampling is defined for two spatial axes", code="op-attribute")
    check_ranks(call, rank, rank)
    check_floats(call, 1)
    if x.shape is None or grid.shape is None:
        return TensorInfo(None, x.dtype, rank, x.vdevice)
    same = DimMath(call.prover)
    if same.equal(grid.shape[1], rank - 2) is False or same.equal(x.shape[0], grid.shape[0]) is False:
        call.fail(
            f"data {show_shape(x.shape)} ({a.layout}) and grid {show_shape(grid.shape)} (b, {rank - 2}, ...) do not fit"
        )
    if 0 in a.places_of(x.shape) and 0 not in grid.shape:
        call.fail(f"data {show_shape(x.shape)} has no elements that the grid {show_shape(grid.shape)} could sample")
    shape = a.joined((x.shape[0], x.shape[a.channels]), grid.shape[2:])
    return TensorInfo(shape, x.dtype, vdevice=x.vdevice)


def place(f: Scalars[N], u: N, extent: N | int, align: bool) -> N:
    """A coordinate of [-1, 1] as one of pixels."""
    one, half = f.number(1.0), f.number(0.5)
    pixels = (u + one) * half * (f.number(extent) - one) if align else ((u + one) * f.number(extent) - one) * half
    return pixels


def inside(f: Scalars[N], u: N, extent: N | int, a: GridSampleAttrs) -> N:
    """`u` moved into the image as the padding mode says."""
    last = f.number(extent) - f.number(1.0)
    if a.padding_mode == "reflection":
        low = f.number(0.0 if a.align_corners else -0.5)
        span = f.greatest(last if a.align_corners else f.number(extent), f.number(1e-6))
        distance = f.absolute(u - low)
        turns = f.floor(distance / span)
        rest = distance - turns * span
        is_odd = turns - f.number(2.0) * f.floor(turns * f.number(0.5)) > f.number(0.5)
        u = f.choose(is_odd, span - rest + low, rest + low)
    return f.least(f.greatest(u, f.number(0.0)), last)


def taps(f: Scalars[N], u: N, extent: N | int, a: GridSampleAttrs) -> list[tuple[N, N]]:
    """(pixel, weight) pairs along one axis; pixels are floats with whole values and may lie outside."""
    if a.method != "bicubic":
        moved = u if a.padding_mode == "zeros" else inside(f, u, extent, a)
        if a.method == "nearest":
            return [(f.nearest(moved), f.number(1.0))]
        first = f.floor(moved)
        t = moved - first
        return [(first, f.number(1.0) - t), (first + f.number(1.0), t)]
    first = f.floor(u)
    weights = cubic_weights(f, u - first)
    pixels = [first + f.number(float(n)) for n in (-1, 0, 1, 2)]
    if a.padding_mode != "zeros":
        pixels = [inside(f, p, extent, a) for p in pixels]
    return list(zip(pixels, weights))


def cubic_weights(f: Scalars[N], t: N) -> list[N]:
    """Keys' kernel at distances 1 + t, t, 1 - t, 2 - t."""
    c, one = f.number, f.number(1.0)

    def near(d: N) -> N:
        return (c(CUBIC_ALPHA + 2.0) * d - c(CUBIC_ALPHA + 3.0)) * d * d + one

    def far(d: N) -> N:
        return ((c(CUBIC_ALPHA) * d - c(5.0 * CUBIC_ALPHA)) * d + c(8.0 * CUBIC_ALPHA)) * d - c(4.0 * CUBIC_ALPHA)

    return [far(one + t), near(t), near(one - t), far(c(2.0) - t)]


def compute_sample(inputs: Sequence[k.Tensor], a: GridSampleAttrs, out: k.Result) -> k.Tensor:
    """A weighted sum of the pixels around the point."""
    x, grid = inputs
    extents, wide = a.places_of(x.shape), weighed_in(x, grid)
    te = te_scalars(wide)

    def body(*indices: k.Scalar) -> k.Scalar:
        b, c, o = indices[0], indices[a.channels], a.places_of(indices)
        axes = []
        for axis, extent in enumerate(extents):
            u = k.cast(wide, grid(b, k.index(len(extents) - 1 - axis), *o))
            axes.append(taps(te, place(te, u, k.index(extent), a.align_corners), k.index(extent), a))
        products = []
        for combination in itertools.product(*axes):
            weight = combination[0][1]
            for _, w in combination[1:]:
                weight = weight * w
            products.append(_read(x, a, (b, c), [pixel for pixel, _ in combination], wide) * weight)
        total, *others = products
        for value in others:
            total = total + value
        return k.cast(out.dtype, total)

    return k.compute(out.shape, body, "grid_sample")


def _read(x: k.Tensor, a: GridSampleAttrs, outer: tuple[k.Scalar, k.Scalar], pixels: k.Indices, wide: str) -> k.Scalar:
    """The pixel in the dtype `wide`, that of the coordinates too; zero outside, and where a coordinate is NaN.

    Coordinates are compared as the floats they are: a vector holds twice as many of them as of indices.
    """
    tests: list[k.Scalar] = []
    places = []
    for pixel, dim in zip(pixels, a.places_of(x.shape)):
        last = k.index(dim) - k.index(1)
        is_inside = k.all_of([tir.GE(pixel, k.const(0.0, wide)), tir.LE(pixel, k.cast(wide, last))])
        tests.append(is_inside)
        # The largest of sizes are no floats: the last pixel may have been rounded up.
        places.append(k.minimum(k.cast("int64", k.select(is_inside, pixel, k.const(0.0, wide))), last))
    return k.select(k.all_of(tests), k.cast(wide, x(*a.joined(outer, places))), k.const(0.0, wide))


def reference_sample(inputs: Sequence[AnyArray], a: GridSampleAttrs) -> AnyArray:
    """The same sum over whole arrays."""
    wide = weighed_in(*inputs)
    x, grid, numbers = inputs[0].astype(wide), inputs[1].astype(wide), numpy_scalars(wide)
    x = np.moveaxis(x, a.channels, 1)
    extents = x.shape[2:]
    axes = [
        taps(numbers, place(numbers, grid[:, len(extents) - 1 - n], e, a.align_corners), e, a)
        for n, e in enumerate(extents)
    ]
    total = np.zeros((*x.shape[:2], *grid.shape[2:]), wide)
    batch = np.arange(x.shape[0]).reshape(-1, *(1,) * len(extents))
    for combination in itertools.product(*axes):
        weight = math.prod(w for _, w in combination)
        valid = np.ones(grid[:, 0].shape, bool)
        where = []
        for (pixel, _), extent in zip(combination, extents):
            valid &= (pixel >= 0) & (pixel < extent)
            where.append(np.clip(np.nan_to_num(pixel), 0, extent - 1).astype(int))
        values = np.moveaxis(x, 1, -1)[(batch, *where)] * (weight * valid)[..., None]
        total += np.moveaxis(values, -1, 1)
    found: AnyArray = convert(np.ascontiguousarray(np.moveaxis(total, 1, a.channels)), DataType(inputs[0].dtype))
    return found


def _cases() -> tuple[Sample, ...]:
    def sample(**options: Any) -> Sample:
        return Sample(
            (Arr((2, 3, 5, 6)), Arr((2, 2, 4, "n"), low=-1.7, high=1.7)),
            GridSampleAttrs(**options),
            rtol=1e-3,
            atol=1e-4,
        )

    return (
        *(sample(method=m, padding_mode=p, align_corners=c) for m in METHODS for p in PADDINGS for c in (True, False)),
        Sample(
            (Arr((1, 2, 3, 4, 5)), Arr((1, 3, 2, 3, 4), low=-1.2, high=1.2)),
            GridSampleAttrs(layout="NCDHW"),
            rtol=1e-3,
            atol=1e-4,
        ),
        Sample(
            (Arr((2, 5, 6, 3)), Arr((2, 2, 4, "n"), low=-1.7, high=1.7)),
            GridSampleAttrs(layout="NHWC"),
            rtol=1e-3,
            atol=1e-4,
        ),
        Sample(
            (Arr((1, 2, 5, 6), "float64"), Arr((1, 2, 4, 3), "float64", low=-1.2, high=1.2)),
            GridSampleAttrs(method="bicubic"),
            rtol=1e-12,
            atol=1e-12,
        ),
    )


GRID_SAMPLE = OpDef(
    "image.grid_sample",
    GridSampleAttrs,
    inputs=(Input("data"), Input("grid", "points")),
    infer=infer_sample,
    compute=compute_sample,
    reference=reference_sample,
    gradient=NotApplicable("not offered"),
    fusion=Fusion.INJECTIVE,
    kernel_fusion=lambda a: Fusion.OUT_ELEMWISE_FUSABLE,  # pixels that several points weigh are computed once
    samples=_cases,
    summary="Sample images at the points of a grid.",
)
