"""Where windows lie that move over the spatial axes of an image (channels last)."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.frontends.tflite.node import Node
from baton._src.ir.tensor_info import Dim

SAME, VALID = 0, 1
"""`Padding`: as many windows as steps fit into the image, or those that lie within."""


def same_border(node: Node, size: Dim, extent: int, stride: int) -> tuple[int, int]:
    """The border before and after an axis with which ceil(size / stride) windows fit; the odd one is after."""
    if isinstance(size, int):
        total = max((-(-size // stride) - 1) * stride + extent - size, 0)
    elif stride == 1:
        total = extent - 1
    else:
        node.fail("the border of windows with strides depends on the size of the image, which is open",
                  help="give its size in shape_dict")  # fmt: skip
    return total // 2, total - total // 2


def border(
    node: Node, sizes: Sequence[Dim], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> list[int]:
    """The borders before all spatial axes, and those after them, by the operator's `Padding`."""
    if node.option("Padding", SAME) == VALID:
        return [0] * (2 * len(kernel))
    axes = zip(sizes, kernel, strides, dilations, strict=True)
    pairs = [same_border(node, size, (taps - 1) * dilation + 1, stride) for size, taps, stride, dilation in axes]
    return [before for before, _ in pairs] + [after for _, after in pairs]
