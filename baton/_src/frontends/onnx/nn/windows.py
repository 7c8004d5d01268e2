"""What convolutions and pools share: kernel, strides, dilations and padding from ONNX's attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.frontends.graph_builder.operands import at_least
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import OnnxNode
from baton._src.frontends.onnx.tensors.padding import widened
from baton._src.ir.tensor_info import Dim
from baton._src.support.dataclass import dataclass

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
    strides, dilations, padding = _attributes(node, kernel)
    known = tuple(p for p in padding if isinstance(p, int))
    if len(known) != len(padding):
        node.fail("auto_pad=SAME needs spatial sizes known when importing", code="onnx-dynamic")
    return Window(kernel, strides, dilations, known)


def framed(node: OnnxNode, x: Value, kernel: tuple[int, ...], border: float) -> tuple[Value, Window]:
    """What a convolution or pool walks over, and its window: `x` gets its border beforehand, of this number, where
    `auto_pad` makes it depend on open sizes."""
    strides, dilations, padding = _attributes(node, kernel)
    if all(isinstance(p, int) for p in padding):
        return x, window_of(node, kernel)
    rank = len(kernel)
    for axis in range(rank):
        x = widened(node, x, axis + 2, padding[axis], padding[axis + rank], node.graph.scalar(border, x))
    return x, Window(kernel, strides, dilations, (0,) * (2 * rank))


def _attributes(node: OnnxNode, kernel: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...], Sequence[Dim]]:
    """Strides, dilations and padding; with `auto_pad` the padding may depend on open sizes."""
    rank = len(kernel)
    check_spatial_axes(node, rank)
    strides, dilations, pads = steps_of(node, rank)
    match node.attr("auto_pad", "NOTSET"):
        case "SAME_UPPER" | "SAME_LOWER":
            return strides, dilations, _same(node, kernel, strides, dilations)
        case "VALID":
            return strides, dilations, (0,) * (2 * rank)
        case _:
            return strides, dilations, pads


def check_spatial_axes(node: OnnxNode, rank: int) -> None:
    """Refuse an input that has not the axes (batch, channels, `rank` spatial ones)."""
    if node[0].rank not in (-1, rank + 2):
        help = "the axes are the batch, the channels and the spatial ones"
        node.fail(f"its input is {node[0]}, but its kernel has {rank} spatial axes", code="op-shape", help=help)


def steps_of(node: OnnxNode, rank: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Strides, dilations and padding as the node gives them for so many spatial axes, or their defaults."""
    found = []
    for name, default in (("strides", (1,) * rank), ("dilations", (1,) * rank), ("pads", (0,) * (2 * rank))):
        given = node.ints(name) or default
        if len(given) != len(default) or min(given, default=1) < (0 if name == "pads" else 1):
            node.fail(f"its {name} are {list(given)} for {rank} spatial axes", help=f"such as {list(default)}")
        found.append(given)
    return found[0], found[1], found[2]


def _same(node: OnnxNode, kernel: tuple[int, ...], strides: tuple[int, ...], dilations: tuple[int, ...]) -> list[Dim]:
    """The padding for which output size = ceil(input size / stride)."""
    shape = node[0].shape
    if shape is None:
        node.fail("auto_pad=SAME needs an operand of known rank", code="onnx-dynamic")
    begins: list[Dim] = []
    ends: list[Dim] = []
    for extent, size, stride, dilation in zip(shape[2:], kernel, strides, dilations, strict=True):
        reach = (size - 1) * dilation
        # A stride of 1 needs as much whatever the extent is.
        covered = (extent + stride - 1) // stride * stride - stride + reach + 1
        total = reach if stride == 1 else at_least(covered - extent, 0)
        begin, end = halves(total, upper=node.attr("auto_pad") == "SAME_UPPER")
        begins.append(begin)
        ends.append(end)
    return begins + ends


def halves(total: Any, upper: bool) -> tuple[Any, Any]:
    """A padding divided among the two ends of an axis; `upper`: where it is odd, the end gets one more."""
    small, large = total // 2, total - total // 2
    return (small, large) if upper else (large, small)
