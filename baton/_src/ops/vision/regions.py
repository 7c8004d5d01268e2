"""What roi_align and roi_pool share: boxes of images, each divided into bins, one value a bin and channel.

data, rois (m, 5): index of the image, x1, y1, x2, y2 in pixels of the input -> (m, channels, rows, columns)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from baton._src.ir.attrs import Attrs
from baton._src.ir.op_def import OpCall
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.image.crop_and_resize import crops_shape
from baton._src.ops.loop_nests import load
from baton._src.ops.operand_checks import check_floats, check_ranks
from baton._src.ops.samples import Arr
from baton._src.tir.buffer import Buffer

REAL = "float32"
"""What coordinates are computed in."""
LAYOUTS = ("NCHW", "NHWC")


class RoiAttrs(Attrs):
    """What the attributes of poolings over boxes have."""

    pooled_size: tuple[int, ...]
    spatial_scale: float
    layout: str


def as_pooled_size(size: int | Sequence[int]) -> tuple[int, ...]:
    """Rows and columns of bins; one number is both."""
    return (int(size),) * 2 if isinstance(size, int) else tuple(int(d) for d in size)


def infer(call: OpCall[RoiAttrs]) -> Info:
    """One image of bins for each box."""
    x, rois, a = call.tensor(0), call.tensor(1), call.attrs
    if a.layout not in LAYOUTS or getattr(a, "mode", "avg") not in ("avg", "max"):
        call.fail(f"layout {a.layout!r} or mode {getattr(a, 'mode', '')!r} is not known", code="op-attribute")
    if len(a.pooled_size) != 2 or min(a.pooled_size) < 1:
        call.fail(f"pooled_size must be two positive numbers, got {a.pooled_size}", code="op-attribute")
    if not math.isfinite(a.spatial_scale):
        call.fail(f"spatial_scale must be a finite number, got {a.spatial_scale}", code="op-attribute")
    check_ranks(call, 4, 2)
    check_floats(call, 0, 1)
    if x.shape is None or rois.shape is None:
        return TensorInfo(None, x.dtype, 4, x.vdevice)
    if DimMath(call.prover).equal(rois.shape[1], 5) is False:
        call.fail(f"rois must be rows of five (image, x1, y1, x2, y2), got {show_shape(rois.shape)}")
    return TensorInfo(crops_shape(call, a.layout, x.shape, rois.shape[0], a.pooled_size), x.dtype, vdevice=x.vdevice)


def corner(rois: Buffer, m: k.Scalar, column: int) -> k.Scalar:
    """A coordinate of box `m`."""
    return k.cast(REAL, load(rois, m, k.index(column)))


ROIS = Arr((4, 5), values=((1, 1, 2, 9, 8), (0, 0, 0, 3, 3), (1, -3, 4, 30, 5.5), (0, 6, 7, 2, 1)))
"""Boxes for samples: within images, beyond them and upside down."""
