"""PhasesOfTransposed: transposed convolutions with constant kernels as convolutions, one for each phase of the stride.

    lv = R.nn.conv2d_transpose(x, W, strides=[2, 2], padding=[1, 1, 1, 1])          W: (I, O, 4, 4)
    ->
    lv = R.nn.conv2d(x, V, padding=...)                  V: (O * 2 * 2, I, 2, 2), every second tap, mirrored
    lv1 = R.permute_dims(R.reshape(lv, ...), ...)        (N, O, 2, 2, H, W) to (N, O, H, 2, W, 2)
    gv = R.strided_slice(R.reshape(lv1, ...), ...)       what the padding cuts off

Result y[s * q + r] sees x[q - t] through tap s * t + r: for each phase r a convolution of its own, and all of them one
with s times as many output channels. No multiplication is spent on the zeros that spreading the data would insert; a
kernel that the stride does not divide is padded with zero taps. Left alone: kernels that are no constants, dilation,
other layouts, and small strides over larger maps of known extents in one group, which the schedule `conv_phases`
handles directly, unless each phase has one tap. Batch and map may be symbolic.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.nn.convolution.transpose import ConvTransposeAttrs
from baton._src.ops.windows import SPATIAL
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.call_pass import CallPass
from baton._src.relax.nodes import Call, Constant, ShapeExpr
from baton._src.relax.struct_info import StructInfo, TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import IntImm
from baton._src.values.tensor import AnyArray

LARGE_MAP, SMALL_STRIDE = 32, 4
"""Points of the data from which on, and steps up to which, phases are left to a schedule of their own."""
NEAR = 1 << 21
"""Elements of a result that are written and read again from a cache."""
LONG_ROW, BLOCK = 32, 16
"""Points of a row from which on vectors of points are full, and channels that are computed together in blocks."""


@dataclass(frozen=True)
class PhasesOfTransposed(CallPass):
    """See the module."""

    opt_level = 2

    def replaced(self, call: Call, at: BindingRewriter) -> Any:
        """A transposed convolution as an ordinary one."""
        axes = _axes(call)
        return call if axes is None else _as_convolution(call, axes)


@dataclass(frozen=True)
class Phases:
    """One axis: `stride` phases of `taps` taps. The convolution's result starts at phase 0 of point `first`; `cut`
    elements are too many at the beginning, `extent` are wanted.
    """

    stride: int
    taps: int
    begin: int
    end: int
    points: PrimExpr
    cut: int
    extent: PrimExpr

    @staticmethod
    def of(inputs: PrimExpr, outputs: PrimExpr, kernel: int, stride: int, padding: tuple[int, int]) -> Phases:
        """From the extents of data, result and kernel and the geometry of the transposed convolution, whose `padding`
        is what is cut off at both ends (less than nothing where the result is longer).
        """
        before, after = padding
        taps = -(-kernel // stride)
        first = min(before // stride, taps - 1)
        begin = taps - 1 - first
        beyond = -(-(kernel - after) // stride) - 1 - first  # points wanted that no input has
        end = max(0, beyond - begin + taps - 1)
        points = ops.add(inputs, tir.IntImm(inputs.dtype, begin + end - taps + 1))
        return Phases(stride, taps, begin, end, points, before - stride * first, outputs)

    @property
    def whole(self) -> PrimExpr:
        """All elements of all phases."""
        return ops.multiply(self.points, tir.IntImm(self.points.dtype, self.stride))

    @property
    def ends_with_phases(self) -> bool:
        """Whether there is nothing to cut off."""
        return not self.cut and Analyzer().equal(self.whole, self.extent) is True


def _axes(call: Call) -> list[Phases] | None:
    a = call.attrs
    if not isinstance(a, ConvTransposeAttrs) or not isinstance(call.args[1], Constant):
        return None
    data, weight = call.args
    letters = SPATIAL[a.spatial]
    layouts = (a.data_layout, a.kernel_layout, a.out_layout or a.data_layout)
    if layouts != (f"NC{letters}", f"IO{letters}", f"NC{letters}") or any(d != 1 for d in a.dilation):
        return None
    before, after = _map(data.struct_info, a.spatial), _map(call.struct_info, a.spatial)
    if before is None or after is None or data.struct_info.dtype != call.struct_info.dtype:
        return None
    kernel = weight.data.shape[2:]
    small = a.groups == 1 and 1 < max(a.strides) <= SMALL_STRIDE
    whole = _is_blocked(a, weight.data.shape, before) or _is_product(a, kernel, call.struct_info)
    if small and (_count(before) or 0) >= LARGE_MAP and not whole:
        return None  # the schedule `conv_phases` computes each phase by the taps it has, and writes them in place
    begins, ends = a.padding[: a.spatial], (p - more for p, more in zip(a.padding[a.spatial :], a.output_padding))
    return [Phases.of(*each) for each in zip(before, after, kernel, a.strides, zip(begins, ends))]


def _is_blocked(a: ConvTransposeAttrs, kernel: tuple[int, ...], points: list[PrimExpr]) -> bool:
    """Whether an image with short rows becomes a convolution over whole blocks of channels, without zero taps."""
    inputs, outputs, *taps = kernel
    whole = all(k % s == 0 for k, s in zip(taps, a.strides))
    blocks = inputs % BLOCK == 0 and outputs * prod(a.strides) % BLOCK == 0
    row = points[-1]
    return a.spatial == 2 and whole and blocks and isinstance(row, IntImm) and row.value < LONG_ROW


def _is_product(a: ConvTransposeAttrs, kernel: tuple[int, ...], result: StructInfo) -> bool:
    """Whether each phase sees one point through one tap, so that all of them are one product of matrices, of which the
    cache holds the result until its phases are put side by side.
    """
    size = _count(list(result.shape.values)) if isinstance(result, TensorStructInfo) and result.shape else None
    cut = any(a.padding) or any(a.output_padding)
    return kernel == tuple(a.strides) and not cut and size is not None and size <= NEAR


def _count(dims: list[PrimExpr]) -> int | None:
    """The points of a map, if all its extents are known."""
    return prod(d.value for d in dims if isinstance(d, IntImm)) if all(isinstance(d, IntImm) for d in dims) else None


def _map(info: StructInfo, spatial: int) -> list[PrimExpr] | None:
    """The spatial extents of a tensor of known channels, floats."""
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr) or not info.dtype.is_float:
        return None
    dims = info.shape.values[1:]
    return list(dims[1:]) if len(dims) == spatial + 1 and isinstance(dims[0], IntImm) else None


def _as_convolution(call: Call, axes: list[Phases]) -> Any:
    a, (data, weight) = call.attrs, call.args
    count, groups = a.spatial, a.groups
    make = RelaxMaker(CATALOGUE.get("reshape"), CATALOGUE)
    packed = Constant(phases_of(weight.data.data, axes, groups))
    padding = (*(p.begin for p in axes), *(p.end for p in axes))
    found = make.op(f"nn.conv{count}d", data, packed, padding=padding, groups=groups, out_dtype=a.out_dtype)
    batch, channels = call.struct_info.shape.values[:2]
    points, strides = [p.points for p in axes], [p.stride for p in axes]
    if prod(strides) > 1:
        apart = make(found, make.shape((batch, channels, *strides, *points)))
        order = [n for i in range(count) for n in (2 + count + i, 2 + i)]
        adjacent = make.op("permute_dims", apart, axes=(0, 1, *order))
        found = make(adjacent, make.shape((batch, channels, *(p.whole for p in axes))))
    cut = [(i + 2, p) for i, p in enumerate(axes) if not p.ends_with_phases]
    if not cut:
        return found
    begins = tuple(p.cut for _, p in cut)
    ends = tuple(ops.add(p.extent, tir.IntImm(p.extent.dtype, p.cut)) for _, p in cut)
    return make.op("strided_slice", found, tuple(i for i, _ in cut), begins, ends)


def phases_of(weight: AnyArray, axes: list[Phases], groups: int) -> AnyArray:
    """A kernel (I, O / groups, spatial...) as that of the convolution: (O * strides, I / groups, taps...)."""
    inputs, each = weight.shape[:2]
    count = len(axes)
    missing = [(0, p.stride * p.taps - k) for p, k in zip(axes, weight.shape[2:])]
    whole = np.pad(weight, [(0, 0), (0, 0), *missing])
    split = [n for p in axes for n in (p.taps, p.stride)]
    apart = whole.reshape(groups, inputs // groups, each, *split)
    apart = np.flip(apart, tuple(3 + 2 * i for i in range(count)))
    taps, strides = [3 + 2 * i for i in range(count)], [4 + 2 * i for i in range(count)]
    moved = apart.transpose(0, 2, *strides, 1, *taps)
    outputs = groups * each * prod(p.stride for p in axes)
    return np.ascontiguousarray(moved).reshape(outputs, inputs // groups, *(p.taps for p in axes))
