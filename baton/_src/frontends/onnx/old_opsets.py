"""Nodes of opsets before 7 (and a few up to 9), written as later opsets write them.

Two operands met by `broadcast` and `axis` then, not as NumPy's do; whether a node trains was an attribute. Nodes are
changed in place before they are converted.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.reader import onnx_library
from baton._src.frontends.onnx.node import OnnxNode
from baton._src.ir.tensor_info import Dim

PAIRED = ("Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less", "Greater")
"""Operators of two operands that had `broadcast` and `axis`."""


def as_of_later(node: OnnxNode) -> None:
    """Give a node of ONNX's own domain the operands and attributes by which its converter knows its meaning."""
    if node.op_type == "MeanVarianceNormalization" and node.opset < 9:
        _normalised_axes(node)
    change = _CHANGES.get(node.op_type)
    if node.opset < 7 and change is not None:
        change(node)


def _aligned(node: OnnxNode) -> None:
    """The axes of the second operand stand below those of the first from `axis` on; without it below the last."""
    axis = node.attributes.pop("axis", None)
    if node.attributes.pop("broadcast", 0) and axis is not None:
        node.inputs[1] = _from(node, node[1], node.place(int(axis), node.rank()))


def _slope(node: OnnxNode) -> None:
    """A vector has a slope for each channel."""
    if node[1].rank == 1 and node[1].shape != (1,) and node.rank() > 1:
        node.inputs[1] = _from(node, node[1], 1)


def _from(node: OnnxNode, x: Value, axis: int) -> Value:
    """`x` with as many axes of size 1 behind its own as make them stand below the first operand's from `axis` on."""
    behind = node.rank() - axis - x.rank
    if x.shape is None or behind < 0:
        node.fail(f"its second operand {x} has more axes than the first from axis {axis} on", code="op-shape")
    return node.graph.reshape(x, (*x.shape, *(1,) * behind)) if behind else x


def _infers(node: OnnxNode) -> None:
    if not node.attributes.pop("is_test", 1):
        node.fail("is_test = 0, by which it trains, is not supported", help="export the model for inference")


def _second_axis(node: OnnxNode) -> None:
    if node.opset < 4:
        node.attributes.setdefault("axis", 1)


def _tiled(node: OnnxNode) -> None:
    """Opset 1 repeats one axis, which is another operand."""
    axis = node.constant(2, "axis")
    if axis is not None:
        repeats: list[Dim] = [1] * node.rank()
        repeats[node.place(int(axis.reshape(-1)[0]), node.rank())] = node.size(1, "tiles")
        node.inputs = [node[0], node.graph.dims(repeats)]


def _enlarged(node: OnnxNode) -> None:
    """Images were scaled by two attributes."""
    if "height_scale" in node.attributes:
        rows, columns = (float(node.needed(f"{name}_scale")) for name in ("height", "width"))
        node.attributes["scales"] = [*[1.0] * (node.rank() - 2), rows, columns]


def _rounded_constants(node: OnnxNode) -> None:
    """Both constants had four decimals."""
    if node.opset < 6:
        node.attributes = {"alpha": 1.6732, "gamma": 1.0507, **node.attributes}


def _paddings(node: OnnxNode) -> None:
    if "paddings" in node.attributes:
        node.attributes["pads"] = node.attributes.pop("paddings")


def _normalised_axes(node: OnnxNode) -> None:
    """As onnxruntime has the operator in opsets that ONNX did not have it in."""
    if node.attributes.pop("across_channels", 0):
        node.attributes["axes"] = list(range(node.rank()))
    if not node.attributes.pop("normalize_variance", 1):
        node.fail("normalize_variance = 0 is not supported")


def _numbered(node: OnnxNode) -> None:
    """The type to cast to was a name."""
    name = node.attr("to")
    if isinstance(name, str):
        number = dict(onnx_library().TensorProto.DataType.items()).get(name)
        if number is None:
            node.fail(f"to = {name!r} names no element type", help="such as FLOAT or INT64")
        node.attributes["to"] = number


_CHANGES: dict[str, Callable[[OnnxNode], None]] = {
    **dict.fromkeys(PAIRED, _aligned), "PRelu": _slope, "Dropout": _infers, "BatchNormalization": _infers,
    "Concat": _second_axis, "Tile": _tiled, "Pad": _paddings, "Cast": _numbered, "Upsample": _enlarged,
    "Selu": _rounded_constants,
}  # fmt: skip
