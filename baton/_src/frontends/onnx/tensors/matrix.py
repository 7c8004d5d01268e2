"""Matrix products."""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ops.dims import show_shape


def _check_inner(node: OnnxNode, a: Value, b: Value) -> None:
    """The axes that are summed over, where both are numbers: said in the model's terms, before anything is swapped."""
    if not a.shape or not b.shape:
        return
    left, right = a.shape[-1], b.shape[-2 if len(b.shape) > 1 else 0]
    if isinstance(left, int) and isinstance(right, int) and left != right:
        shapes = f"{show_shape(tuple(a.shape))} and {show_shape(tuple(b.shape))}"
        help = "rows of the left operand must be as long as columns of the right one: see where its shape comes from"
        message = f"the axes that are summed over differ: {left} against {right}, in shapes {shapes}"
        node.fail(message, code="op-shape", help=help)


def matmul(node: OnnxNode) -> Value:
    _check_inner(node, node[0], node[1])
    return node.graph.call("matmul", node[0], node[1])


def gemm(node: OnnxNode) -> Value:
    """alpha * A' B' + beta * C"""
    g = node.graph
    a, b, c = node[0], node[1], node.optional(2)
    if a.rank not in (-1, 2) or b.rank not in (-1, 2):
        node.fail(f"it multiplies matrices, got operands of rank {a.rank} and {b.rank}", help="MatMul takes any rank")
    alpha, beta = float(node.attr("alpha", 1.0)), float(node.attr("beta", 1.0))
    if node.attr("transA", 0):
        a = g.transpose(a, (1, 0))
    if node.attr("transB", 0):
        b = g.transpose(b, (1, 0))
    _check_inner(node, a, b)
    out = g.call("matmul", a, b)
    if alpha != 1.0:
        out = g.call("multiply", out, _factor(node, alpha, out))
    if c is None or beta == 0.0:
        return out
    _check_added(node, out, c)
    return g.call("add", out, c if beta == 1.0 else g.call("multiply", c, _factor(node, beta, c)))


def _check_added(node: OnnxNode, out: Value, c: Value) -> None:
    """C is repeated to the product, never the other way round."""
    for have, own in zip((out.shape or ())[::-1], (c.shape or ())[::-1], strict=False):
        if isinstance(have, int) and isinstance(own, int) and own not in (1, have):
            shapes = f"{show_shape(tuple(c.shape or ()))} to {show_shape(tuple(out.shape or ()))}"
            node.fail(f"its third operand cannot be repeated from {shapes}", code="op-shape")


def _factor(node: OnnxNode, number: float, like: Value) -> Value:
    if not like.dtype.is_float and number != int(number):
        node.fail(f"alpha and beta must be whole for integer matrices, got {number}")
    return node.graph.scalar(number, like)


def einsum(node: OnnxNode) -> Value:
    return node.graph.call("einsum", tuple(node.given), equation=str(node.needed("equation")).replace(" ", ""))


MATRIX: dict[str, Converter] = {"MatMul": matmul, "Gemm": gemm, "Einsum": einsum}
