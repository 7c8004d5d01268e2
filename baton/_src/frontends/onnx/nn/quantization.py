"""Quantised tensors: to and from integers, products and convolutions of them with exact int32 accumulation."""

from __future__ import annotations

import warnings

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.reader import dtype_of
from baton._src.frontends.onnx.nn.convolution import convolve, kernel_of
from baton._src.frontends.onnx.nn.windows import window_of
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.tensors.casts import saturating_cast
from baton._src.values.dtype import INT32, DataType


def _zero_of(node: OnnxNode, dtype: DataType) -> Value:
    given = node.optional(2)
    return given if given is not None else node.graph.constant(0, dtype)


def _warn_of_infinity(node: OnnxNode, scale: Value) -> None:
    """Tell of a scale that is no finite number. Calibration gives such to a tensor that holds infinities, as a mask of
    scores does; all of the tensor is lost by it, and onnxruntime computes on with what is left without a word.
    """
    if scale.array is None or np.isfinite(scale.array.astype(np.float64)).all():
        return
    found = f"its scale is {scale.array.item()}" if scale.array.size == 1 else "not all of its scales are finite"
    cure = "mask with a finite number such as -1e4, and calibrate the model again"
    warnings.warn(f"{node.title}: {found}, so that all that it scales is lost; {cure}", stacklevel=2)


def quantize_linear(node: OnnxNode) -> Value:
    """saturate(round(x / scale) + zero_point)"""
    zero = node.optional(2)
    dtype = zero.dtype if zero is not None else DataType("uint8")
    if node.attr("output_dtype", 0):
        dtype = dtype_of(int(node.attr("output_dtype")), node.title)
    if zero is not None and zero.dtype != dtype:
        node.fail(f"its output_dtype is {dtype}, but its zero point is {zero.dtype}")
    if dtype.is_float:
        return _to_small_float(node, dtype, zero)
    return _quantize(node, node[0], node[1], _zero_of(node, dtype), dtype)


def dynamic_quantize_linear(node: OnnxNode) -> list[Value]:
    """(bytes, scale, zero point) from the smallest and the largest number, 0 among them; all zeros have the scale 1."""
    g, x, zero = node.graph, node[0], node.graph.constant(0.0, "float32")
    least, greatest = g.call_many("extremes", g.reshape(x, (-1,)))
    low, high = g.call("minimum", least, zero), g.call("maximum", greatest, zero)
    steps = g.call("divide", g.call("subtract", high, low), g.constant(255.0, "float32"))
    scale = g.call("where", g.call("equal", steps, zero), g.constant(1.0, "float32"), steps)
    place = g.call("clip", g.call("round", g.call("divide", g.call("subtract", zero, low), scale)), min=0.0, max=255.0)
    zero_point = g.cast(place, DataType("uint8"))
    return [_quantize(node, x, scale, zero_point, DataType("uint8")), scale, zero_point]


def _to_small_float(node: OnnxNode, dtype: DataType, zero: Value | None) -> Value:
    """x / scale, rounded by the format itself."""
    g = node.graph
    x = g.cast(node[0], "float32")
    scale, _ = _parameters(node, x, g.cast(node[1], "float32"), zero if zero is not None else g.constant(0, dtype))
    scaled = g.call("divide", x, _along(node, x, scale))
    return saturating_cast(node, scaled, dtype) if node.attr("saturate", 1) else g.cast(scaled, dtype)


def _axis(node: OnnxNode, scale: Value) -> int:
    """The axis that scales which do not depend on the block belong to; one for all elements has none."""
    return int(node.attr("axis", 1)) if scale.rank == 1 and scale.shape != (1,) else -1


def _along(node: OnnxNode, x: Value, scale: Value) -> Value:
    """A vector of scales shaped so that it runs along the node's axis of `x`."""
    if scale.rank != 1 or x.rank == 1:
        return scale
    rank = len(x.shape or ())
    axis = node.place(int(node.attr("axis", 1)), rank)
    return node.graph.reshape(scale, [-1 if i == axis and scale.shape != (1,) else 1 for i in range(rank)])


def _quantize(node: OnnxNode, x: Value, scale: Value, zero: Value, dtype: DataType) -> Value:
    g = node.graph
    x, scale = (v if v.dtype.is_float else g.cast(v, "float32") for v in (x, scale))
    _warn_of_infinity(node, scale)
    scale, zero = _parameters(node, x, scale, zero)
    if scale.rank <= 1:
        return g.call("quantize", x, scale, zero, axis=_axis(node, scale), out_dtype=dtype)
    (low, high), wide = dtype.int_range, "float32" if dtype.bits <= 16 else "float64"
    rounded = g.call("round", g.call("divide", g.cast(x, wide), g.cast(scale, wide)))
    shifted = g.call("add", rounded, g.cast(zero, wide))
    return g.cast(g.call("clip", shifted, min=float(low), max=float(high)), dtype)


