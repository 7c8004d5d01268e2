"""vision.roi_align and vision.roi_pool: boxes of images, each divided into bins, one value a bin and channel.

    data, rois (m, 5): index of the image, x1, y1, x2, y2 in pixels of the input -> (m, channels, rows, columns)

roi_align samples each bin bilinearly at a grid of points and takes their mean or maximum; roi_pool takes the maximum of
the pixels in whole-pixel bins (0 for an empty one). Coordinates are scaled by `spatial_scale`. With `sample_ratio` 0 or
less a bin of an extent of e pixels has ceil(e) samples along that axis. Source: facts relay-language §6 level 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import check_floats
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.layouts import anchor
from baton._src.ops.loop_nests import both, let, load, loop, loops, store, when
from baton._src.ops.samples import Arr, Sample
from baton._src.te.computation import extern
from baton._src.tir.stmt import Stmt

_REAL = "float32"
_LAYOUTS = ("NCHW", "NHWC")


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
        size = self.pooled_size
        set_attr(self, "pooled_size", (size, size) if isinstance(size, int) else tuple(int(d) for d in size))


@attrs
class RoiPoolAttrs(Attrs):
    """Bins and scale."""

    pooled_size: Any = attr(doc="rows and columns of bins")
    spatial_scale: float = attr(doc="pixels of the data per pixel of the boxes")
    layout: str = attr("NCHW", "NCHW or NHWC")

    def __post_init__(self) -> None:
        size = self.pooled_size
        set_attr(self, "pooled_size", (size, size) if isinstance(size, int) else tuple(int(d) for d in size))


def infer(call: OpCall[Any]) -> Info:
    """One image of bins for each box."""
    x, rois, a = call.tensor(0), call.tensor(1), call.attrs
    if a.layout not in _LAYOUTS or getattr(a, "mode", "avg") not in ("avg", "max"):
        call.fail(f"layout {a.layout!r} or mode {getattr(a, 'mode', '')!r} is not known", code="op-attribute")
    if len(a.pooled_size) != 2 or min(a.pooled_size) < 1:
        call.fail(f"pooled_size must be two positive numbers, got {a.pooled_size}", code="op-attribute")
    for t, rank, name in ((x, 4, "data"), (rois, 2, "rois")):
        if t.ndim not in (-1, rank):
            call.fail(f"{name} must have rank {rank}, got {show_shape(t.shape, t.ndim)}")
    check_floats(call, 0, 1)
    if x.shape is None or rois.shape is None:
        return TensorInfo(None, x.dtype, 4, x.vdevice)
    if DimMath(call.prover).equal(rois.shape[1], 5) is False:
        call.fail(f"rois must be rows of five (image, x1, y1, x2, y2), got {show_shape(rois.shape)}")
    count, size = rois.shape[0], a.pooled_size
    images = (x.shape[0], *(x.shape[a.layout.index(letter)] for letter in "HW"))
    if 0 in images and isinstance(count, int) and count > 0:
        call.fail(f"data {show_shape(x.shape)} has no elements that {count} rois could name")
    shape = (count, x.shape[1], *size) if a.layout == "NCHW" else (count, *size, x.shape[3])
    return TensorInfo(shape, x.dtype, vdevice=x.vdevice)


def _corner(rois: Any, m: Any, column: int) -> Any:
    return k.cast(_REAL, load(rois, m, k.index(column)))


def _chain(values: list[tuple[str, Any]], body: Callable[..., Stmt]) -> Stmt:
    """`body` of variables that stand for the values, in order."""

    def next_one(rest: list[tuple[str, Any]], seen: list[Any]) -> Stmt:
        if not rest:
            return body(*seen)
        return let(rest[0][0], rest[0][1], lambda v: next_one(rest[1:], [*seen, v]))

    return next_one(values, [])


def compute_align(inputs: Any, a: RoiAlignAttrs, out: Any) -> Any:
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
                    part = (k.cast(_REAL, i) + k.const(0.5, _REAL)) * bins[axis] / k.cast(_REAL, counts[axis])
                    return low[axis] + k.cast(_REAL, at[axis]) * bins[axis] + part

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
    scale, one = k.const(float(a.spatial_scale), _REAL), k.const(1.0, _REAL)
    half = k.const(0.5, _REAL)
    values: list[tuple[str, Any]] = []
    for name, low, high in (("y", 2, 4), ("x", 1, 3)):
        places = [_corner(boxes, m, column) * scale for column in (low, high)]
        values += zip((f"{name}_low", f"{name}_high"), [p - half for p in places] if a.aligned else places)

    def with_extents(y0: Any, y1: Any, x0: Any, x1: Any) -> Stmt:
        sizes = [h - lo if a.aligned else k.maximum(h - lo, one) for lo, h in ((y0, y1), (x0, x1))]
        bins = [s / k.const(float(n), _REAL) for s, n in zip(sizes, a.pooled_size)]

        def with_counts(by: Any, bx: Any) -> Stmt:
            if a.sample_ratio > 0:
                return body((y0, x0), (by, bx), [k.index(a.sample_ratio)] * 2)
            return body((y0, x0), (by, bx), [k.maximum(k.cast("int64", k.ceil(b)), k.index(0)) for b in (by, bx)])

        return _chain([("y_bin", bins[0]), ("x_bin", bins[1])], with_counts)

    return _chain(values, with_extents)


def _sample(pixel: Callable[[Any, Any], Any], extents: list[Any], v: Any, u: Any) -> Any:
    """The value of an image of `extents` at row `v`, column `u`, between its pixels; 0 outside it."""
    corners = [_neighbours(p, extent) for p, extent in zip((v, u), extents)]
    total: Any = k.const(0.0, _REAL)
    for row, by_row in corners[0]:
        for column, by_column in corners[1]:
            total = total + k.cast(_REAL, pixel(row, column)) * by_row * by_column
    inside = [t for p, e in zip((v, u), extents) for t in (p >= k.const(-1.0, _REAL), p <= k.cast(_REAL, e))]
    return k.if_then_else(k.all_of(inside), total, k.const(0.0, _REAL))


def _neighbours(place: Any, extent: Any) -> list[tuple[Any, Any]]:
    """The two pixels next to a place along one axis, and their weights; places are pulled onto the image."""
    last = k.cast(_REAL, extent - k.index(1))
    at = k.minimum(k.maximum(place, k.const(0.0, _REAL)), last)
    low = k.floor(at)
    part = at - low
    first = k.cast("int64", low)
    return [(first, k.const(1.0, _REAL) - part), (k.minimum(first + 1, extent - k.index(1)), part)]


def reference_align(inputs: Any, a: RoiAlignAttrs) -> Any:
    """Sample by sample."""
    x, rois = inputs
    images = (x if a.layout == "NCHW" else np.moveaxis(x, 3, 1)).astype(_REAL)
    found = np.zeros((len(rois), images.shape[1], *a.pooled_size), _REAL)
    for m, roi in enumerate(rois.astype(_REAL)):
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


def compute_pool(inputs: Any, a: RoiPoolAttrs, out: Any) -> Any:
    """Bin after bin: the largest pixel, 0 if there is none."""
    x, rois = inputs
    first = a.layout == "NCHW"
    extents = x.shape[2:4] if first else x.shape[1:3]
    scale = k.const(float(a.spatial_scale), _REAL)

    def body(ins: Any, outs: Any) -> Stmt:
        data, boxes = ins

        def element(*o: Any) -> Stmt:
            m, c, i, j = o if first else (o[0], o[3], o[1], o[2])
            values = []
            for name, low in (("y", 2), ("x", 1)):
                for end, column in (("low", low), ("high", low + 2)):
                    place = k.call("round", _corner(boxes, m, column) * scale)
                    values.append((f"{name}_{end}", k.cast("int64", place)))

            def fold(y0: Any, y1: Any, x0: Any, x1: Any) -> Stmt:
                ranges = []
                for at, (lo, hi), bins, extent in zip((i, j), ((y0, y1), (x0, x1)), a.pooled_size, extents):
                    size = k.maximum(hi - lo + 1, k.index(1))
                    limit = k.index(extent)
                    begin = lo + at * size // bins
                    end = lo + ((at + 1) * size + bins - 1) // bins
                    ranges.append([k.maximum(k.minimum(p, limit), k.index(0)) for p in (begin, end)])
                n = k.index(load(boxes, m, k.index(0)))
                (top, bottom), (left, right) = ranges
                empty = k.tir.Or(bottom <= top, right <= left)

                def take(v: Any, u: Any) -> Stmt:
                    row, column = top + v, left + u
                    pixel = load(data, n, c, row, column) if first else load(data, n, row, column, c)
                    return store(outs[0], o, k.maximum(load(outs[0], *o), pixel))

                fill = store(outs[0], o, k.select(empty, k.const(0, out.dtype), k.lowest(out.dtype)))
                every = loop(bottom - top, lambda v: loop(right - left, lambda u: take(v, u), "u"), "v")
                return both(fill, when(k.tir.Not(empty), every))

            return _chain(values, fold)

        return loops(out.shape, element)

    return extern(k.dims(out.shape), [x, rois], body, "roi_pool", out.dtype)


def reference_pool(inputs: Any, a: RoiPoolAttrs) -> Any:
    """Bin by bin."""
    x, rois = inputs
    x = x if a.layout == "NCHW" else np.moveaxis(x, 3, 1)
    found = np.zeros((len(rois), x.shape[1], *a.pooled_size), x.dtype)
    for m, roi in enumerate(rois.astype(_REAL)):
        places = roi[1:] * np.float32(a.spatial_scale)
        x0, y0, x1, y1 = (int(np.copysign(np.floor(np.abs(p) + 0.5), p)) for p in places)
        for at in np.ndindex(*a.pooled_size):
            cut = []
            for p, lo, hi, bins, extent in zip(at, (y0, x0), (y1, x1), a.pooled_size, x.shape[2:]):
                size = max(hi - lo + 1, 1)
                ends = (lo + p * size // bins, lo - (-(p + 1) * size // bins))
                cut.append(slice(*(max(min(e, extent), 0) for e in ends)))
            window = x[int(roi[0]), :, cut[0], cut[1]]
            found[(m, slice(None), *at)] = window.max(axis=(1, 2)) if 0 not in window.shape[1:] else 0
    return np.ascontiguousarray(found if a.layout == "NCHW" else np.moveaxis(found, 1, 3))


_BOXES = ((1, 1, 2, 9, 8), (0, 0, 0, 3, 3), (1, -3, 4, 30, 5.5), (0, 6, 7, 2, 1))
_ROIS = Arr((4, 5), values=_BOXES)
_SMALL = Arr((3, 5), values=((1, 1, 2, 1.5, 9), (0, 4, 4, 4, 4), (1, 2, 6, 9, 5)))
_NO_SLOPE = NotApplicable("Relay does not offer it")

ROI_ALIGN = OpDef(
    "vision.roi_align",
    RoiAlignAttrs,
    inputs=(Input("data"), Input("rois", "rows of image, x1, y1, x2, y2")),
    infer=infer,
    compute=compute_align,
    reference=reference_align,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    layout=anchor("layout", blocks=False, only=_LAYOUTS),
    in_relax=False,
    samples=lambda: (
        Sample((Arr((2, "m", 7, 9)), _ROIS), RoiAlignAttrs((2, 3), 0.5, 2), rtol=1e-4, atol=1e-5),
        Sample((Arr((2, 3, 7, 9)), _ROIS), RoiAlignAttrs((3, 2), 1.0, mode="max"), rtol=1e-4, atol=1e-5),
        Sample((Arr((2, 7, 9, 2)), _ROIS), RoiAlignAttrs(2, 0.7, layout="NHWC"), rtol=1e-4, atol=1e-5),
        Sample((Arr((2, 3, 7, 9)), _SMALL), RoiAlignAttrs(2, 0.5, aligned=True), rtol=1e-4, atol=1e-5),
    ),
    summary="RoI align: the mean or maximum of bilinear samples in each bin of each box.",
)
ROI_POOL = OpDef(
    "vision.roi_pool",
    RoiPoolAttrs,
    inputs=(Input("data"), Input("rois", "rows of image, x1, y1, x2, y2")),
    infer=infer,
    compute=compute_pool,
    reference=reference_pool,
    gradient=_NO_SLOPE,
    fusion=Fusion.OPAQUE,
    layout=anchor("layout", blocks=False, only=_LAYOUTS),
    in_relax=False,
    samples=lambda: (
        Sample((Arr((2, "m", 7, 9)), _ROIS), RoiPoolAttrs((2, 3), 0.5)),
        Sample((Arr((2, 7, 9, "m")), _ROIS), RoiPoolAttrs((2, 3), 0.5, "NHWC")),
        Sample((Arr((2, 3, 7, 9)), _ROIS), RoiPoolAttrs((4, 4), 1.0)),
    ),
    summary="RoI pooling: the maximum over each bin of each box.",
)

REGIONS: tuple[OpDef[Any], ...] = (ROI_ALIGN, ROI_POOL)
