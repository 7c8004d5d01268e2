"""vision.roi_pool: boxes of images, each divided into bins of whole pixels, the maximum of each bin and channel.

    data, rois (m, 5): index of the image, x1, y1, x2, y2 in pixels of the input -> (m, channels, rows, columns)

Coordinates are scaled by `spatial_scale` and rounded; an empty bin gives 0. Source: facts relay-language §6 level 5.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpDef
from baton._src.ops import kernel_words as k
from baton._src.ops.canonical_axes import image_of
from baton._src.ops.elementwise.casts import convert
from baton._src.ops.layouts import Anchor
from baton._src.ops.loop_nests import both, lets, load, loop, loops, store, when
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.vision.regions import LAYOUTS, REAL, ROIS, RoiAttrs, as_pooled_size, corner, infer
from baton._src.te.computation import extern
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import INT64
from baton._src.values.tensor import AnyArray


@attrs
class RoiPoolAttrs(RoiAttrs):
    """Bins and scale."""

    pooled_size: tuple[int, ...] = attr(doc="rows and columns of bins")
    spatial_scale: float = attr(doc="pixels of the data per pixel of the boxes")
    layout: str = attr("NCHW", "NCHW or NHWC")

    def __post_init__(self) -> None:
        set_attr(self, "pooled_size", as_pooled_size(self.pooled_size))


def compute(inputs: Sequence[k.Tensor], a: RoiPoolAttrs, out: k.Result) -> k.Tensor:
    """Bin after bin: the largest pixel, 0 if there is none."""
    x, rois = inputs
    first = a.layout == "NCHW"
    extents = x.shape[2:4] if first else x.shape[1:3]
    scale = k.const(float(a.spatial_scale), REAL)

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        data, boxes = ins

        def element(*o: k.Scalar) -> Stmt:
            m, c, i, j = o if first else (o[0], o[3], o[1], o[2])
            values = []
            for name, low in (("y", 2), ("x", 1)):
                for end, column in (("low", low), ("high", low + 2)):
                    place = k.call("round", corner(boxes, m, column) * scale)
                    values.append((f"{name}_{end}", k.cast("int64", place)))

            def fold(y0: k.Scalar, y1: k.Scalar, x0: k.Scalar, x1: k.Scalar) -> Stmt:
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

                def take(v: k.Scalar, u: k.Scalar) -> Stmt:
                    row, column = top + v, left + u
                    pixel = load(data, n, c, row, column) if first else load(data, n, row, column, c)
                    return store(outs[0], o, k.maximum(load(outs[0], *o), pixel))

                fill = store(outs[0], o, k.select(empty, k.const(0, out.dtype), k.lowest(out.dtype)))
                every = loop(bottom - top, lambda v: loop(right - left, lambda u: take(v, u), "u"), "v")
                return both(fill, when(k.tir.Not(empty), every))

            return lets(values, fold)

        return loops(out.shape, element)

    return extern(k.dims(out.shape), [x, rois], body, "roi_pool", out.dtype)


def reference(inputs: Sequence[AnyArray], a: RoiPoolAttrs) -> AnyArray:
    """Bin by bin."""
    x, rois = inputs
    x = x if a.layout == "NCHW" else np.moveaxis(x, 3, 1)
    found = np.zeros((len(rois), x.shape[1], *a.pooled_size), x.dtype)
    for m, roi in enumerate(rois.astype(REAL)):
        places = roi[1:] * np.float32(a.spatial_scale)
        x0, y0, x1, y1 = map(int, convert(np.copysign(np.floor(np.abs(places) + np.float32(0.5)), places), INT64))
        image = image_of(x, roi[0])
        for at in np.ndindex(*a.pooled_size):
            cut = []
            for p, lo, hi, bins, extent in zip(at, (y0, x0), (y1, x1), a.pooled_size, x.shape[2:]):
                size = max(hi - lo + 1, 1)
                ends = (lo + p * size // bins, lo - (-(p + 1) * size // bins))
                cut.append(slice(*(max(min(e, extent), 0) for e in ends)))
            window = image[:, cut[0], cut[1]]
            found[(m, slice(None), *at)] = window.max(axis=(1, 2)) if 0 not in window.shape[1:] else 0
    return np.ascontiguousarray(found if a.layout == "NCHW" else np.moveaxis(found, 1, 3))


ROI_POOL = OpDef(
    "vision.roi_pool",
    RoiPoolAttrs,
    inputs=(Input("data"), Input("rois", "rows of image, x1, y1, x2, y2")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.OPAQUE,
    layout=Anchor("layout", blocks=False, only=LAYOUTS),
    in_relax=False,
    samples=lambda: (
        Sample((Arr((2, "m", 7, 9)), ROIS), RoiPoolAttrs((2, 3), 0.5)),
        Sample((Arr((2, 7, 9, "m")), ROIS), RoiPoolAttrs((2, 3), 0.5, "NHWC")),
        Sample((Arr((2, 3, 7, 9)), ROIS), RoiPoolAttrs((4, 4), 1.0)),
    ),
    summary="RoI pooling: the maximum over each bin of each box.",
)
