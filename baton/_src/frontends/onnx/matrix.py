"""Matrix products."""

from __future__ import annotations

from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.value import Value


def matmul(node: OnnxNode) -> Value:
    return node.graph.call("matmul", node[0], node[1])


def gemm(node: OnnxNode) -> Value:
    """alpha * A' B' + beta * C"""
    g = node.graph
    a, b, c = node[0], node[1], node.optional(2)
    alpha, beta = float(node.attr("alpha", 1.0)), float(node.attr("beta", 1.0))
    if node.attr("transA", 0):
        a = g.transpose(a, (1, 0))
    if node.attr("transB", 0):
        b = g.transpose(b, (1, 0))
    out = g.call("matmul", a, b)
    if alpha != 1.0:
        out = g.call("multiply", out, _factor(node, alpha, out))
    if c is None or beta == 0.0:
        return out
    return g.call("add", out, c if beta == 1.0 else g.call("multiply", c, _factor(node, beta, c)))


def _factor(node: OnnxNode, number: float, like: Value) -> Value:
    if not like.dtype.is_float and number != int(number):
        node.fail(f"alpha and beta must be whole for integer matrices, got {number}")
    return node.graph.scalar(number, like)


def einsum(node: OnnxNode) -> Value:
    return node.graph.call("einsum", tuple(node.given), equation=str(node.attr("equation")).replace(" ", ""))


MATRIX: dict[str, Converter] = {"MatMul": matmul, "Gemm": gemm, "Einsum": einsum}
