"""VolumesAsImages: convolutions of volumes with kernels of one slice become convolutions of images.

    gv = R.nn.conv3d(x, W, padding=[0, 1, 1, 0, 1, 1])            x: (N, C, D, H, W), W: (O, C, 1, 3, 3)
    ->
    lv = R.reshape(R.permute_dims(x, [0, 2, 1, 3, 4]), (N * D, C, H, W))
    lv1 = R.nn.conv2d(lv, W', padding=[1, 1, 1, 1])
    gv = R.permute_dims(R.reshape(lv1, ...), [0, 2, 1, 3, 4])

Networks for videos factor their convolutions into such ones and ones along time. Slices are images that Winograd's
algorithm can compute, in blocks of channels (`BlockChannels`); that alone pays for moving them, so only convolutions
for which it is chosen are rewritten. Kernels are constants, sizes are known.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.nn.convolution.convolution import ConvAttrs
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.call_pass import CallPass
from baton._src.passes.relax.layouts.channel_blocks import BY_WINOGRAD, FEWEST, MOVING, block_of_channels
from baton._src.relax.nodes import Call, Constant, Function, ShapeExpr
from baton._src.relax.struct_info import StructInfo, TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm
from baton._src.transform.context import PassContext

_MOVES = 2
"""How often each element is moved: between volumes and images, and between images and blocks."""


@dataclass(frozen=True)
class VolumesAsImages(CallPass):
    """See the module."""

    opt_level = 2

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        return super().run_function(function, module, ctx) if ctx.setting("baton.winograd") else function

    def replaced(self, call: Call, at: BindingRewriter) -> Any:
        """A convolution of volumes as one of images."""
        return _as_images(call) if isinstance(call.attrs, ConvAttrs) and _is_of_slices(call) and _pays(call) else call


def _pays(call: Call) -> bool:
    """Whether Winograd's algorithm, in blocks of channels, saves more than moving the slices costs."""
    before, after = _extents(call.args[0].struct_info), _extents(call.struct_info)
    weight = call.args[1].data.shape
    if before is None or after is None or min(weight[:2]) < FEWEST:
        return False
    target = Target.current(allow_none=True) or Target("llvm")
    lanes = max(8, target.lanes(32))
    if any(block_of_channels(channels, lanes) != lanes for channels in weight[:2]):
        return False
    points = prod(after) // after[1]
    saved = BY_WINOGRAD * prod(weight) * points
    return bool(saved > _MOVES * MOVING * (prod(before) + prod(after)))


def _is_of_slices(call: Call) -> bool:
    a, weight = call.attrs, call.args[1]
    layouts = (a.data_layout, a.kernel_layout, a.out_layout or a.data_layout)
    if layouts != ("NCDHW", "OIDHW", "NCDHW") or not isinstance(weight, Constant) or a.groups != 1:
        return False
    dtypes = {str(getattr(v.struct_info, "dtype", "")) for v in (call.args[0], weight, call)}
    unit_steps = all(step == 1 for step in (*a.strides, *a.dilation))
    return dtypes == {"float32"} and weight.data.shape[2:] == (1, 3, 3) and unit_steps and not _pads_depth(a.padding)


def _pads_depth(padding: tuple[int, ...]) -> bool:
    """Whether there is padding before or behind the slices."""
    return padding[0] != 0 or padding[3] != 0


def _extents(info: StructInfo) -> tuple[int, ...] | None:
    """The extents of a tensor, if all are known."""
    if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
        return None
    known = [dim.value for dim in info.shape.values if isinstance(dim, IntImm)]
    return tuple(known) if len(known) == len(info.shape.values) else None


def _as_images(call: Call) -> Any:
    data, weight = call.args
    make = RelaxMaker(CATALOGUE.get("reshape"), CATALOGUE)
    before, after = _extents(data.struct_info), _extents(call.struct_info)
    assert before is not None
    assert after is not None
    (n, channels, depth, *image), (_, outputs, _, *result) = before, after
    _, top, left, _, bottom, right = call.attrs.padding
    slices = make.op("permute_dims", data, axes=(0, 2, 1, 3, 4))
    images = make(slices, make.shape((n * depth, channels, *image)))
    kernel = Constant(np.ascontiguousarray(weight.data.data[:, :, 0]))
    found = make.op("nn.conv2d", images, kernel, padding=(top, left, bottom, right), out_dtype=call.attrs.out_dtype)
    apart = make(found, make.shape((n, depth, outputs, *result)))
    return make.op("permute_dims", apart, axes=(0, 2, 1, 3, 4))
