"""vision.roi_align: boxes of images, each divided into bins, the mean or maximum of samples of each bin and channel.

    data, rois (m, 5): index of the image, x1, y1, x2, y2 in pixels of the input -> (m, channels, rows, columns)

Each bin is sampled bilinearly at a grid of points. Coordinates are scaled by `spatial_scale`. With `sample_ratio` 0 or
less a bin of an extent of e pixels has ceil(e) samples along that axis. Source: facts relay-language §6 level 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpDef
from baton._src.ops import kernel_words as k
from baton._src.ops.layouts import anchor
from baton._src.ops.loop_nests import both, load, loop, loops, store
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.vision.regions import LAYOUTS, REAL, ROIS, as_pooled_size, corner, infer, lets
from baton._src.te.computation import extern
from baton._src.tir.stmt import Stmt


@attrs
class RoiAlignAttrs(Attrs):
    """Bins, scale and samples."""

    pooled_size: Any = attr(doc="rows and columns of bins")
    spatial_scale: float = attr(doc="pixels of the data per pixel of the boxes")
    sample_ratio: int = attr(-1, "samples along each axis of a bin; 0 or less: as many as it has pixels")
    layout: str = attr("NCHW", "NCHW or NHWC")
    mode: str = attr("avg", "avg or max")
    aligned: bool = attr(False, "pixels are centred at halves, and a box may be smaller than a pixel", beyond=True)

    def __post_init__(self) -> None:
        set_attr(self, "pooled_size", as_pooled_size(self.pooled_size))


def compute(inputs: Any, a: RoiAlignAttrs, out: Any) -> Any:
    """As many samples in every bin, or as many as each has pixels."""
    return _with_tables(inputs, a, out) if a.sample_ratio > 0 else _with_counts(inputs, a, out)


def _places(x: k.Tensor, rois: k.Tensor, a: RoiAlignAttrs, axis: int) -> tuple[k.Tensor, k.Tensor]:
    """Where each box is sampled along an axis of the image, for all channels: the pixel before the sample (-1: it is
    outside the image) and how far behind that it is, (boxes, bins * samples of a bin) of each.
    """
    size, samples = a.pooled_size[axis], k.index(a.sample_ratio)
    extent = k.index(x.shape[axis + (2 if a.layout == "NCHW" else 1)])
    scale, half = k.const(float(a.spatial_scale), REAL), k.const(0.5, REAL)

    def place(m: Any, p: Any) -> Any:
        low, high = (k.cast(REAL, rois(m, k.index(column))) * scale for column in (2 - axis, 4 - axis))
        low, high = (low - half, high - half) if a.aligned else (low, high)
        span = high - low if a.aligned else k.maximum(high - low, k.const(1.0, REAL))
        width = span / k.const(float(size), REAL)
        part = (k.cast(REAL, p % samples) + half) * width / k.cast(REAL, samples)
        return low + k.cast(REAL, p // samples) * width + part

    def pulled(m: Any, p: Any) -> Any:
        return k.minimum(k.maximum(places(m, p), k.const(0.0, REAL)), k.cast(REAL, extent - k.index(1)))

    def before(m: Any, p: Any) -> Any:
        inside = k.tir.And(places(m, p) >= k.const(-1.0, REAL), places(m, p) <= k.cast(REAL, extent))
        at = k.minimum(k.cast("int64", k.floor(pulled(m, p))), extent - k.index(1))  # large extents are rounded up
        return k.if_then_else(inside, at, k.index(-1))

    shape = (k.index(rois.shape[0]), k.index(size * a.sample_ratio))
    places = k.compute(shape, place, "places")
    behind = k.compute(shape, lambda m, p: pulled(m, p) - k.floor(pulled(m, p)), "behind")
    return k.compute(shape, before, "before"), behind


def _with_tables(inputs: Any, a: RoiAlignAttrs, out: Any) -> Any:
    """Bin after bin, from tables of the places along both axes."""
    x, rois = inputs
    first, is_max, samples = a.layout == "NCHW", a.mode == "max", k.index(a.sample_ratio)
    last = [k.index(d) - k.index(1) for d in (x.shape[2:4] if first else x.shape[1:3])]
    count = k.const(a.sample_ratio**2, out.dtype)

    def body(ins: Any, outs: Any) -> Stmt:
        data, boxes, *tables = ins

        def element(*o: Any) -> Stmt:
            m, c = o[0], o[1] if first else o[3]
            bins = o[2:] if first else o[1:3]

            def fold(n: Any, i: Any, j: Any) -> Stmt:
                def pixel(row: Any, column: Any) -> Any:
                    return load(data, n, c, row, column) if first else load(data, n, row, column, c)

                at = [b * samples + s for b, s in zip(bins, (i, j))]
                found = [load(tables[t], m, at[t // 2]) for t in range(4)]

                def add(top: Any, behind: Any, left: Any, beside: Any) -> Stmt:
                    one, none = k.const(1.0, REAL), k.const(0.0, REAL)
                    rows = [(top, one - behind), (k.minimum(top + 1, last[0]), behind)]
                    columns = [(left, one - beside), (k.minimum(left + 1, last[1]), beside)]
                    inside = k.tir.And(top >= k.index(0), left >= k.index(0))
                    value = k.cast(out.dtype, k.if_then_else(inside, _weighed(pixel, rows, columns), none))
                    before = load(outs[0], *o)
                    return store(outs[0], o, k.maximum(before, value) if is_max else before + value)

                return lets(list(zip(("top", "behind", "left", "beside"), found)), add)

            def every(n: Any) -> Stmt:
                return loop(samples, lambda i: loop(samples, lambda j: fold(n, i, j), "ix"), "iy")

            start = k.lowest(out.dtype) if is_max else k.const(0, out.dtype)
            number = k.index(load(boxes, m, k.index(0)))
            steps = [store(outs[0], o, start), lets([("n", number)], every)]
            return both(*steps) if is_max else both(*steps, store(outs[0], o, load(outs[0], *o) / count))

        return loops(out.shape, element)

    operands = [x, rois, *_places(x, rois, a, 0), *_places(x, rois, a, 1)]
    return extern(k.dims(out.shape), operands, body, "roi_align", out.dtype)


def _with_counts(inputs: Any, a: RoiAlignAttrs, out: Any) -> Any:
    """Bin after bin: the samples are folded into the element of the result."""
    x, rois = inputs
    first = a.layout == "NCHW"
    extents = [k.index(d) for d in (x.shape[2:4] if first else x.shape[1:3])]
    is_max = a.mode == "max"

    def body(ins: Any, outs: Any) -> Stmt:
        data, boxes = ins

        def element(*o: Any) -> Stmt:
            m, c = o[0], o[1] if first else o[3]
            at = o[2:] if first else o[1:3]

            def fold(low: Any, bins: Any, counts: Any) -> Stmt:
                n = k.index(load(boxes, m, k.index(0)))

                def pixel(row: Any, column: Any) -> Any:
                    return load(data, n, c, row, column) if first else load(data, n, row, column, c)

                def place(axis: int, i: Any) -> Any:
                    part = (k.cast(REAL, i) + k.const(0.5, REAL)) * bins[axis] / k.cast(REAL, counts[axis])
                    return low[axis] + k.cast(REAL, at[axis]) * bins[axis] + part

                def add(i: Any, j: Any) -> Stmt:
                    value = k.cast(out.dtype, _sample(pixel, extents, place(0, i), place(1, j)))
                    before = load(outs[0], *o)
                    return store(outs[0], o, k.maximum(before, value) if is_max else before + value)

                start = k.lowest(out.dtype) if is_max else k.const(0, out.dtype)
                steps = [
                    store(outs[0], o, start),
                    loop(counts[0], lambda i: loop(counts[1], lambda j: add(i, j), "ix"), "iy"),
                ]
                if not is_max:
                    count = k.cast(out.dtype, k.maximum(counts[0] * counts[1], k.index(1)))
                    steps.append(store(outs[0], o, load(outs[0], *o) / count))
                return both(*steps)

            return _with_bins(boxes, m, a, fold)

        return loops(out.shape, element)

    return extern(k.dims(out.shape), [x, rois], body, "roi_align", out.dtype)


def _with_bins(boxes: Any, m: Any, a: RoiAlignAttrs, body: Callable[[Any, Any, Any], Stmt]) -> Stmt:
    """`body(low corner, extents of a bin, samples of a bin)`, rows first."""
    scale, one = k.const(float(a.spatial_scale), REAL), k.const(1.0, REAL)
    half = k.const(0.5, REAL)
    values: list[tuple[str, Any]] = []
    for name, low, high in (("y", 2, 4), ("x", 1, 3)):
        places = [corner(boxes, m, column) * scale for column in (low, high)]
        values += zip((f"{name}_low", f"{name}_high"), [p - half for p in places] if a.aligned else places)

    def with_extents(y0: Any, y1: Any, x0: Any, x1: Any) -> Stmt:
        sizes = [h - lo if a.aligned else k.maximum(h - lo, one) for lo, h in ((y0, y1), (x0, x1))]
        bins = [s / k.const(float(n), REAL) for s, n in zip(sizes, a.pooled_size)]

        def with_counts(by: Any, bx: Any) -> Stmt:
            if a.sample_ratio > 0:
                return body((y0, x0), (by, bx), [k.index(a.sample_ratio)] * 2)
            return body((y0, x0), (by, bx), [k.maximum(k.cast("int64", k.ceil(b)), k.index(0)) for b in (by, bx)])

        return lets([("y_bin", bins[0]), ("x_bin", bins[1])], with_counts)

    return lets(values, with_extents)


def _sample(pixel: Callable[[Any, Any], Any], extents: list[Any], v: Any, u: Any) -> Any:
    """The value of an image of `extents` at row `v`, column `u`, between its pixels; 0 outside it."""
    total = _weighed(pixel, *(_neighbours(p, extent) for p, extent in zip((v, u), extents)))
    inside = [t for p, e in zip((v, u), extents) for t in (p >= k.const(-1.0, REAL), p <= k.cast(REAL, e))]
    return k.if_then_else(k.all_of(inside), total, k.const(0.0, REAL))


def _weighed(pixel: Callable[[Any, Any], Any], rows: list[tuple[Any, Any]], columns: list[tuple[Any, Any]]) -> Any:
    """The sum of the pixels where rows and columns cross, each times the weights of both."""
    total: Any = k.const(0.0, REAL)
    for row, by_row in rows:
        for column, by_column in columns:
            total = total + k.cast(REAL, pixel(row, column)) * by_row * by_column
    return total


def _neighbours(place: Any, extent: Any) -> list[tuple[Any, Any]]:
    """The two pixels next to a place along one axis, and their weights; places are pulled onto the image."""
    last = k.cast(REAL, extent - k.index(1))
    at = k.minimum(k.maximum(place, k.const(0.0, REAL)), last)
    low = k.floor(at)
    part = at - low
    first = k.cast("int64", low)
    return [(first, k.const(1.0, REAL) - part), (k.minimum(first + 1, extent - k.index(1)), part)]


def reference(inputs: Any, a: RoiAlignAttrs) -> Any:
    """Sample by sample."""
    x, rois = inputs
    images = (x if a.layout == "NCHW" else np.moveaxis(x, 3, 1)).astype(REAL)
    found = np.zeros((len(rois), images.shape[1], *a.pooled_size), REAL)
    for m, roi in enumerate(rois.astype(REAL)):
        image = images[int(roi[0])]
        x0, y0, x1, y1 = (v * np.float32(a.spatial_scale) - np.float32(0.5 * a.aligned) for v in roi[1:])
        least = np.float32(-np.inf if a.aligned else 1)
        bins = [max(h - lo, least) / np.float32(n) for lo, h, n in zip((y0, x0), (y1, x1), a.pooled_size)]
        counts = [a.sample_ratio if a.sample_ratio > 0 else max(math.ceil(b), 0) for b in bins]
        for i, j in np.ndindex(*a.pooled_size):
            rows = [y0 + np.float32(i + (n + 0.5) / counts[0]) * bins[0] for n in range(counts[0])]
            columns = [x0 + np.float32(j + (n + 0.5) / counts[1]) * bins[1] for n in range(counts[1])]
            values = np.stack([_sampled(image, v, u) for v in rows for u in columns] or [image[:, 0, 0] * 0])
            found[m, :, i, j] = values.max(axis=0) if a.mode == "max" else values.mean(axis=0)
    return np.ascontiguousarray(found if a.layout == "NCHW" else np.moveaxis(found, 1, 3)).astype(x.dtype)


def _sampled(image: Any, v: Any, u: Any) -> Any:
    height, width = image.shape[1:]
    if not (-1 <= v <= height and -1 <= u <= width):
        return np.zeros(image.shape[0], image.dtype)
    total: Any = 0
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
    layout=anchor("layout", blocks=False, only=LAYOUTS),
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
