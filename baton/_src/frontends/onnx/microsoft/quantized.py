"""Operators on quantised tensors of the domain `com.microsoft`: dequantise, compute, quantise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.microsoft.fused import derived, embed_layer_normalization
from baton._src.frontends.onnx.nn.pooling import average_pool, max_pool
from baton._src.frontends.onnx.nn.quantization import (
    dequantize_linear,
    dynamic_quantize_linear,
    matmul_integer,
    qlinear_conv,
    quantize_linear,
)
from baton._src.frontends.onnx.nn.recurrent import RECURRENT
from baton._src.frontends.onnx.nn.softmax import SOFTMAX
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.tensors.elementwise import leaky_relu
from baton._src.values.dtype import INT32


def _real(node: OnnxNode, index: int) -> Value:
    """Dequantise operand `index` with operands `index` + 1 (scale) and `index` + 2 (zero point)."""
    return dequantize_linear(derived(node, node[index], node[index + 1], node.optional(index + 2)))


def _taken_back(node: OnnxNode, real: Value, index: int, like: Value) -> Value:
    """Quantise `real` with operands `index` (scale) and `index` + 1 (zero point); without a zero point, to the type
    `like`.
    """
    zero = node.optional(index + 1)
    return quantize_linear(
        derived(node, real, node[index], zero if zero is not None else node.graph.constant(0, like.dtype))
    )


def qlinear_binary(op: str) -> Converter:
    """a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero"""

    def convert(node: OnnxNode) -> Value:
        return _taken_back(node, node.graph.call(op, _real(node, 0), _real(node, 3)), 6, node[0])

    return convert


def qlinear_unary(compute: Callable[[OnnxNode, Value], Value]) -> Converter:
    """x, x_scale, x_zero, y_scale, y_zero"""

    def convert(node: OnnxNode) -> Value:
        return _taken_back(node, compute(node, _real(node, 0)), 3, node[0])

    return convert


def _spatial_mean(node: OnnxNode, x: Value) -> Value:
    axes = range(1, x.rank - 1) if node.attr("channels_last", 0) else range(2, x.rank)
    return node.graph.call("mean", x, axis=tuple(axes), keepdims=True)


def _leaky(node: OnnxNode, x: Value) -> Value:
    return leaky_relu(derived(node, x, alpha=float(node.attr("alpha", 0.01))))


def _softmax(node: OnnxNode, x: Value) -> Value:
    """ONNX's softmax of the opset named by the attribute: before 13 the axes from `axis` on are flattened."""
    softmax = replace(derived(node, x, **{"axis": -1, **node.attributes}), opset=int(node.attr("opset", 13)))
    found = SOFTMAX["Softmax"](softmax)
    assert isinstance(found, Value)
    return found


def qlinear_concat(node: OnnxNode) -> Value:
    """y_scale, y_zero, then tensor, scale and zero point of each part"""
    parts = tuple(_real(node, k) for k in range(2, len(node.inputs), 3))
    return _taken_back(node, node.graph.call("concat", parts, axis=node.axis(0, 2)), 0, node[2])


def matmul_integer_to_float(node: OnnxNode) -> Value:
    """a, b, a_scale, b_scale, a_zero, b_zero, bias"""
    g = node.graph
    total = matmul_integer(derived(node, node[0], node[1], node.optional(4), node.optional(5)))
    real = g.call("multiply", g.cast(total, node[2].dtype), g.call("multiply", node[2], node[3]))
    bias = node.optional(6)
    return real if bias is None else g.call("add", real, bias)


def qgemm(node: OnnxNode) -> Value:
    """a, a_scale, a_zero, b, b_scale, b_zero, c (int32, in the product's scale), y_scale, y_zero: without the last two
    the result is a float.
    """
    g = node.graph
    a = g.transpose(node[0], (1, 0)) if node.attr("transA", 0) else node[0]
    b = g.transpose(node[3], (1, 0)) if node.attr("transB", 0) else node[3]
    total = matmul_integer(derived(node, a, b, node.optional(2), node.optional(5)))
    c = node.optional(6)
    if c is not None:
        total = g.call("add", total, g.cast(c, INT32))
    scale = g.call("multiply", node[1], node[4])
    real = g.call("multiply", g.cast(total, "float32"), g.call("multiply", scale, g.scalar(_alpha(node), scale)))
    return real if node.optional(7) is None else _taken_back(node, real, 7, node[0])


def dynamic_quantize_matmul(node: OnnxNode) -> Value:
    """a, b, b_scale, b_zero, bias: `a` is quantised to bytes by its own minimum and maximum."""
    bytes_, scale, zero = dynamic_quantize_linear(derived(node, node[0]))
    operands = (bytes_, node[1], scale, node[2], zero, node.optional(3), node.optional(4))
    return matmul_integer_to_float(derived(node, *operands))


def qlinear_conv_any_layout(node: OnnxNode) -> Value:
    """ONNX's QLinearConv; with `channels_last` images are (batch, spatial..., channels)."""
    if not node.attr("channels_last", 0):
        return qlinear_conv(node)
    turned = replace(node, inputs=[_channels_first(node, node[0]), *node.inputs[1:]])
    return _channels_last(node, qlinear_conv(turned))


def _channels_first(node: OnnxNode, x: Value) -> Value:
    return node.graph.transpose(x, (0, x.rank - 1, *range(1, x.rank - 1)))


def _channels_last(node: OnnxNode, x: Value) -> Value:
    return node.graph.transpose(x, (0, *range(2, x.rank), 1))


