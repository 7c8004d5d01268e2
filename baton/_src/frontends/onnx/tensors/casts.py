"""Conversions of element types: Cast, CastLike, BitCast, with ONNX's rules for the floats of 8 and 4 bits."""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.reader import STRING, dtype_of
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.tensors.strings import parsed, shown
from baton._src.values.dtype import FLOAT32, DataType
from baton._src.values.meaning import STRING_IDS

_POWERS = "float8_e8m0fnu"
_ROUND = {"up": 0x7FFFFF, "nearest": 0x400000, "down": 0}


def cast(node: OnnxNode) -> Value:
    to, are_strings = int(node.needed("to")), node[0].meaning is STRING_IDS
    if are_strings:
        return node[0] if to == STRING else parsed(node, dtype_of(to, node.title))
    if to == STRING and node.known_strings is not None:
        return shown(node)
    return _cast_to(node, dtype_of(to, node.title))


def cast_like(node: OnnxNode) -> Value:
    return _cast_to(node, node[1].dtype)


def _cast_to(node: OnnxNode, dtype: DataType) -> Value:
    saturates = bool(node.attr("saturate", 1))
    if dtype == _POWERS and node[0].dtype.is_float:
        return _to_powers(node, saturates)
    return saturating_cast(node, node[0], dtype) if saturates else node.graph.cast(node[0], dtype)


def saturating_cast(node: OnnxNode, x: Value, dtype: DataType) -> Value:
    """A cast in which what a float of 8 or 4 bits cannot hold becomes its largest number; NaN stays NaN."""
    graph = node.graph
    if dtype.is_float and dtype.bits <= 8 and x.dtype != dtype:
        largest = dtype.largest_float
        x = graph.call("clip", graph.cast(x, FLOAT32), min=-largest, max=largest)
    return graph.cast(x, dtype)


def _to_powers(node: OnnxNode, saturates: bool) -> Value:
    """To a power of two: the exponent of the float32, after rounding its mantissa away."""
    graph, mode = node.graph, node.attr("round_mode", "up")
    if mode not in _ROUND:
        node.fail(f"round_mode is {mode!r}; one of {', '.join(_ROUND)} is meant")
    x = graph.cast(node[0], FLOAT32)
    bits = graph.call("reinterpret", graph.call("abs", x), dtype=DataType("uint32"))
    rounded = graph.call("add", bits, graph.constant(_ROUND[mode], bits.dtype))
    code = graph.call("right_shift", rounded, graph.constant(23, bits.dtype))
    if saturates:
        code = graph.call("minimum", code, graph.constant(0xFE, bits.dtype))
    code = graph.call("where", graph.call("isnan", x), graph.constant(0xFF, bits.dtype), code)
    return graph.call("reinterpret", graph.cast(code, DataType("uint8")), dtype=DataType(_POWERS))


def bit_cast(node: OnnxNode) -> Value:
    """The same bits as another dtype of the same width."""
    x, dtype = node[0], dtype_of(node.needed("to"), node.title)
    if dtype == x.dtype:
        return x
    if dtype.is_bool and x.dtype.itemsize == 1:
        return node.graph.call("not_equal", x, node.graph.constant(0, x.dtype))
    if x.dtype.is_bool and dtype.itemsize == 1:
        x = node.graph.cast(x, DataType("uint8"))
    if dtype.itemsize != x.dtype.itemsize:
        node.fail(f"{x.dtype} cannot be read as {dtype}")
    return x if dtype == x.dtype else node.graph.call("reinterpret", x, dtype=dtype)


CASTS: dict[str, Converter] = {"Cast": cast, "CastLike": cast_like, "BitCast": bit_cast}
