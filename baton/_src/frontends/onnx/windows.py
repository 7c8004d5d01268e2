"""What convolutions and pools share: kernel, strides, dilations and padding from ONNX's attributes."""

from __future__ import annotations

from dataclasses import dataclass

from baton._src.frontends.onnx.node import OnnxNode
from baton._src.ir.tensor_info import Dim

LAYOUTS = {1: ("NCW", "OIW", "IOW"), 2: ("NCHW", "OIHW", "IOHW"), 3: ("NCDHW", "OIDHW", "IODHW")}
"""(data, kernel, transposed kernel) by spatial rank."""


@dataclass(frozen=True, slots=True)
class Window:
    """`padding` is all the begins, then all the ends."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    padding: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.kernel)


def window_of(node: OnnxNode, kernel: tuple[int, ...]) -> Window:
    """The window of a convolution or pool with this kernel, `auto_pad` worked out."""
    rank = len(kernel)
    strides = node.ints("strides") or (1,) * rank
    dilations = node.ints("dilations") or (1,) * rank
    automatic = node.attr("auto_pad", "NOTSET")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        padding = _same(node, kernel, strides, dilations, automatic == "SAME_UPPER")
    elif automatic == "VALID":
        padding = (0,) * (2 * rank)
    else:
        padding = node.ints("pads") or (0,) * (2 * rank)
    return Window(kernel, strides, dilations, padding)


def _same(
    node: OnnxNode, kernel: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...], upper: bool
) -> tuple[int, ...]:
    """The padding for which output size = ceil(input size / stride)."""
    begins, ends = [], []
    for axis, (size, stride, dilation) in enumerate(zip(kernel, strides, dilations, strict=True)):
        extent = _static(node, axis)
        total = max((-(-extent // stride) - 1) * stride + (size - 1) * dilation + 1 - extent, 0)
        small, large = total // 2, total - total // 2
        begins.append(small if upper else large)
        ends.append(large if upper else small)
    return tuple(begins + ends)


def _static(node: OnnxNode, axis: int) -> int:
    shape = node[0].shape
    dim: Dim | None = None if shape is None else shape[axis + 2]
    if not isinstance(dim, int):
        node.fail("auto_pad=SAME needs spatial sizes known when importing", code="onnx-dynamic")
    return dim
