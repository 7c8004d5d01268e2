"""Operators of the domain `com.microsoft` that fuse two or three ONNX operators, from onnxruntime's optimizer and its
training graphs. Each follows onnxruntime's documentation of contributed operators.
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.microsoft.fused import activated, derived, fused_matmul
from baton._src.frontends.onnx.nn.softmax import SOFTMAX
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.tensors.elementwise import gelu
from baton._src.frontends.onnx.tensors.index import gather
from baton._src.frontends.onnx.tensors.matrix import matmul
from baton._src.frontends.onnx.tensors.randomness import dropout
from baton._src.frontends.onnx.tensors.signal import dft


def gemm_fast_gelu(node: OnnxNode) -> Value:
    """gelu(a b + bias), by the tanh approximation"""
    found, bias = matmul(derived(node, node[0], node[1])), node.optional(2)
    found = found if bias is None else node.graph.call("add", found, bias)
    return gelu(derived(node, found, approximate="tanh"))


def fused_matmul_activation(node: OnnxNode) -> Value:
    """activation(alpha * A' B')"""
    return activated(node, fused_matmul(node))


def bias_softmax(node: OnnxNode) -> Value:
    """softmax(x + bias), over all axes from `axis` on, flattened; `is_inner_broadcast` only tells kernels which axes of
    the bias are missing or 1.
    """
    softmax = derived(node, node.graph.call("add", node[0], node[1]), axis=int(node.attr("axis", 1)))
    found = SOFTMAX["Softmax"](replace(softmax, opset=11))
    assert isinstance(found, Value)
    return found


def bias_dropout(node: OnnxNode) -> list[Value]:
    """data, bias, residual, ratio, training_mode -> dropout(data + bias) + residual, the mask of kept elements"""
    operands = [node.graph.call("add", node[0], node[1]), node.optional(3), node.optional(4)]
    found, *mask = dropout(replace(node, inputs=operands, opset=13))
    residual = node.optional(2)
    return [found if residual is None else node.graph.call("add", found, residual), *mask]


def complex_product(conjugated: bool) -> Converter:
    """a b, or a times the conjugate of b; the last axis holds the real and the imaginary part."""

    def convert(node: OnnxNode) -> Value:
        g = node.graph
        (a, b), (c, d) = (_parts(node, node[k]) for k in (0, 1))
        d = g.call("negative", d) if conjugated else d
        real = g.call("subtract", g.call("multiply", a, c), g.call("multiply", b, d))
        imaginary = g.call("add", g.call("multiply", a, d), g.call("multiply", b, c))
        return g.call("stack", (real, imaginary), axis=real.rank)

    return convert


def _parts(node: OnnxNode, x: Value) -> tuple[Value, Value]:
    if not x.shape or x.shape[-1] != 2:
        node.fail(f"the last axis of {x} must hold the real and the imaginary part", code="op-shape")
    first, second = (node.graph.call("take", x, node.graph.constant(k, "int64"), axis=x.rank - 1) for k in (0, 1))
    return first, second


def real_transform(inverse: bool) -> Converter:
    """The real Fourier transform of the last axis, (..., n) to (..., n / 2 + 1, 2), or its inverse."""

    def convert(node: OnnxNode) -> Value:
        g, x = node.graph, node[0]
        for name, only in (("signal_ndim", 1), ("onesided", 1), ("normalized", 0)):
            if int(node.attr(name, only)) != only:
                node.fail(f"{name} {node.attr(name)} is not supported; {only} is")
        if not inverse:
            x = g.call("expand_dims", x, axis=(x.rank,))
        found = dft(derived(node, x, axis=x.rank - 2, onesided=1, inverse=int(inverse)))
        return g.call("squeeze", found, axis=(found.rank - 1,)) if inverse else found

    return convert


def torch_embedding(node: OnnxNode) -> Value:
    """Rows of a table; the other operands concern gradients."""
    return gather(derived(node, node[0], node[1], axis=0))


CONTRIB_CHAINS: dict[str, Converter] = {
    "GemmFastGelu": gemm_fast_gelu, "FusedMatMulActivation": fused_matmul_activation, "BiasSoftmax": bias_softmax,
    "BiasDropout": bias_dropout, "ComplexMul": complex_product(conjugated=False),
    "ComplexMulConj": complex_product(conjugated=True), "Rfft": real_transform(inverse=False),
    "Irfft": real_transform(inverse=True), "TorchEmbedding": torch_embedding,
}  # fmt: skip