def nhwc_max_pool(node: OnnxNode) -> Value:
    turned = replace(node, inputs=[_channels_first(node, node[0])], outputs=node.outputs[:1])
    return _channels_last(node, max_pool(turned)[0])


def _average_pool(node: OnnxNode, x: Value) -> Value:
    last = bool(node.attr("channels_last", 0))
    found = average_pool(replace(node, inputs=[_channels_first(node, x) if last else x]))
    return _channels_last(node, found) if last else found


def qlinear_where(node: OnnxNode) -> Value:
    """condition, x, x_scale, x_zero, y, y_scale, y_zero, z_scale, z_zero"""
    chosen = node.graph.call("where", node[0], _real(node, 1), _real(node, 4))
    return _taken_back(node, chosen, 7, node[1])


def qembed_layer_normalization(node: OnnxNode) -> list[Value]:
    """Operands 0, 1 and 7 are those of EmbedLayerNormalization; the tables 2 to 6 have scales 8 to 12 and zeros 13 to
    17.
    """
    tables: list[Value | None] = []
    for k in range(2, 7):
        table = node.optional(k)
        operands = (table, node.optional(k + 6), node.optional(k + 11))
        tables.append(None if table is None else dequantize_linear(derived(node, *operands)))
    inputs = [node.optional(0), node.optional(1), *tables, node.optional(7)]
    return embed_layer_normalization(replace(node, inputs=inputs))


def dynamic_quantize_lstm(node: OnnxNode) -> Value | Sequence[Value]:
    """An LSTM whose weights (directions, inputs or hidden, 4 * hidden) are bytes; operands 8 to 11 are scales and
    zeros.
    """
    w, r = (_lstm_weights(node, node[k + 1], node[8 + 2 * k], node[9 + 2 * k]) for k in range(2))
    inputs = [node[0], w, r, *(node.optional(k) for k in range(3, 8))]
    return RECURRENT["LSTM"](replace(node, inputs=inputs, attributes={**node.attributes, "layout": 0}))


def _lstm_weights(node: OnnxNode, w: Value, scale: Value, zero: Value) -> Value:
    """The dequantised weights in the layout of ONNX's LSTM, (directions, 4 * hidden, inputs)."""
    g = node.graph
    scale, zero = (
        g.reshape(v, (v.shape[0], 1, -1 if v.rank > 1 else 1)) if v.shape else v for v in (scale, g.cast(zero, INT32))
    )
    centred = g.cast(g.call("subtract", g.cast(w, INT32), zero), scale.dtype)
    return g.transpose(g.call("multiply", centred, scale), (0, 2, 1))


def matmul_integer16(node: OnnxNode) -> Value:
    """The product of 16-bit matrices in 32 bits, unsigned if both are"""
    g, signed = node.graph, any(node[k].dtype.int_range[0] < 0 for k in (0, 1))
    found = g.call("matmul", g.cast(node[0], INT32), g.cast(node[1], INT32))
    return found if signed else g.cast(found, "uint32")


def mul_integer(node: OnnxNode) -> Value:
    """(a - a_zero) * (b - b_zero) in int32; the operands are a, a_zero, b, b_zero."""
    g, centred = node.graph, []
    for k in (0, 2):
        whole, zero = g.cast(node[k], INT32), node.optional(k + 1)
        centred.append(whole if zero is None else g.call("subtract", whole, g.cast(zero, INT32)))
    return g.call("multiply", *centred)


def reduce_sum_integer(node: OnnxNode) -> Value:
    """The sum of bytes in 32 bits, unsigned if they are"""
    g, axes = node.graph, node.ints("axes") or None
    found = g.call("sum", g.cast(node[0], INT32), axis=axes, keepdims=bool(node.attr("keepdims", 1)))
    return g.cast(found, INT32 if node[0].dtype.int_range[0] < 0 else "uint32")


def _mean(node: OnnxNode, x: Value) -> Value:
    return node.graph.call("mean", x, axis=node.ints("axes") or None, keepdims=bool(node.attr("keepdims", 1)))


def _alpha(node: OnnxNode) -> float:
    return float(node.attr("alpha", 1.0))


CONTRIB_QUANTIZED: dict[str, Converter] = {
    "QuantizeLinear": quantize_linear, "DequantizeLinear": dequantize_linear,
    "QLinearAdd": qlinear_binary("add"), "QLinearMul": qlinear_binary("multiply"),
    "QLinearSigmoid": qlinear_unary(lambda node, x: node.graph.call("sigmoid", x)),
    "QLinearLeakyRelu": qlinear_unary(_leaky), "QLinearSoftmax": qlinear_unary(_softmax),
    "QLinearGlobalAveragePool": qlinear_unary(_spatial_mean), "QLinearConcat": qlinear_concat,
    "MatMulIntegerToFloat": matmul_integer_to_float, "QGemm": qgemm, "QLinearConv": qlinear_conv_any_layout,
    "QLinearAveragePool": qlinear_unary(_average_pool), "QLinearWhere": qlinear_where,
    "NhwcMaxPool": nhwc_max_pool, "DynamicQuantizeMatMul": dynamic_quantize_matmul,
    "QLinearReduceMean": qlinear_unary(_mean), "MatMulInteger16": matmul_integer16, "MulInteger": mul_integer,
    "ReduceSumInteger": reduce_sum_integer,
    "QEmbedLayerNormalization": qembed_layer_normalization, "DynamicQuantizeLSTM": dynamic_quantize_lstm,
}  # fmt: skip
