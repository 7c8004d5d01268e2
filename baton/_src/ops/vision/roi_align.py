"""vision.roi_align: boxes of images, each divided into bins, the mean or maximum of samples of each bin and channel.

    data, rois (m, 5): index of the image, x1, y1, x2, y2 in pixels of the input -> (m, channels, rows, columns)

Each bin is sampled bilinearly at a grid of points. Coordinates are scaled by `spatial_scale`. With `sample_ratio` 0 or
less a bin of an extent of e pixels has ceil(e) samples along that axis. Source: facts relay-language §6 level 5.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from itertools import product
from math import prod

import numpy as np

from baton._src.ir.attrs import attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpDef
from baton._src.ops import kernel_words as k
from baton._src.ops.canonical_axes import image_of
from baton._src.ops.elementwise.casts import convert
from baton._src.ops.layouts import Anchor
from baton._src.ops.loop_nests import both, let, lets, load, local, loop, loops, store, when
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.vector_loops import over_rows
from baton._src.ops.vision.regions import LAYOUTS, REAL, ROIS, RoiAttrs, as_pooled_size, corner, infer
from baton._src.support.dataclass import dataclass
from baton._src.te.computation import extern
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import For, ForKind, Stmt
from baton._src.values.dtype import INT64
from baton._src.values.tensor import AnyArray


@attrs
class RoiAlignAttrs(RoiAttrs):
    """Bins, scale and samples."""

    pooled_size: tuple[int, ...] = attr(doc="rows and columns of bins")
    spatial_scale: float = attr(doc="pixels of the data per pixel of the boxes")
    sample_ratio: int = attr(-1, "samples along each axis of a bin; 0 or less: as many as it has pixels")
    layout: str = attr("NCHW", "NCHW or NHWC")
    mode: str = attr("avg", "avg or max")
    aligned: bool = attr(False, "pixels are centred at halves, and a box may be smaller than a pixel", beyond=True)

    def __post_init__(self) -> None:
        set_attr(self, "pooled_size", as_pooled_size(self.pooled_size))


def compute(inputs: Sequence[k.Tensor], a: RoiAlignAttrs, out: k.Result) -> k.Tensor:
    """Bin after bin: where a sample lies is computed once, then it is added to the totals of all channels."""
    x, rois = inputs

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        channels = k.index(x.shape[1 if a.layout == "NCHW" else 3])
        known = channels.value if isinstance(channels, k.tir.IntImm) else 1

        def box(places: tuple[k.Scalar, ...]) -> Stmt:
            (m,) = places

            def pooled(totals: Buffer) -> Stmt:
                bins = _Bins(a, ins[0], outs[0], totals, k.index(load(ins[1], m, k.index(0))), m)
                return _with_grid(ins[1], m, a, bins.all_of)

            return local("totals", [channels], REAL, pooled)

        return over_rows(k.dims(out.shape[:1]), prod(a.pooled_size) * max(1, a.sample_ratio) ** 2 * max(1, known), box)

    return extern(k.dims(out.shape), [x, rois], body, "roi_align", out.dtype)


@dataclass(frozen=True)
class _Grid:
    """Where a box begins, the extents of a bin, and how many samples a bin has; rows first."""

    low: tuple[k.Scalar, k.Scalar]
    sizes: tuple[k.Scalar, k.Scalar]
    counts: tuple[k.Scalar, k.Scalar]


@dataclass(frozen=True)
class _Place:
    """Where a sample lies along one axis: between two pixels, with their weights, if it is inside the image."""

    pixels: tuple[k.Scalar, k.Scalar]
    weights: tuple[k.Scalar, k.Scalar]
    inside: k.Scalar


@dataclass(frozen=True)
class _Bins:
    """The bins of box `m`, which is one of image `image`; `totals` has room for a number a channel."""

    a: RoiAlignAttrs
    data: Buffer
    result: Buffer
    totals: Buffer
    image: k.Scalar
    m: k.Scalar

    def all_of(self, grid: _Grid) -> Stmt:
        return loops(self.a.pooled_size, lambda i, j: self.one(grid, i, j), "bin")

    def one(self, grid: _Grid, i: k.Scalar, j: k.Scalar) -> Stmt:
        """The bin in row i, column j."""
        rows, columns = grid.counts
        is_empty = k.tir.EQ(rows * columns, k.index(0))
        count = k.cast(REAL, k.maximum(rows * columns, k.index(1)))
        start = k.lowest(k.DataType(REAL)) if self._is_max else k.const(0.0, REAL)

        def of_row(top: _Place) -> Stmt:
            return loop(columns, lambda n: self.placed(grid, 1, j, n, lambda left: self.sample(top, left)), "ix")

        def result(c: k.Scalar) -> Stmt:
            total = load(self.totals, c)
            found = k.select(is_empty, k.const(0.0, REAL), total) if self._is_max else total / count
            at = (self.m, c, i, j) if self._channels_first else (self.m, i, j, c)
            return store(self.result, at, k.cast(self.result.dtype, found))

        samples = loop(rows, lambda n: self.placed(grid, 0, i, n, of_row), "iy")
        return both(self._for_channels(lambda c: store(self.totals, [c], start)), samples, self._for_channels(result))

    def placed(self, grid: _Grid, axis: int, bin_: k.Scalar, sample: k.Scalar, then: Callable[[_Place], Stmt]) -> Stmt:
        """`then` of where a sample of a bin lies along an axis."""
        extent = k.index(self.data.shape[axis + (2 if self._channels_first else 1)])
        size, one = grid.sizes[axis], k.const(1.0, REAL)
        part = (k.cast(REAL, sample) + k.const(0.5, REAL)) * size / k.cast(REAL, grid.counts[axis])
        place = grid.low[axis] + k.cast(REAL, bin_) * size + part

        def pulled(at: k.Scalar) -> k.Scalar:
            return k.minimum(k.maximum(at, k.const(0.0, REAL)), k.cast(REAL, extent - k.index(1)))

        def between(at: k.Scalar, near: k.Scalar, low: k.Scalar, first: k.Scalar) -> Stmt:
            inside = k.tir.And(at >= k.const(-1.0, REAL), at <= k.cast(REAL, extent))
            second = k.minimum(first + 1, extent - k.index(1))
            return then(_Place((first, second), (one - (near - low), near - low), inside))

        def pixels(at: k.Scalar, near: k.Scalar) -> Stmt:
            def from_first(low: k.Scalar) -> Stmt:
                return let("first", k.cast("int64", low), lambda first: between(at, near, low, first))

            return let("low", k.floor(near), from_first)

        return let("at", place, lambda at: let("near", pulled(at), lambda near: pixels(at, near)))

    def sample(self, top: _Place, left: _Place) -> Stmt:
        """Add a sample to the totals; outside the image it is 0."""
        products = [by_row * by_column for by_row, by_column in product(top.weights, left.weights)]

        def weighed(c: k.Scalar, weights: k.Indices) -> k.Scalar:
            terms = []
            for weight, (row, column) in zip(weights, product(top.pixels, left.pixels)):
                at = (self.image, c, row, column) if self._channels_first else (self.image, row, column, c)
                terms.append(k.cast(REAL, load(self.data, *at)) * weight)
            return functools.reduce(operator.add, terms)

        def fold(value: Callable[[k.Scalar], k.Scalar]) -> Stmt:
            def folded(c: k.Scalar) -> k.Scalar:
                total = load(self.totals, c)
                return k.maximum(total, value(c)) if self._is_max else total + value(c)

            return self._for_channels(lambda c: store(self.totals, [c], folded(c)))

        names = [f"weight_{n}" for n in range(len(products))]
        add = lets(list(zip(names, products)), lambda *weights: fold(lambda c: weighed(c, weights)))
        outside = fold(lambda c: k.const(0.0, REAL)) if self._is_max else None
        return when(k.tir.And(top.inside, left.inside), add, outside)

    @property
    def _is_max(self) -> bool:
        return self.a.mode == "max"

    @property
    def _channels_first(self) -> bool:
        return self.a.layout == "NCHW"

    def _for_channels(self, body: Callable[[k.Scalar], Stmt]) -> Stmt:
        c = k.tir.Var("c", "int64")
        kind = ForKind.SERIAL if self._channels_first else ForKind.VECTORIZED
        return For(c, k.index(0), self.totals.shape[0], kind, body(c))


def _with_grid(boxes: Buffer, m: k.Scalar, a: RoiAlignAttrs, body: Callable[[_Grid], Stmt]) -> Stmt:
    """`body` of the grid of box `m`."""
    scale, one = k.const(float(a.spatial_scale), REAL), k.const(1.0, REAL)
    half = k.const(0.5, REAL)
    values: list[tuple[str, k.Scalar]] = []
    for name, low, high in (("y", 2, 4), ("x", 1, 3)):
        places = [corner(boxes, m, column) * scale for column in (low, high)]
        values += zip((f"{name}_low", f"{name}_high"), [p - half for p in places] if a.aligned else places)

    def count(size: k.Scalar) -> k.Scalar:
        if a.sample_ratio > 0:
            return k.index(a.sample_ratio)
        return k.maximum(k.cast("int64", k.ceil(size)), k.index(0))

    def with_extents(y0: k.Scalar, y1: k.Scalar, x0: k.Scalar, x1: k.Scalar) -> Stmt:
        sizes = [h - lo if a.aligned else k.maximum(h - lo, one) for lo, h in ((y0, y1), (x0, x1))]
        bins = [s / k.const(float(n), REAL) for s, n in zip(sizes, a.pooled_size)]
        return lets(
            [("y_bin", bins[0]), ("x_bin", bins[1])],
            lambda by, bx: body(_Grid((y0, x0), (by, bx), (count(by), count(bx)))),
        )

    return lets(values, with_extents)


def reference(inputs: Sequence[AnyArray], a: RoiAlignAttrs) -> AnyArray:
    """Sample by sample."""
    x, rois = inputs
    images = (x if a.layout == "NCHW" else np.moveaxis(x, 3, 1)).astype(REAL)
    found = np.zeros((len(rois), images.shape[1], *a.pooled_size), REAL)
    for m, roi in enumerate(rois.astype(REAL)):
        image = image_of(images, roi[0])
        x0, y0, x1, y1 = (v * np.float32(a.spatial_scale) - np.float32(0.5 * a.aligned) for v in roi[1:])
        least = np.float32(-np.inf if a.aligned else 1)
        bins = [max(h - lo, least) / np.float32(n) for lo, h, n in zip((y0, x0), (y1, x1), a.pooled_size)]
        adapted = convert(np.maximum(np.ceil(bins), 0), INT64)
        counts = [a.sample_ratio if a.sample_ratio > 0 else int(count) for count in adapted]
        for i, j in np.ndindex(*a.pooled_size):
            rows = [y0 + np.float32(i + (n + 0.5) / counts[0]) * bins[0] for n in range(counts[0])]
            columns = [x0 + np.float32(j + (n + 0.5) / counts[1]) * bins[1] for n in range(counts[1])]
            values = np.stack([_sampled(image, v, u) for v in rows for u in columns] or [image[:, 0, 0] * 0])
            found[m, :, i, j] = values.max(axis=0) if a.mode == "max" else values.mean(axis=0)
    return np.ascontiguousarray(found if a.layout == "NCHW" else np.moveaxis(found, 1, 3)).astype(x.dtype)


def _sampled(image: AnyArray, v: float, u: float) -> AnyArray:
    height, width = image.shape[1:]
    if not (-1 <= v <= height and -1 <= u <= width):
        return np.zeros(image.shape[0], image.dtype)
    total = np.zeros(image.shape[0], image.dtype)
    v, u = min(max(v, 0), height - 1), min(max(u, 0), width - 1)
    for row, by_row in ((int(v), 1 - v % 1), (min(int(v) + 1, height - 1), v % 1)):
        for column, by_column in ((int(u), 1 - u % 1), (min(int(u) + 1, width - 1), u % 1)):
            total = total + image[:, row, column] * by_row * by_column
    return total


_SMALL = Arr((3, 5), values=((1, 1, 2, 1.5, 9), (0, 4, 4, 4, 4), (1, 2, 6, 9, 5)))


ROI_ALIGN = OpDef(
    "vision.roi_align",
    RoiAlignAttrs,
    inputs=(Input("data"), Input("rois", "rows of image, x1, y1, x2, y2")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.OPAQUE,
    layout=Anchor("layout", blocks=False, only=LAYOUTS),
    in_relax=False,
    samples=lambda: (
        Sample((Arr((2, "m", 7, 9)), ROIS), RoiAlignAttrs((2, 3), 0.5, 2), rtol=1e-4, atol=1e-5),
        Sample((Arr((2, 3, 7, 9)), ROIS), RoiAlignAttrs((3, 2), 1.0, mode="max"), rtol=1e-4, atol=1e-5),
        Sample((Arr((2, 7, 9, 2)), ROIS), RoiAlignAttrs(2, 0.7, layout="NHWC"), rtol=1e-4, atol=1e-5),
        Sample((Arr((2, 7, 9, 2)), ROIS), RoiAlignAttrs(2, 0.7, 3, "NHWC", "max"), rtol=1e-4, atol=1e-5),
        Sample((Arr((2, 3, 7, 9)), _SMALL), RoiAlignAttrs(2, 0.5, 2, aligned=True), rtol=1e-4, atol=1e-5),
        Sample((Arr((2, 3, 7, 9)), _SMALL), RoiAlignAttrs(2, 0.5, aligned=True), rtol=1e-4, atol=1e-5),
    ),
    summary="RoI align: the mean or maximum of bilinear samples in each bin of each box.",
)
