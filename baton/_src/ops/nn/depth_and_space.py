"""Channels traded for pixels: nn.depth_to_space and its inverse nn.space_to_depth; Relax's nn.pixel_shuffle.

depth_to_space, mode "DCR": channel = (row * block + column) * C' + c; "CRD": channel = (c * block + row) * block +
column. space_to_depth inverts "DCR". Source: ONNX DepthToSpace; facts relay-language §6 level 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.canonical_axes import from_canonical, to_canonical
from baton._src.ops.dims import DimMath
from baton._src.ops.layout_names import layout_over, whole
from baton._src.ops.layouts import Anchor
from baton._src.ops.linear_axes import named_dims
from baton._src.ops.operand_checks import check_ranks
from baton._src.ops.samples import Arr, Sample
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray


@attrs
class DepthToSpaceAttrs(Attrs):
    """Block and order."""

    block_size: int = attr(1, "extent of the square each pixel becomes")
    layout: str = attr("NCHW", "layout of the data")
    mode: str = attr("DCR", "DCR: block first in the channels; CRD, which TVM's documentation calls CDR: block last")

    def __post_init__(self) -> None:
        set_attr(self, "mode", "CRD" if self.mode == "CDR" else self.mode)


@attrs
class SpaceToDepthAttrs(Attrs):
    """Block."""

    block_size: int = attr(1, "extent of the square that becomes one pixel")
    layout: str = attr("NCHW", "layout of the data")


@attrs
class PixelShuffleAttrs(Attrs):
    """Block."""

    upscale_factor: int = attr(doc="extent of the square each pixel becomes")

    @property
    def block_size(self) -> int:
        return self.upscale_factor

    @property
    def layout(self) -> str:
        return "NCHW"

    @property
    def mode(self) -> str:
        return "CRD"


def _exact(call: OpCall[Attrs], math: DimMath, extent: Dim, divisor: int, what: str) -> Dim:
    if math.divides(divisor, extent) is False:
        call.fail(f"{what} {extent} is not a multiple of {divisor}")
    return math.floor_divide(extent, divisor)


def infer(call: OpCall[DepthToSpaceAttrs | PixelShuffleAttrs | SpaceToDepthAttrs]) -> Info:
    """Channels divided by block², height and width multiplied; or the other way round."""
    a, x = call.attrs, call.tensor(0)
    order = layout_over(a.layout, "NCHW", "layout")
    if not isinstance(a, SpaceToDepthAttrs) and a.mode not in ("DCR", "CRD"):
        call.fail(f"mode must be DCR or CRD, got {a.mode!r}", code="op-attribute")
    if a.block_size < 1:
        call.fail(f"block_size must be 1 or more, got {a.block_size}", code="op-attribute")
    check_ranks(call, 4)
    if x.shape is None:
        return TensorInfo(None, x.dtype, 4, x.vdevice)
    math, b = DimMath(call.prover), a.block_size
    extents = order.canonical(math, x.shape)
    if isinstance(a, SpaceToDepthAttrs):
        extents["C"] = math.multiply(extents["C"], b * b)
        extents["H"] = _exact(call, math, extents["H"], b, "the height")
        extents["W"] = _exact(call, math, extents["W"], b, "the width")
    else:
        extents["C"] = _exact(call, math, extents["C"], b * b, "the number of channels")
        extents["H"], extents["W"] = math.multiply(extents["H"], b), math.multiply(extents["W"], b)
    return TensorInfo(order.physical(math, extents), x.dtype, vdevice=x.vdevice)


def compute_to_space(inputs: Sequence[k.Tensor], a: DepthToSpaceAttrs | PixelShuffleAttrs, out: k.Result) -> k.Tensor:
    """Each pixel is read from the channel its place in the block names."""
    (x,) = inputs
    order, b = layout_over(a.layout, "NCHW", "layout"), a.block_size

    def body(*i: k.Scalar) -> k.Scalar:
        at = order.split(i)
        c, high, wide = (whole(at[letter]) for letter in "CHW")
        row, column = high % b, wide % b
        channels = k.index(out.shape[order.position("C")])
        channel = (row * b + column) * channels + c if a.mode == "DCR" else (c * b + row) * b + column
        return x(*order.indices({"N": at["N"], "C": channel, "H": high // b, "W": wide // b}))

    return k.compute(out.shape, body, "depth_to_space")


def compute_to_depth(inputs: Sequence[k.Tensor], a: SpaceToDepthAttrs, out: k.Result) -> k.Tensor:
    """Each channel is read from the place in the block it names."""
    (x,) = inputs
    order, b = layout_over(a.layout, "NCHW", "layout"), a.block_size

    def body(*i: k.Scalar) -> k.Scalar:
        at = order.split(i)
        channels = k.divisor(x.shape[order.position("C")])
        channel, row, column = (whole(at[letter]) for letter in "CHW")
        place = channel // channels
        read = {"N": at["N"], "C": channel % channels, "H": row * b + place // b, "W": column * b + place % b}
        return x(*order.indices(read))

    return k.compute(out.shape, body, "space_to_depth")


def reference_to_space(inputs: Sequence[AnyArray], a: DepthToSpaceAttrs | PixelShuffleAttrs) -> AnyArray:
    """Reshape, transpose, reshape."""
    order, b = layout_over(a.layout, "NCHW", "layout"), a.block_size
    x = to_canonical(inputs[0], order, "NCHW")
    n, c, h, w = x.shape
    if a.mode == "DCR":
        moved = x.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        moved = x.reshape(n, c // (b * b), b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return from_canonical(np.ascontiguousarray(moved).reshape(n, c // (b * b), h * b, w * b), order, "NCHW")


def reference_to_depth(inputs: Sequence[AnyArray], a: SpaceToDepthAttrs) -> AnyArray:
    """Reshape, transpose, reshape."""
    order, b = layout_over(a.layout, "NCHW", "layout"), a.block_size
    x = to_canonical(inputs[0], order, "NCHW")
    n, c, h, w = x.shape
    moved = x.reshape(n, c, h // b, b, w // b, b).transpose(0, 3, 5, 1, 2, 4)
    return from_canonical(np.ascontiguousarray(moved).reshape(n, c * b * b, h // b, w // b), order, "NCHW")


def gradient_to_space(
    b: CallMaker, args: Exprs, a: DepthToSpaceAttrs | PixelShuffleAttrs, out: GraphExpr, grad: GraphExpr
) -> Gradients:
    """The inverse; for mode CRD, places in the block go behind channels afterwards."""
    back = b.op("nn.space_to_depth", grad, block_size=a.block_size, layout=a.layout)
    if a.mode == "DCR":
        return [back]
    if a.layout != "NCHW":
        raise fail("op-gradient", "the gradient of nn.depth_to_space in mode CRD is known for NCHW")
    n, channels, *extents = named_dims(args[0].struct_info, "nn.depth_to_space")
    places = a.block_size**2
    split = b.op("reshape", back, b.shape((n, places, channels // places, *extents)))
    turned = b.op("permute_dims", split, axes=(0, 2, 1, 3, 4))
    return [b.op("reshape", turned, b.shape((n, channels, *extents)))]


_SHARED: dict[str, Any] = {
    "inputs": (Input("data", "the images"),),
    "infer": infer,
    "fusion": Fusion.INJECTIVE,
}

DEPTH_TO_SPACE = OpDef(
    "nn.depth_to_space",
    DepthToSpaceAttrs,
    compute=compute_to_space,
    reference=reference_to_space,
    gradient=gradient_to_space,
    in_relax=False,
    layout=Anchor("layout", blocks=False),
    samples=lambda: (
        Sample((Arr(("n", 8, 2, "w")),), DepthToSpaceAttrs(2)),
        Sample((Arr((1, 2, 3, 8)),), DepthToSpaceAttrs(2, "NHWC", "CRD")),
    ),
    summary="Rearrange channels into square blocks of pixels.",
    **_SHARED,
)
SPACE_TO_DEPTH = OpDef(
    "nn.space_to_depth",
    SpaceToDepthAttrs,
    compute=compute_to_depth,
    reference=reference_to_depth,
    gradient=lambda b, args, a, out, grad: [b.op("nn.depth_to_space", grad, block_size=a.block_size, layout=a.layout)],
    in_relax=False,
    layout=Anchor("layout", blocks=False),
    samples=lambda: (
        Sample((Arr(("n", 2, 4, 6)),), SpaceToDepthAttrs(2)),
        Sample((Arr((1, 4, 2, 3)),), SpaceToDepthAttrs(2, "NHWC")),
    ),
    summary="Rearrange square blocks of pixels into channels.",
    **_SHARED,
)
PIXEL_SHUFFLE = OpDef(
    "nn.pixel_shuffle",
    PixelShuffleAttrs,
    compute=compute_to_space,
    reference=reference_to_space,
    gradient=gradient_to_space,
    relay_name=NotApplicable("Relay has nn.depth_to_space"),
    samples=lambda: (Sample((Arr(("n", 8, 2, 3)),), PixelShuffleAttrs(2)),),
    summary="Rearrange channels into square blocks of pixels, in PyTorch's channel order.",
    **_SHARED,
)

DEPTH_AND_SPACE: tuple[Definition, ...] = (DEPTH_TO_SPACE, SPACE_TO_DEPTH, PIXEL_SHUFFLE)
