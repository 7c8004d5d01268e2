"""Operations that move elements: reshapes, slices, padding, joining."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.stablehlo.literals import sizes_of
from baton._src.frontends.stablehlo.node import Converter, Node, cut
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import DataType


def wanted_sizes(node: Node, told: Value | None = None) -> tuple[Dim, ...]:
    """The sizes of the result: those of its type, or, where these are open, what the operand `told` says."""
    shape = node.info.shape or ()
    if all(isinstance(d, int) for d in shape):
        return shape
    numbers = node.graph.numbers(told) if told is not None else None
    if numbers is None:
        node.fail("the sizes of the result are known only to a run")
    return tuple(numbers.reshape(-1))


def reshape(node: Node) -> Value:
    """To the sizes of the type, or those that the second operand says. A size is one number as well."""
    x = node.operands[0]
    if x.dims is not None and x.dims.size == 1:
        return node.graph.dims(x.dims.reshape(sizes_of(node.info)), x.dtype)
    return node.graph.reshape(x, wanted_sizes(node, node.operands[-1]))


def transpose(node: Node) -> Value:
    return node.graph.transpose(node.operands[0], node.attr("dims", node.attr("permutation")))


def broadcast_in_dim(node: Node) -> Value:
    """Axis k of the operand becomes axis dims[k] of the result."""
    x, axes = node.operands[0], list(node.attr("dims", node.attr("broadcast_dimensions")))
    sizes = wanted_sizes(node, node.operands[-1])
    order = sorted(range(len(axes)), key=lambda k: axes[k])
    moved, own = node.graph.transpose(x, order), iter(node.shape(x)[k] for k in order)
    return node.graph.broadcast_to(
        node.graph.reshape(moved, tuple(next(own) if axis in axes else 1 for axis in range(len(sizes)))), sizes
    )


def concatenate(node: Node) -> Value:
    """Of numbers that are sizes, a tensor of sizes."""
    g, axis = node.graph, node.attr("dim", node.attr("dimension"))
    contents = [v.contents() for v in node.operands]
    if any(v.dims is not None for v in node.operands) and node.operands[0].rank == 1:
        known = [c for c in contents if c is not None]
        if len(known) == len(contents):
            return g.dims([d for c in known for d in c.reshape(-1)], node.info.dtype)
    return g.call("concat", tuple(node.operands), axis=axis)


def slice_(node: Node) -> Value:
    """`[0:2, 1:8:3]`: begin, end and step of each axis."""
    x, ranges = node.operands[0], node.attr("")
    if ranges is None:
        ranges = list(zip(node.attr("start_indices"), node.attr("limit_indices"), node.attr("strides"), strict=True))
    begin, end, step = zip(*((r[0], r[1], r[2] if len(r) > 2 else 1) for r in ranges)) if ranges else ((), (), ())
    return node.graph.call("strided_slice", x, axes=tuple(range(x.rank)), begin=begin, end=end, strides=step)


def reverse(node: Node) -> Value:
    x = node.operands[0]
    for axis in node.attr("dims", node.attr("dimensions")):
        x = node.graph.call("flip", x, axis=axis)
    return x


def pad(node: Node) -> Value:
    x, fill = node.operands
    low, high = (node.attr(n, node.attr(f"edge_padding_{n}")) for n in ("low", "high"))
    inner = node.attr("interior", node.attr("interior_padding"))
    return padded(node, x, fill, list(zip(low, high, strict=True)), inner)


def padded(node: Node, x: Value, fill: Value, around: Sequence[Sequence[int]], inner: Sequence[int]) -> Value:
    """`x` with `fill` between its elements and around them, before and after; negative widths take elements away."""
    g, kind = node.graph, x.dtype
    if any(inner):
        x = _spread(g, x, fill, inner)
    for axis, (before, after) in enumerate(around):
        if before < 0 or after < 0:
            x = cut(node, x, axis, max(-before, 0), node.shape(x)[axis] + min(after, 0))
    widths = tuple(max(w, 0) for pair in around for w in pair)
    if not any(widths):
        return x
    if fill.array is not None and not kind.is_bool:
        return g.call("nn.pad", x, pad_width=widths, pad_value=fill.array.item(), pad_mode="constant")
    wide = DataType("int8") if kind.is_bool else kind
    found = g.call("nn.pad_filled", g.cast(x, wide), g.cast(fill, wide), pad_width=widths, pad_mode="constant")
    return g.cast(found, kind)


def _spread(g: GraphBuilder, x: Value, fill: Value, inner: Sequence[int]) -> Value:
    """`inner` elements of `fill` between those of `x`: an axis is split, made longer, and joined again."""
    for axis, count in enumerate(inner):
        if not count:
            continue
        shape = x.known_shape()
        before, size, after = shape[:axis], shape[axis], shape[axis + 1 :]
        rest = g.broadcast_to(fill, (*before, size, count, *after))
        joined = g.call("concat", (g.reshape(x, (*before, size, 1, *after)), rest), axis=axis + 1)
        flat = g.reshape(joined, (*before, size * (count + 1), *after))
        x = g.call("strided_slice", flat, axes=(axis,), begin=(0,), end=(size * (count + 1) - count,), strides=(1,))
    return x


def iota(node: Node) -> Value:
    """Numbers that count along one axis."""
    g, axis = node.graph, node.attr("dim", node.attr("iota_dimension"))
    sizes = wanted_sizes(node, node.operands[0] if node.operands else None)
    row = g.cast(g.call("arange", start=0, stop=sizes[axis], step=1, dtype="int64"), node.info.dtype)
    return g.broadcast_to(g.reshape(row, tuple(s if k == axis else 1 for k, s in enumerate(sizes))), sizes)


def get_dimension_size(node: Node) -> Value:
    axis = node.attr("dim", node.attr("dimension"))
    return node.graph.dims(node.shape(node.operands[0])[axis], node.info.dtype)


SHAPES: dict[str, Converter] = {
    "stablehlo.reshape": reshape, "stablehlo.dynamic_reshape": reshape, "stablehlo.transpose": transpose,
    "stablehlo.broadcast_in_dim": broadcast_in_dim, "stablehlo.dynamic_broadcast_in_dim": broadcast_in_dim,
    "stablehlo.concatenate": concatenate, "stablehlo.slice": slice_, "stablehlo.reverse": reverse, "stablehlo.pad": pad,
    "stablehlo.iota": iota, "stablehlo.dynamic_iota": iota, "stablehlo.get_dimension_size": get_dimension_size,
}  # fmt: skip
