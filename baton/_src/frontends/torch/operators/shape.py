"""Operators that move elements: views, permutations, concatenations, slices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim

END = 2**63 - 1
"""What PyTorch writes for "to the end"."""


def view(node: AtenNode, x: Value, size: Sequence[Dim]) -> Value:
    return node.graph.reshape(x, size)


def flatten(node: AtenNode, x: Value, start: int, end: int) -> Value:
    if not x.rank:
        return node.graph.reshape(x, (1,))
    shape, first, last = node.sizes(x), node.axis(start, x.rank), node.axis(end, x.rank)
    middle: Dim = 1
    for dim in shape[first : last + 1]:
        middle = dim * middle
    return node.graph.reshape(x, (*shape[:first], middle, *shape[last + 1 :]))


def unflatten(node: AtenNode, x: Value, dim: int, sizes: Sequence[Dim]) -> Value:
    shape, axis = node.sizes(x), node.axis(dim, x.rank)
    return node.graph.reshape(x, (*shape[:axis], *sizes, *shape[axis + 1 :]))


def permute(node: AtenNode, x: Value, dims: Sequence[int]) -> Value:
    return node.graph.transpose(x, [node.axis(d, x.rank) for d in dims])


def transpose(node: AtenNode, x: Value, first: int, second: int) -> Value:
    axes = list(range(x.rank))
    if not axes:
        return x
    a, b = node.axis(first, x.rank), node.axis(second, x.rank)
    axes[a], axes[b] = axes[b], axes[a]
    return node.graph.transpose(x, axes)


def turned(node: AtenNode, x: Value) -> Value:
    return node.graph.transpose(x, tuple(reversed(range(x.rank))))


def unsqueeze(node: AtenNode, x: Value, dim: int) -> Value:
    shape, axis = node.sizes(x), dim % (x.rank + 1)
    return node.graph.reshape(x, (*shape[:axis], 1, *shape[axis:]))


def squeeze(node: AtenNode, x: Value, dims: Sequence[int] | int | None = None) -> Value:
    """Axes of size 1 go; axes of another size that are named stay."""
    shape = node.sizes(x)
    chosen = (
        range(x.rank) if dims is None else [node.axis(d, x.rank) for d in ([dims] if isinstance(dims, int) else dims)]
    )
    gone = {a for a in chosen if x.rank and isinstance(shape[a], int) and shape[a] == 1}
    return node.graph.reshape(x, [d for a, d in enumerate(shape) if a not in gone])


def expand(node: AtenNode, x: Value, size: Sequence[Dim], *, implicit: bool = False) -> Value:
    """-1 keeps a size."""
    own: list[Dim] = [*[1] * (len(size) - x.rank), *node.sizes(x)]
    wanted = [o if isinstance(s, int) and s == -1 else s for o, s in zip(own, size, strict=True)]
    return node.graph.broadcast_to(x, wanted)


def expand_as(node: AtenNode, x: Value, other: Value) -> Value:
    return node.graph.broadcast_to(x, node.sizes(other))


def repeat(node: AtenNode, x: Value, repeats: Sequence[Dim]) -> Value:
    """As often as said along each axis; new axes come in front."""
    g = node.graph
    own: list[Dim] = [*[1] * (len(repeats) - x.rank), *node.sizes(x)]
    if all(isinstance(r, int) for r in repeats) and all(isinstance(d, int) for d in own):
        return g.call("tile", g.reshape(x, own), repeats=tuple(repeats))
    apart = [d for size in own for d in (1, size)]
    wide = [d for size, count in zip(own, repeats, strict=True) for d in (count, size)]
    whole = [size * count for size, count in zip(own, repeats, strict=True)]
    return g.reshape(g.broadcast_to(g.reshape(x, apart), wide), whole)


def cat(node: AtenNode, tensors: Sequence[Value], dim: int) -> Value:
    """Empty tensors of rank 1 are passed over, as in PyTorch."""
    parts = [node.graph.cast(t, node.dtype) for t in tensors if node.rank == 1 or t.shape != (0,)]
    if len(parts) == 1:
        return parts[0]
    return node.graph.call("concat", tuple(parts), axis=node.axis(dim, node.rank))


def stack(node: AtenNode, tensors: Sequence[Value], dim: int) -> Value:
    parts = tuple(unsqueeze(node, node.graph.cast(t, node.dtype), dim) for t in tensors)
    return cat(node, parts, dim)


def split(node: AtenNode, x: Value, size: Dim | Sequence[Dim], dim: int = 0) -> tuple[Value, ...]:
    """Parts of one size (the last may be shorter), or of the sizes given."""
    axis = node.axis(dim, x.rank)
    if isinstance(size, (int, PrimExpr)):
        size = _equal_sizes(node, node.sizes(x)[axis], size)
    return _parts(node, x, axis, size)


def chunk(node: AtenNode, x: Value, chunks: int, dim: int) -> tuple[Value, ...]:
    axis = node.axis(dim, x.rank)
    total = node.sizes(x)[axis]
    return _parts(node, x, axis, _equal_sizes(node, total, -(-total // chunks)))


def _equal_sizes(node: AtenNode, total: Dim, size: Dim) -> list[Dim]:
    """Of the parts, the last of which is what is left: how many there are, PyTorch knows where sizes are open, too."""
    whole = len(node.results) - 1
    return [*[size] * whole, total - size * whole]


def _parts(node: AtenNode, x: Value, axis: int, sizes: Sequence[Dim]) -> tuple[Value, ...]:
    if len(sizes) == 1:
        return (x,)
    numbers = [s for s in sizes if isinstance(s, int)]
    if len(numbers) == len(sizes):
        places = tuple(accumulate(numbers[:-1]))
        return node.graph.call_many("split", x, indices_or_sections=places, axis=axis)
    found: list[Value] = []
    begin: Dim = 0
    for size in sizes:
        stop = begin + size
        found.append(cut(node, x, axis, begin, stop))
        begin = stop
    return tuple(found)


def unbind(node: AtenNode, x: Value, dim: int) -> tuple[Value, ...]:
    axis = node.axis(dim, x.rank)
    count = node.known(node.sizes(x)[axis], "the size of the axis")
    return tuple(select(node, x, axis, i) for i in range(count))


def cut(node: AtenNode, x: Value, axis: int, begin: Dim, end: Dim, step: int = 1) -> Value:
    """The elements from `begin` to `end` along an axis."""
    return node.graph.call("strided_slice", x, axes=(axis,), begin=(begin,), end=(end,), strides=(step,))


def slice_(node: AtenNode, x: Value, dim: int, start: Dim | None, end: Dim | None, step: int) -> Value:
    axis = node.axis(dim, x.rank)
    size = node.sizes(x)[axis]
    begin = corner(0 if start is None else start, size)
    stop = corner(END if end is None else end, size)
    if isinstance(begin, int) and begin == 0 and stop is size and step == 1:
        return x
    return cut(node, x, axis, begin, stop, step)


def corner(place: Dim, size: Dim) -> Dim:
    """A bound of a slice, counted from the front and within the axis, as far as that is known."""
    if isinstance(place, int):
        if place >= 2**31 - 1:
            return size
        if isinstance(size, int):
            return max(place + size, 0) if place < 0 else min(place, size)
        return size + place if place < 0 else place
    return place


def select(node: AtenNode, x: Value, dim: int, index: Dim) -> Value:
    axis = node.axis(dim, x.rank)
    size = node.sizes(x)[axis]
    if isinstance(index, int) and index < 0:
        index = size + index
    if isinstance(index, PrimExpr):
        return node.graph.call("squeeze", cut(node, x, axis, index, index + 1), axis=(axis,))
    return node.graph.call("take", x, node.graph.constant(index, "int64"), axis=axis)


def narrow(node: AtenNode, x: Value, dim: int, start: Dim, length: Dim) -> Value:
    axis = node.axis(dim, x.rank)
    begin = corner(start, node.sizes(x)[axis])
    return cut(node, x, axis, begin, begin + length)


def flip(node: AtenNode, x: Value, dims: Sequence[int]) -> Value:
    for dim in dims if x.rank else ():
        x = node.graph.call("flip", x, axis=node.axis(dim, x.rank))
    return x


def size_of(node: AtenNode, x: Value, dim: int) -> Dim:
    return node.sizes(x)[node.axis(dim, x.rank)]


def count(node: AtenNode, x: Value) -> Dim:
    total: Dim = 1
    for dim in node.sizes(x):
        total = dim * total
    return total


SHAPE: dict[str, Converter] = {
    **{f"aten.{name}.default": view for name in ("view", "reshape", "_unsafe_view", "view_copy")},
    "aten.flatten.using_ints": flatten, "aten.unflatten.int": unflatten, "aten.permute.default": permute,
    "aten.permute_copy.default": permute, "aten.transpose.int": transpose, "aten.t.default": turned,
    "aten.numpy_T.default": turned, "aten.unsqueeze.default": unsqueeze, "aten.squeeze.default": squeeze,
    "aten.squeeze.dim": squeeze, "aten.squeeze.dims": squeeze, "aten.expand.default": expand,
    "aten.expand_copy.default": expand, "aten.expand_as.default": expand_as, "aten.repeat.default": repeat,
    "aten.cat.default": cat, "aten.concat.default": cat, "aten.stack.default": stack, "aten.split.Tensor": split,
    "aten.split.sizes": split, "aten.split_with_sizes.default": split, "aten.chunk.default": chunk,
    "aten.unbind_copy.int": unbind,
    "aten.unbind.int": unbind, "aten.slice.Tensor": slice_, "aten.select.int": select, "aten.narrow.default": narrow,
    "aten.flip.default": flip, "aten.sym_size.int": size_of, "aten.sym_numel.default": count,
}  # fmt: skip
