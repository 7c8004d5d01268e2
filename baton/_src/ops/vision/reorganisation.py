"""vision.yolo_reorg: YOLO v2's layer that turns pixels into channels, (b, c, h, w) -> (b, c*s*s, h/s, w/s).

It is Darknet's: the memory of an image is read as (c/(s*s), h*s, w*s), whose blocks of s*s pixels become channels,
row of the block first. (That is the layer as trained networks know it, not `nn.space_to_depth` of the image itself.)
Source: Redmon and Farhadi, YOLO9000; facts relay-language §6 level 5.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.operand_checks import check_ranks
from baton._src.ops.samples import Arr, Sample
from baton._src.values.tensor import AnyArray


@attrs
class ReorgAttrs(Attrs):
    """The block."""

    stride: int = attr(1, "extent of a block")


def infer(call: OpCall[ReorgAttrs]) -> Info:
    """s*s times the channels, of images that are as much smaller."""
    x, s = call.tensor(0), call.attrs.stride
    if s < 1:
        call.fail(f"stride must be positive, got {s}", code="op-attribute")
    check_ranks(call, 4)
    if x.shape is None:
        return TensorInfo(None, x.dtype, 4, x.vdevice)
    batch, channels, *extents = x.shape
    math = DimMath(call.prover)
    for name, dim, by in (("channels", channels, s * s), ("height", extents[0], s), ("width", extents[1], s)):
        if math.divides(by, dim) is False:
            call.fail(f"the {name} of {show_shape(x.shape)} must be divisible by {by}")
    small = (math.floor_divide(d, s) for d in extents)
    return TensorInfo((batch, math.multiply(channels, s * s), *small), x.dtype, vdevice=x.vdevice)


def compute(inputs: Sequence[k.Tensor], a: ReorgAttrs, out: k.Result) -> k.Tensor:
    """Where an element of the result lies in the image's memory, and from there its indices."""
    (x,) = inputs
    s = k.index(a.stride)
    channels, height, width = (k.index(d) for d in x.shape[1:])
    outer, size = k.divisor(channels // (s * s)), k.divisor(height * width)
    rows, columns = (k.index(d) for d in out.shape[2:])

    def body(b: k.Scalar, c: k.Scalar, i: k.Scalar, j: k.Scalar) -> k.Scalar:
        flat = (c * rows + i) * columns + j
        plane, row, column = flat // size, flat // k.divisor(width) % k.divisor(height), flat % k.divisor(width)
        block, inner = plane // outer, plane % outer
        down, across = row * s + block // s, column * s + block % s
        place = (inner * (height * s) + down) * (width * s) + across
        return x(b, place // size, place // k.divisor(width) % k.divisor(height), place % k.divisor(width))

    return k.compute(out.shape, body, "yolo_reorg")


def reference(inputs: Sequence[AnyArray], a: ReorgAttrs) -> AnyArray:
    """Reshape, exchange axes, reshape."""
    (x,) = inputs
    (batch, channels, height, width), s = x.shape, a.stride
    blocks = x.reshape(batch, channels // (s * s), height, s, width, s).transpose(0, 3, 5, 1, 2, 4)
    return blocks.reshape(batch, channels * s * s, height // s, width // s)


YOLO_REORG = OpDef(
    "vision.yolo_reorg",
    ReorgAttrs,
    inputs=(Input("data", "images (b, c, h, w)"),),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 8, 4, 6)),), ReorgAttrs(2)),
        Sample((Arr((1, 9, 3, 6)),), ReorgAttrs(3)),
    ),
    summary="Rearrange blocks of pixels into channels, in Darknet's order.",
)
