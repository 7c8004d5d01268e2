"""Operators of the domain `com.microsoft` that onnxruntime's optimizer writes into files, and those of its own that it
writes into ONNX's domain. Each is what onnxruntime's documentation of contributed operators says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.elementwise import gelu, hard_sigmoid, leaky_relu, swish
from baton._src.frontends.onnx.matrix import gemm, matmul
from baton._src.frontends.onnx.nn import conv, layer_normalization, rms_normalization
from baton._src.frontends.onnx.node import Converter, OnnxNode


def derived(node: OnnxNode, *inputs: Value | None, **attributes: Any) -> OnnxNode:
    """The node, as another operator with these operands and attributes would see it, and one result."""
    return replace(node, inputs=list(inputs), attributes=attributes, outputs=node.outputs[:1])


def _biased(node: OnnxNode, index: int) -> Value:
    """Operand 0 and, where it is there, the bias that is operand `index`."""
    bias = node.optional(index)
    return node[0] if bias is None else node.graph.call("add", node[0], bias)


def fast_gelu(node: OnnxNode) -> Value:
    return gelu(derived(node, _biased(node, 1), approximate="tanh"))


def bias_gelu(node: OnnxNode) -> Value:
    return gelu(derived(node, _biased(node, 1)))


def quick_gelu(node: OnnxNode) -> Value:
    """x * sigmoid(alpha * x)"""
    alpha = float(node.attr("alpha", 1.702))
    if alpha == 1.0:
        return node.graph.call("multiply", node[0], node.graph.call("sigmoid", node[0]))
    return swish(derived(node, node[0], alpha=alpha))


def fused_matmul(node: OnnxNode) -> Value:
    """alpha * A' B'. `transBatchA`: A is (m, batch..., k) instead of (batch..., m, k)."""
    g = node.graph
    a, b = (_turned(node, node[i], name) for i, name in enumerate("AB"))
    out = matmul(derived(node, a, b))
    alpha = float(node.attr("alpha", 1.0))
    return out if alpha == 1.0 else g.call("multiply", out, g.scalar(alpha, out))


def _turned(node: OnnxNode, x: Value, name: str) -> Value:
    if x.rank < 2:
        return x
    axes = list(range(x.rank))
    if node.attr(f"transBatch{name}", 0):
        axes = [*axes[1:-1], 0, axes[-1]]
    if node.attr(f"trans{name}", 0):
        axes[-2:] = axes[:-3:-1]
    return x if axes == sorted(axes) else node.graph.transpose(x, axes)


def _activated(node: OnnxNode, x: Value, numbers: list[float]) -> Value:
    """`x` after the activation the node names, with the activation's own numbers."""
    name = str(node.attr("activation", ""))
    named: dict[str, Callable[[], Value]] = {
        "": lambda: x,
        "Relu": lambda: node.graph.call("nn.relu", x),
        "Tanh": lambda: node.graph.call("tanh", x),
        "Sigmoid": lambda: node.graph.call("sigmoid", x),
        "LeakyRelu": lambda: leaky_relu(derived(node, x, **dict(zip(("alpha",), numbers)))),
        "HardSigmoid": lambda: hard_sigmoid(derived(node, x, **dict(zip(("alpha", "beta"), numbers)))),
        "Clip": lambda: node.graph.call("clip", x, min=numbers[0], max=numbers[1]),
    }
    if name not in named or (name == "Clip" and len(numbers) < 2):
        node.fail(f"the activation {name!r} with the numbers {numbers} is not supported")
    return named[name]()


def fused_gemm(node: OnnxNode) -> Value:
    names = [f"activation_{n}" for n in ("alpha", "beta", "gamma")]
    numbers = [float(node.attributes[n]) for n in names if n in node.attributes]
    return _activated(node, gemm(node), numbers)


def fused_conv(node: OnnxNode) -> Value:
    """activation(conv(x, w) + bias + z)"""
    out = conv(node)
    z = node.optional(3)
    if z is not None:
        out = node.graph.call("add", out, z)
    return _activated(node, out, [float(v) for v in node.attr("activation_params", ())])


def simplified_layer_normalization(node: OnnxNode) -> Value:
    if any(node.outputs[1:]):
        node.fail("only the first result is supported")
    return rms_normalization(node)


def skip_normalization(gain: int, beta: int | None, bias: int) -> Converter:
    """The normal form of input + skip + bias, and as the fourth result that sum. `gain`, `beta`, `bias`: operands."""

    def convert(node: OnnxNode) -> list[Value]:
        g = node.graph
        if any(node.outputs[1:3]):
            node.fail("means and deviations as results are not supported")
        added = node.optional(bias)
        total = g.call("add", node[0], node[1])
        total = total if added is None else g.call("add", total, added)
        epsilon = float(node.attr("epsilon", 1e-12))
        if beta is None:
            out = rms_normalization(derived(node, total, node[gain], epsilon=epsilon))
        else:
            out = layer_normalization(derived(node, total, node[gain], node.optional(beta), epsilon=epsilon))[0]
        return [out, out, out, total]

    return convert


CONTRIB: dict[str, Converter] = {
    "Gelu": gelu, "FastGelu": fast_gelu, "BiasGelu": bias_gelu, "QuickGelu": quick_gelu,
    "FusedMatMul": fused_matmul, "FusedGemm": fused_gemm, "FusedConv": fused_conv,
    "SkipLayerNormalization": skip_normalization(2, 3, 4),
    "SkipSimplifiedLayerNormalization": skip_normalization(2, None, 3),
}  # fmt: skip
