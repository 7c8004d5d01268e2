"""Products of tensors and convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.stablehlo.node import Converter, Node
from baton._src.frontends.stablehlo.shapes import padded
from baton._src.ir.tensor_info import Dim

_SPATIAL = "DHW"


def dot_general(node: Node) -> Value:
    """Sums over the contracted axes: one batched product of matrices, whose axes are those of the operands joined."""
    numbers = node.attr("dot_dimension_numbers", {})
    batch = node.attr("batching_dims", [numbers.get(f"{s}_batching_dimensions", []) for s in ("lhs", "rhs")])
    inner = node.attr("contracting_dims", [numbers.get(f"{s}_contracting_dimensions", []) for s in ("lhs", "rhs")])
    a, b = (node.graph.cast(x, node.info.dtype) for x in node.operands)
    free = [[k for k in range(x.rank) if k not in (*o, *c)] for x, o, c in zip((a, b), batch, inner, strict=True)]
    left = _matrices(node, a, batch[0], free[0], inner[0])
    right = _matrices(node, b, batch[1], inner[1], free[1])
    found = node.graph.call("matmul", left, right, out_dtype=node.info.dtype)
    sizes = [node.shape(a)[k] for k in (*batch[0], *free[0])] + [node.shape(b)[k] for k in free[1]]
    return node.graph.reshape(found, sizes)


def dot(node: Node) -> Value:
    """The product of vectors or matrices: over the last axis of one, the first of the other."""
    a, b = (node.graph.cast(x, node.info.dtype) for x in node.operands)
    return node.graph.call("matmul", a, b, out_dtype=node.info.dtype)


def _matrices(node: Node, x: Value, batch: Sequence[int], rows: Sequence[int], columns: Sequence[int]) -> Value:
    """`x` as (batch..., rows, columns), of which the last two are joined."""
    shape = node.shape(x)
    moved = node.graph.transpose(x, [*batch, *rows, *columns])
    return node.graph.reshape(moved, [*(shape[k] for k in batch), *(_product(shape, ks) for ks in (rows, columns))])


def _product(shape: Sequence[Dim], axes: Sequence[int]) -> Dim:
    found: Dim = 1
    for axis in axes:
        found = found * shape[axis]
    return found


def convolution(node: Node) -> Value:
    """Layouts are any; where the data is spread out (a transposed convolution), zeros are put between its elements."""
    g, (x, kernel) = node.graph, node.operands
    layouts = [_layout(node, names) for names in _dimension_numbers(node)]
    count = x.rank - 2
    window, ones = node.attr("window", node.op.attrs), [1] * count
    if node.attr("batch_group_count", 1) != 1 or not 1 <= count <= 3:
        node.fail("groups of the batch, and other than one to three spatial axes, are not supported")
    widths = window.get("pad", window.get("padding", [[0, 0]] * count))
    spread = window.get("lhs_dilate", window.get("lhs_dilation", ones))
    for axis, turned in enumerate(window.get("reverse", window.get("window_reversal", [False] * count))):
        if turned:
            kernel = g.call("flip", kernel, axis=layouts[1].index(_SPATIAL[axis + 3 - count]))
    places = [layouts[0].find(letter) - count for letter in _SPATIAL[3 - count :]]
    if any(s != 1 for s in spread) or any(w < 0 for pair in widths for w in pair):
        x, widths = _spread(node, x, [p + count for p in places], widths, spread), [[0, 0]] * count
    return g.call(
        f"nn.conv{count}d",
        g.cast(x, node.info.dtype),
        g.cast(kernel, node.info.dtype),
        strides=tuple(window.get("stride", window.get("window_strides", ones))),
        padding=tuple(w[0] for w in widths) + tuple(w[1] for w in widths),
        dilation=tuple(window.get("rhs_dilate", window.get("rhs_dilation", ones))),
        groups=node.attr("feature_group_count", 1),
        data_layout=layouts[0],
        kernel_layout=layouts[1],
        out_layout=layouts[2],
    )


def _spread(node: Node, x: Value, axes: Sequence[int], widths: Sequence[Sequence[int]], spread: Sequence[int]) -> Value:
    around: list[Sequence[int]] = [(0, 0)] * x.rank
    inner = [0] * x.rank
    for axis, width, step in zip(axes, widths, spread, strict=True):
        around[axis], inner[axis] = width, step - 1
    return padded(node, x, node.graph.scalar(0, x), around, inner)


def _dimension_numbers(node: Node) -> Sequence[Sequence[object]]:
    """`[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]`."""
    found = node.attr("dim_numbers", node.attr("dimension_numbers"))
    if not isinstance(found, list):
        node.fail("dimension numbers are written [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]")
    return found


def _layout(node: Node, names: Sequence[object]) -> str:
    letters = {"b": "N", "f": "C", "i": "I", "o": "O"}
    first = 3 - (len(names) - 2)
    return "".join(_SPATIAL[first + n] if isinstance(n, int) else letters[str(n)] for n in names)


PRODUCTS: dict[str, Converter] = {
    "stablehlo.dot_general": dot_general, "stablehlo.dot": dot, "stablehlo.convolution": convolution,
}  # fmt: skip
