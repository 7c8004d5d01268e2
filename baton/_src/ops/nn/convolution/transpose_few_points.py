"""nn.conv2d_transpose of images of a few points as one product of matrices.

    out[n, o, y] = sum over c, r of x[n, c, y + begin - r * dilation] * w[c, o, r]

What all places of the kernel meet is written side by side, channels last, which is little; the kernel is read once. The
deepest layers of small images are such when they are trained: a loop over fewer points than a vector has lanes has no
vectors.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.ops.dims import as_dims
from baton._src.ops.nn.convolution.geometry import Geometry
from baton._src.ops.said_dims import said_dims

_POINTS = 16
"""Up to so many points; convolutions of more have vectors of them that pay."""


def decompose(b: CallMaker, args: Exprs, a: Geometry, out: TensorInfo) -> GraphExpr | None:
    """The product; None for larger images, strides, groups, other layouts, integers, or shapes that are not known."""
    x, w = args
    shapes = [shape for arg in args if (shape := said_dims(arg.struct_info_)) is not None]
    known = None if out.shape is None or len(shapes) < len(args) else _numbers(*shapes, out.shape[1:])
    same = x.struct_info.dtype == w.struct_info.dtype == out.dtype and out.dtype.is_float
    plain = (a.data_layout, a.kernel_layout, a.out_layout or a.data_layout) == ("NCHW", "IOHW", "NCHW")
    if known is None or not same or not plain or a.groups != 1 or any(s != 1 for s in a.strides):
        return None
    (images, channels, *image), (_, outputs, *kernel), (_, *result) = known
    reach = [(n - 1) * d for n, d in zip(kernel, a.dilation)]
    borders = [(r - begin, y - (n + r - begin) + r) for r, begin, y, n in zip(reach, a.padding, result, image)]
    if not 0 < prod(result) <= _POINTS or min(map(min, borders)) < 0:
        return None
    seen = b.op("nn.pad", b.op("permute_dims", x, axes=(0, 2, 3, 1)), pad_width=((0, 0), *borders, (0, 0)))
    met = []
    for place in reversed(list(np.ndindex(*kernel))):
        begins = tuple(at * d for at, d in zip(place, a.dilation))
        ends = tuple(begin + n for begin, n in zip(begins, result))
        part = b.op("strided_slice", seen, (1, 2), begins, ends, (1, 1))
        met.append(b.op("reshape", part, b.shape((images * prod(result), channels))))
    rows = b.op("concat", b.tuple(*met), axis=1)
    flat = b.op("reshape", w, b.shape((channels * outputs, prod(kernel))))
    matrix = b.op("reshape", b.op("permute_dims", flat, axes=(1, 0)), b.shape((prod(kernel) * channels, outputs)))
    found = b.op("reshape", b.op("matmul", rows, matrix), b.shape((images, *result, outputs)))
    return b.op("permute_dims", found, axes=(0, 3, 1, 2))


def _numbers(*shapes: Sequence[Dim]) -> list[list[int]] | None:
    """Shapes as numbers, if all are."""
    found = [[d for d in as_dims(shape) if isinstance(d, int)] for shape in shapes]
    return found if [len(shape) for shape in found] == [len(shape) for shape in shapes] else None
