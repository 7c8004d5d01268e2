"""Products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from string import ascii_letters

from baton._src.frontends.graph_builder.graph import count_of
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter, Scalar
from baton._src.frontends.torch.operators.shape import cut
from baton._src.values.dtype import DataType


def matmul(node: AtenNode, a: Value, b: Value) -> Value:
    return node.graph.call("matmul", a, b)


def linear(node: AtenNode, x: Value, weight: Value, bias: Value | None) -> Value:
    """x weightᵀ + bias"""
    g = node.graph
    product = _by_rows(node, x, weight) if weight.rank == 2 else g.call("matmul", x, weight)
    if bias is None:
        return product
    return g.call("nn.bias_add", product, bias, axis=-1) if bias.rank == 1 else g.call("add", product, bias)


def _by_rows(node: AtenNode, x: Value, weight: Value) -> Value:
    """x weightᵀ; Relay has an operator that takes the weight as it is."""
    g = node.graph
    if g.language.name != "relay":
        return g.call("matmul", x, g.transpose(weight, (1, 0)))
    *rows, terms = node.sizes(x)
    flat = g.reshape(x, (count_of(rows), terms)) if x.rank != 2 else x
    product = g.call("nn.dense", flat, weight)
    return product if x.rank == 2 else g.reshape(product, (*rows, node.sizes(weight)[0]))


def addmm(node: AtenNode, c: Value, a: Value, b: Value, *, beta: Scalar = 1, alpha: Scalar = 1) -> Value:
    """beta * c + alpha * a b. A product of narrow floats is scaled before it is rounded to them."""
    g = node.graph
    if isinstance(alpha, (int, float)) and alpha == 1:
        product = g.call("matmul", a, b)
    else:
        product = g.call("matmul", node.widened(a), node.widened(b))
        product = g.cast(g.call("multiply", product, node.tensor(alpha, product.dtype)), node.dtype)
    if isinstance(beta, (int, float)) and beta == 0:
        return product
    if not isinstance(beta, (int, float)) or beta != 1:
        c = g.call("multiply", c, node.tensor(beta, c.dtype))
    return g.call("add", product, c)


def dot(node: AtenNode, a: Value, b: Value) -> Value:
    product = node.graph.call("multiply", node.widened(a), node.widened(b))
    return node.graph.cast(node.graph.call("sum", product, axis=(0,), keepdims=False), node.dtype)


def outer(node: AtenNode, a: Value, b: Value) -> Value:
    g = node.graph
    return g.call("multiply", g.cast(g.reshape(a, (-1, 1)), node.dtype), g.cast(b, node.dtype))


def einsum(node: AtenNode, equation: str, operands: tuple[Value, ...], path: object = None) -> Value:
    operands = tuple(node.graph.cast(o, node.dtype) for o in operands)
    return node.graph.call("einsum", operands, equation=_with_summed_dots(equation.replace(" ", ""), operands))


def _with_summed_dots(equation: str, operands: Sequence[Value]) -> str:
    """The equation, with letters for dots that its result leaves out: PyTorch sums over their axes, NumPy refuses."""
    left, arrow, right = equation.partition("->")
    if not arrow or "..." not in left or "..." in right:
        return equation
    parts = left.split(",")
    counts = [
        o.rank - len(part.replace("...", "")) if "..." in part else 0 for o, part in zip(operands, parts, strict=True)
    ]
    letters = "".join(c for c in ascii_letters if c not in equation)[: max(counts)]
    named = (part.replace("...", letters[len(letters) - count :]) for part, count in zip(parts, counts, strict=True))
    return f"{','.join(named)}->{right}"


def grouped(
    node: AtenNode, x: Value, weight: Value, ends: Value | None = None, bias: Value | None = None,
    out_dtype: DataType | None = None,
) -> Value:  # fmt: skip
    """Products of rows with the matrix of their group, where every group ends at one of `ends`; zeros behind the last.

    Of batches of matrices, without `ends`, plain products.
    """
    if bias is not None:
        node.fail("a bias is not supported")
    g = node.graph
    if ends is None:
        return g.cast(g.call("matmul", x, weight), node.dtype)
    if x.rank != 2 or weight.rank != 3:
        node.fail(f"operands of ranks {x.rank} and {weight.rank} are not supported", help="groups are rows of a matrix")
    bounds = g.numbers(g.cast(ends, "int64"))
    if bounds is None:
        return g.cast(_row_by_row(node, x, weight, ends), node.dtype)
    parts = []
    for group, (begin, end) in enumerate(pairwise([0, *bounds])):
        matrix = g.call("take", weight, g.constant(group, "int64"), axis=0)
        parts.append(g.call("matmul", cut(node, x, 0, begin, end), matrix))
    rows, columns = node.sizes(x)[0], node.sizes(weight)[2]
    parts.append(g.broadcast_to(g.constant(0, x.dtype), (rows - bounds[-1], columns)))
    found = g.of_shape(g.call("concat", tuple(parts), axis=0), (rows, columns))
    return g.cast(found, node.dtype)


def _row_by_row(node: AtenNode, x: Value, weight: Value, ends: Value) -> Value:
    """Each row times its own matrix, where sizes cannot be read from `ends`."""
    g, groups = node.graph, node.known(node.sizes(weight)[0], "the number of groups")
    rows, _ = node.sizes(x)
    places = g.reshape(g.call("arange", start=0, stop=rows, step=1, dtype="int64"), (rows, 1))
    passed = g.call("less_equal", g.cast(ends, "int64"), places)
    group = g.call("sum", g.cast(passed, "int64"), axis=(1,), keepdims=False)
    matrices = g.call("take", weight, g.call("minimum", group, g.constant(groups - 1, "int64")), axis=0, mode="fast")
    products = g.reshape(g.call("matmul", g.reshape(x, (rows, 1, -1)), matrices), (rows, -1))
    is_row = g.reshape(g.call("less", group, g.constant(groups, "int64")), (rows, 1))
    return g.call("where", is_row, products, g.scalar(0, products))


MATRIX: dict[str, Converter] = {
    "aten.matmul.default": matmul, "aten.mm.default": matmul, "aten.bmm.default": matmul, "aten.mv.default": matmul,
    "aten.linear.default": linear, "aten.addmm.default": addmm, "aten.addmv.default": addmm,
    "aten.baddbmm.default": addmm, "aten.dot.default": dot, "aten.vdot.default": dot, "aten.outer.default": outer,
    "aten._grouped_mm.default": grouped, "transformers.grouped_mm_fallback.default": grouped,
    "aten.einsum.default": einsum,
}  # fmt: skip