def _parameters(node: OnnxNode, x: Value, scale: Value, zero: Value) -> tuple[Value, Value]:
    """Scale and zero point as scalars, as vectors along the axis, or (blocked) in the shape of `x`."""
    g, block = node.graph, int(node.attr("block_size", 0))
    if zero.rank == 0 and scale.rank == 1:
        zero = g.broadcast_to(zero, scale.shape or (1,))
    if block < 0:
        node.fail(f"its block_size is {block}")
    if not block:
        return scale, zero
    rank = len(x.shape or ())
    axis = node.place(int(node.attr("axis", 1)), rank)
    size = None if x.shape is None else x.shape[axis]
    if not isinstance(size, int):
        node.fail("the size of the blocked axis must be known", code="onnx-dynamic")

    def spread(v: Value) -> Value:
        if v.rank == 0:
            return v
        if v.rank not in (-1, rank):
            help = "it has the axes of the input, and along the blocked one a number for each block"
            node.fail(
                f"with block_size {block} a scale or zero point is {v} for {rank} axes", code="op-shape", help=help
            )
        blocks = None if v.shape is None else v.shape[axis]
        if isinstance(blocks, int) and blocks != -(-size // block):
            node.fail(f"{blocks} blocks of {block} do not make up axis {axis} of size {size}", code="op-shape")
        wide = g.call("repeat", v, repeats=block, axis=axis)
        return g.call("strided_slice", wide, axes=(axis,), begin=(0,), end=(size,), strides=(1,))

    return spread(scale), spread(zero)


def dequantize_linear(node: OnnxNode) -> Value:
    """(x - zero_point) * scale"""
    g, x, scale = node.graph, node[0], node[1]
    if x.array is not None:  # else it is told where it is quantised
        _warn_of_infinity(node, scale)
    dtype = dtype_of(int(node.attr("output_dtype")), node.title) if node.attr("output_dtype", 0) else scale.dtype
    if not dtype.is_float:
        node.fail(f"its output_dtype is {dtype}, which must be a float type")
    if x.dtype.is_float:
        scale, _ = _parameters(node, x, scale, g.constant(0, x.dtype))
        return g.cast(g.call("multiply", g.cast(x, scale.dtype), _along(node, x, scale)), dtype)
    scale, zero = _parameters(node, x, scale, _zero_of(node, x.dtype))
    if scale.rank <= 1:
        return g.call("dequantize", x, scale, zero, axis=_axis(node, scale), out_dtype=dtype)
    whole = g.call("subtract", g.cast(x, INT32), g.cast(zero, INT32))
    return g.cast(g.call("multiply", g.cast(whole, scale.dtype), scale), dtype)


def _centred(node: OnnxNode, x: Value, zero: Value | None, shape: tuple[int, ...]) -> Value:
    """x - zero_point in int32; a vector of zero points in `shape`."""
    g = node.graph
    whole = g.cast(x, INT32)
    if zero is None:
        return whole
    if zero.rank > max(x.rank, 1):
        node.fail(f"its zero point is {zero}, for {x}", code="op-shape")
    shift = g.cast(zero, INT32)
    if zero.rank == 1:
        shift = g.reshape(shift, () if zero.shape == (1,) else shape)
    return g.call("subtract", whole, shift)


def matmul_integer(node: OnnxNode) -> Value:
    a = _centred(node, node[0], node.optional(2), (-1, 1))
    b = _centred(node, node[1], node.optional(3), (1, -1))
    return node.graph.call("matmul", a, b)


def conv_integer(node: OnnxNode) -> Value:
    rank = len(kernel_of(node, 1))
    x = _centred(node, node[0], node.optional(2), ())
    w = _centred(node, node[1], node.optional(3), (-1,) + (1,) * (rank + 1))
    return convolve(node, x, w, window_of(node, kernel_of(node, 1)))


def qlinear_matmul(node: OnnxNode) -> Value:
    """a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero"""
    a = _centred(node, node[0], node.optional(2), (-1, 1))
    b = _centred(node, node[3], node.optional(5), (1, -1))
    total = node.graph.call("matmul", a, b)
    return _requantized(node, total, _factor(node, node[1], (-1, 1)), _factor(node, node[4], (1, -1)))


def _factor(node: OnnxNode, scale: Value, shape: tuple[int, ...]) -> Value:
    found = node.graph.cast(scale, "float32")
    if found.rank != 1:
        return found
    return node.graph.reshape(found, () if found.shape == (1,) else shape)


def _requantized(node: OnnxNode, total: Value, left: Value, right: Value) -> Value:
    """The int32 `total`, times both scales, in the result's scale (operands 6 and 7)."""
    g, zero = node.graph, node[7]
    real = g.call("multiply", g.cast(total, "float32"), g.call("multiply", left, right))
    return _quantize(node, real, g.cast(node[6], "float32"), zero, zero.dtype)


def qlinear_conv(node: OnnxNode) -> Value:
    """x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias"""
    g, rank = node.graph, len(kernel_of(node, 3))
    per_channel = (-1,) + (1,) * (rank + 1)
    x = _centred(node, node[0], node.optional(2), ())
    w = _centred(node, node[3], node.optional(5), per_channel)
    total = convolve(node, x, w, window_of(node, kernel_of(node, 3)))
    bias = node.optional(8)
    if bias is not None:
        total = g.call("add", total, g.reshape(bias, (1, -1) + (1,) * rank))
    return _requantized(node, total, _factor(node, node[1], ()), _factor(node, node[4], (1, -1) + (1,) * rank))


QUANTIZATION: dict[str, Converter] = {
    "QuantizeLinear": quantize_linear, "DequantizeLinear": dequantize_linear,
    "DynamicQuantizeLinear": dynamic_quantize_linear, "MatMulInteger": matmul_integer, "ConvInteger": conv_integer,
    "QLinearMatMul": qlinear_matmul, "QLinearConv": qlinear_conv,
}  # fmt: skip
