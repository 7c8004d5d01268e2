"""Several products of one normalised input with low-bit weights, of the domain `com.microsoft`: the projections of an
attention, and the first two of a gated network. Each follows onnxruntime's documentation of contributed operators.
"""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.microsoft.blocks import matmul_nbits
from baton._src.frontends.onnx.microsoft.fused import derived
from baton._src.frontends.onnx.nn.normalization import rms_normalization
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.tensors.elementwise import silu_of


def three_projections(node: OnnxNode) -> list[Value]:
    """input, skip, norm_scale, then weights, scales and bias of query, key and value -> the three, input + skip"""
    x, total = _normal(node, 1e-6)
    widths = ("Nq", "Nkv", "Nkv")
    return [*(_projected(node, x, 3 + 3 * k, name) for k, name in enumerate(widths)), total]


def gated_projections(node: OnnxNode) -> list[Value]:
    """input, skip, norm_scale, then weights, scales and bias of the gate and of the other one -> activation(gate) *
    other, input + skip"""
    x, total = _normal(node, 1e-5)
    gate, other = (_projected(node, x, k, "N") for k in (3, 6))
    name = str(node.needed("activation")).lower()
    if name not in ("silu", "swish"):
        node.fail(f"the activation {name!r} is not supported; silu is")
    return [node.graph.call("multiply", silu_of(node, gate), other), total]


def _normal(node: OnnxNode, epsilon: float) -> tuple[Value, Value]:
    """(input + skip, normalised; input + skip); without a norm_scale the first is not normalised."""
    skip, gain = node.optional(1), node.optional(2)
    total = node[0] if skip is None else node.graph.call("add", node[0], skip)
    if gain is None:
        return total, total
    return rms_normalization(derived(node, total, gain, epsilon=float(node.attr("epsilon", epsilon)))), total


def _projected(node: OnnxNode, x: Value, first: int, width: str) -> Value:
    """MatMulNBits with weights, scales and bias from operand `first` and the next two."""
    weights, scales, bias = node[first], node[first + 1], node.optional(first + 2)
    names = {"bits": node.attr("bits", 4), "block_size": node.needed("block_size")}
    return matmul_nbits(
        derived(node, x, weights, scales, None, None, bias, K=node.needed("K"), N=node.needed(width), **names)
    )


CONTRIB_PROJECTIONS: dict[str, Converter] = {
    "MatMulNBitsQkv": three_projections, "MatMulNBitsMlp": gated_projections,
}  # fmt: skip
