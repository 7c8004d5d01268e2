"""nn.conv2d_backward_weight as products of matrices.

    dw[o, c, r] = sum over n, s of grad[n, o, s] * x[n, c, s * stride + r * dilation - begin]

With places (n, s) as rows and channels last, what each place r of the kernel meets is a part of the data, and
dw[:, :, r] a product of matrices, one for each group. As one loop over all places it had no vectors. Of very few
channels all that is met is written in rows instead, one for each channel and place. Other layouts are transposed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.ops.nn.convolution.geometry import Geometry, kernel_size
from baton._src.ops.nn.convolution.weight_gradient_planes import MOST_CHANNELS
from baton._src.ops.said_dims import said_dims

_WIDE = 64
"""From so many channels on, what all places of the kernel meet is written side by side, for one product: it reads the
gradient once. With fewer channels, rows are so short that copying takes longer than the products."""
_FEW = 8
"""Fewer channels than this are rows."""


def decompose(b: CallMaker, args: Exprs, a: Geometry, out: TensorInfo) -> GraphExpr | None:
    """The products; None for groups of few channels, integers, or shapes that are not known one by one."""
    grad, x = args
    given, read = (said_dims(arg.struct_info_) for arg in args)
    same = grad.struct_info.dtype == x.struct_info.dtype == out.dtype and out.dtype.is_float
    if not same or given is None or read is None:
        return None
    layouts = (a.out_layout or a.data_layout, a.data_layout, a.kernel_layout)
    if layouts != ("NCHW", "NCHW", "OIHW"):
        return _transposed(b, args, a, layouts)
    channels = getattr(read[1], "value", None)
    if a.groups != 1:
        if channels is None or channels // a.groups < MOST_CHANNELS:
            return None
        return _of_groups(b, grad, x, a, given, channels)
    slopes = b.op("reshape", b.op("permute_dims", grad, axes=(1, 0, 2, 3)), b.shape((given[1], _count(given))))
    if channels is not None and channels < _FEW:
        return _by_rows(b, slopes, x, a, given, channels)
    met = [b.op("reshape", part, b.shape((_count(given), read[1]))) for part in _parts(b, x, a, given[2:])]
    if channels is not None and channels >= _WIDE:
        found = b.op("matmul", slopes, b.op("concat", b.tuple(*met), axis=1))
    else:
        found = b.op("stack", b.tuple(*(b.op("matmul", slopes, m) for m in met)), axis=1)
    found = b.op("reshape", found, b.shape((given[1], *kernel_size(a), read[1])))
    return b.op("permute_dims", found, axes=(0, 3, 1, 2))


def decompose_volumes(b: CallMaker, args: Exprs, a: Geometry, out: TensorInfo) -> GraphExpr | None:
    """Slices of volumes are images: one gradient of two axes for each place of the kernel along the first one."""
    grad, x = args
    given, read = (said_dims(arg.struct_info_) for arg in args)
    layouts = (a.out_layout or a.data_layout, a.data_layout, a.kernel_layout)
    if given is None or read is None or layouts != ("NCDHW", "NCDHW", "OIDHW"):
        return None
    front, back = a.padding[0], a.padding[3]
    if front or back:
        x = b.op("nn.pad", x, pad_width=((0, 0), (0, 0), (front, back), (0, 0), (0, 0)))
    slopes = _slices(b, grad, given, given[2])
    geometry = {name: getattr(a, name)[1:] for name in ("strides", "dilation", "kernel_size")}
    found = []
    for place in range(kernel_size(a)[0]):
        begin = place * a.dilation[0]
        end = begin + (given[2] - 1) * a.strides[0] + 1
        met = _slices(b, b.op("strided_slice", x, (2,), (begin,), (end,), (a.strides[0],)), read, given[2])
        padding = (*a.padding[1:3], *a.padding[4:])
        found.append(b.op("nn.conv2d_backward_weight", slopes, met, padding=padding, groups=a.groups, **geometry))
    return b.op("stack", b.tuple(*found), axis=2)


def _slices(b: CallMaker, x: GraphExpr, shape: Sequence[Dim], depth: Dim) -> GraphExpr:
    """(images, channels, depth, height, width) as (images * depth, channels, height, width)."""
    turned = b.op("permute_dims", x, axes=(0, 2, 1, 3, 4))
    return b.op("reshape", turned, b.shape((shape[0] * depth, shape[1], *shape[3:])))


def _count(given: Sequence[Dim]) -> Dim:
    """Places of all images."""
    images, _, *places = given
    return prod(places, start=images)


def _transposed(b: CallMaker, args: Exprs, a: Geometry, layouts: Sequence[str]) -> GraphExpr | None:
    """The same with channels first; None for layouts with blocks."""
    if any(sorted(layout) != sorted(plain) for layout, plain in zip(layouts, ("NCHW", "NCHW", "OIHW"))):
        return None
    first = [
        b.op("permute_dims", arg, axes=tuple(layout.index(letter) for letter in "NCHW"))
        for arg, layout in zip(args, layouts)
    ]
    names = ("strides", "padding", "dilation", "groups", "channels", "kernel_size", "out_dtype")
    found = b.op("nn.conv2d_backward_weight", *first, **{name: getattr(a, name) for name in names})
    return b.op("permute_dims", found, axes=tuple("OIHW".index(letter) for letter in layouts[2]))


def _of_groups(
    b: CallMaker, grad: GraphExpr, x: GraphExpr, a: Geometry, given: Sequence[Dim], channels: int
) -> GraphExpr:
    """A product for each group and place."""
    images, outputs, *places = given
    each, inner = outputs // a.groups, channels // a.groups
    slopes = b.op("reshape", grad, b.shape((images, a.groups, each, prod(places))))
    slopes = b.op("permute_dims", slopes, axes=(1, 2, 0, 3))
    slopes = b.op("reshape", slopes, b.shape((a.groups, each, _count(given))))
    products = []
    for part in _parts(b, x, a, places):
        rows = b.op("reshape", part, b.shape((_count(given), a.groups, inner)))
        products.append(b.op("matmul", slopes, b.op("permute_dims", rows, axes=(1, 0, 2))))
    found = b.op("reshape", b.op("stack", b.tuple(*products), axis=0), b.shape((len(products), outputs * inner)))
    return b.op("reshape", b.op("permute_dims", found, axes=(1, 0)), b.shape((outputs, inner, *kernel_size(a))))


def _by_rows(
    b: CallMaker, slopes: GraphExpr, x: GraphExpr, a: Geometry, given: Sequence[Dim], channels: int
) -> GraphExpr:
    """Products of rows: each reads memory in order."""
    seen = _with_borders(b, b.op("permute_dims", x, axes=(1, 0, 2, 3)), a, 2)
    count = _count(given)
    met = [b.op("reshape", part, b.shape((channels, count))) for part in _places(b, seen, a, given[2:], 2)]
    rows = b.op("reshape", b.op("stack", b.tuple(*met), axis=1), b.shape((channels * len(met), count)))
    return b.op("reshape", b.op("nn.dense", slopes, rows), b.shape((given[1], channels, *kernel_size(a))))


def _parts(b: CallMaker, x: GraphExpr, a: Geometry, places: Sequence[Dim]) -> list[GraphExpr]:
    """What each place of the kernel meets, channels last."""
    return _places(b, _with_borders(b, b.op("permute_dims", x, axes=(0, 2, 3, 1)), a, 1), a, places, 1)


def _with_borders(b: CallMaker, x: GraphExpr, a: Geometry, axis: int) -> GraphExpr:
    """Padded along the axis and the one after it."""
    top, left, bottom, right = a.padding
    if not any(a.padding):
        return x
    width = [(0, 0)] * 4
    width[axis : axis + 2] = (top, bottom), (left, right)
    return b.op("nn.pad", x, pad_width=tuple(width))


def _places(b: CallMaker, seen: GraphExpr, a: Geometry, places: Sequence[Dim], axis: int) -> list[GraphExpr]:
    """What each place of the kernel meets, along the axis and the one after it."""
    found = []
    for place in np.ndindex(*kernel_size(a)):
        begins = [at * d for at, d in zip(place, a.dilation)]
        ends = [begin + (n - 1) * s + 1 for begin, n, s in zip(begins, places, a.strides)]
        found.append(b.op("strided_slice", seen, (axis, axis + 1), tuple(begins), tuple(ends), a.strides))
    return found
