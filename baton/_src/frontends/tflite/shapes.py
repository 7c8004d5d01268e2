"""Operators that move elements or ask for sizes; integers that stand for real numbers move as they are."""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.tiling import tiled
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.tflite.node import Converter, Node
from baton._src.frontends.tflite.slices import SLICES, cut
from baton._src.ir.tensor_info import Dim
from baton._src.values.dtype import INT32, INT64


def reshape(node: Node) -> Value:
    """The shape is operand 1, or an option of older files; it may hold one -1."""
    given = node.optional(1)
    wanted = list(node.option("NewShape", ())) if given is None else node.numbers(1, "the new shape")
    return node.moved(node.graph.reshape(node[0], wanted))


def expand_dims(node: Node) -> Value:
    (axis,) = node.constants(1, "the axis")
    shape = list(node.shape())
    shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, 1)
    return node.moved(node.graph.reshape(node[0], shape))


def squeeze(node: Node) -> Value:
    """Drop the axes named, or all of size 1."""
    shape = node.shape()
    named = [node.axis(axis) for axis in node.option("SqueezeDims", ())]
    gone = named or [axis for axis, size in enumerate(shape) if isinstance(size, int) and size == 1]
    return node.moved(node.graph.reshape(node[0], [size for axis, size in enumerate(shape) if axis not in gone]))


def transpose(node: Node) -> Value:
    axes = [node.axis(axis) for axis in node.constants(1, "the permutation")]
    return node.moved(node.graph.transpose(node[0], axes))


def _operands(node: Node) -> list[Value]:
    """All operands, as the result holds them."""
    return [node.moved(node[place], place) for place in range(len(node.operands))]


def concatenate(node: Node) -> Value:
    parts = tuple(_operands(node))
    joined = node.graph.call("concat", parts, axis=node.axis(int(node.option("Axis", 0))))
    if joined.rank == 1 and joined.dtype.is_int:
        joined.joined = parts  # as the sizes of a slice, of which a run tells only some
    return node.stored(node.activated(joined)) if node.option("FusedActivationFunction", 0) else joined


def pack(node: Node) -> Value:
    rank, axis = len(node.shape()), int(node.option("Axis", 0))
    return node.graph.call("stack", tuple(_operands(node)), axis=axis if axis >= 0 else rank + 1 + axis)


def unpack(node: Node) -> list[Value]:
    g, axis, shape = node.graph, node.axis(int(node.option("Axis", 0))), node.shape()
    kept = [size for place, size in enumerate(shape) if place != axis]
    parts = [cut(node, node[0], axis, k, k + 1) for k in range(len(node.results))]
    return [node.moved(g.reshape(part, kept), 0, place) for place, part in enumerate(parts)]


def split(node: Node) -> list[Value]:
    """Operands are the axis and what is split into equal parts."""
    (axis,) = node.constants(0, "the axis")
    axis, count = node.axis(axis, 1), len(node.results)
    size = node.shape(1)[axis]
    if isinstance(size, int) and size % count:
        node.fail(f"an axis of size {size} cannot be split into {count} equal parts")
    step = size // count
    return [node.moved(cut(node, node[1], axis, k * step, (k + 1) * step), 1, k) for k in range(count)]


def split_by_sizes(node: Node) -> list[Value]:
    """Operands are what is split, the sizes of the parts (one may be -1, the rest), and the axis."""
    (axis,) = node.constants(2, "the axis")
    axis = node.axis(axis)
    sizes: list[Dim] = [*node.constants(1, "the sizes of the parts")]
    if -1 in sizes:
        sizes[sizes.index(-1)] = node.shape()[axis] - (sum(sizes) + 1)
    ends = [sum(sizes[: k + 1]) for k in range(len(sizes))]
    return [node.moved(cut(node, node[0], axis, e - s, e), 0, k) for k, (s, e) in enumerate(zip(sizes, ends))]


def pad(node: Node) -> Value:
    """What is added stands for 0, or is operand 2."""
    pairs, fill = _widths(node), node.optional(2)
    found = node.quantised(0)
    if fill is not None:
        if fill.array is None:
            node.fail("what is added must be constant")
        value = fill.array.item()
    else:
        value = 0 if found is None else int(found.zero_point.reshape(-1)[0])
    return node.moved(node.graph.call("nn.pad", node[0], pad_width=pairs, pad_value=value, pad_mode="constant"))


def _widths(node: Node) -> tuple[int, ...]:
    return tuple(node.constants(1, "the widths of the border"))


def mirror_pad(node: Node) -> Value:
    """Mode 0 mirrors at the last element, mode 1 behind it."""
    widths = _widths(node)
    pairs = tuple(zip(widths[::2], widths[1::2]))
    mode = "SYMMETRIC" if node.option("Mode", 0) else "REFLECT"
    return node.moved(node.graph.call("nn.mirror_pad", node[0], pad_width=pairs, mode=mode))


def tile(node: Node) -> Value:
    return node.moved(tiled(node.graph, node[0], node.numbers(1, "the repeats")))


def broadcast_to(node: Node) -> Value:
    return node.moved(node.graph.broadcast_to(node[0], node.numbers(1, "the new shape")))


def broadcast_args(node: Node) -> Value:
    """The common shape of two shapes."""
    shapes = [node.numbers(place, "the shapes") for place in range(2)]
    rank = max(map(len, shapes))
    left, right = ([*[1] * (rank - len(shape)), *shape] for shape in shapes)
    sizes = [b if isinstance(a, int) and a == 1 else a for a, b in zip(left, right)]
    return node.graph.dims(sizes, node.results[0].dtype)


def shape_of(node: Node) -> Value:
    return node.graph.dims(list(node.shape()), node.results[0].dtype)


def rank(node: Node) -> Value:
    return node.graph.constant(len(node.shape()), INT32)


def fill(node: Node) -> Value:
    return node.moved(node.graph.broadcast_to(node[1], node.numbers(0, "the shape")), 1)


def range_(node: Node) -> Value:
    """start, limit and step"""
    g, dtype = node.graph, node[0].dtype
    if dtype.is_float:
        bounds = [v.array.item() for v in (node[0], node[1], node[2]) if v.array is not None]
        if len(bounds) < 3:
            node.fail("the bounds of a range of floats must be constant")
        return g.constant(np.arange(*bounds).astype(dtype.numpy))
    start, stop, step = (node.numbers(place, "the bounds of the range")[0] for place in range(3))
    return g.cast(g.call("arange", start=start, stop=stop, step=step, dtype=INT64), dtype)


def reverse(node: Node) -> Value:
    found = node[0]
    for axis in node.constants(1, "the axes"):
        found = node.graph.call("flip", found, axis=node.axis(axis))
    return node.moved(found)


def reverse_sequence(node: Node) -> Value:
    return node.moved(node.graph.call(
        "reverse_sequence", node[0], node[1], seq_axis=int(node.option("SeqDim", 0)),
        batch_axis=int(node.option("BatchDim", 0)),
    ))  # fmt: skip


def space_to_batch(node: Node) -> Value:
    """The border stands for 0."""
    block, widths = node.constants(1, "the block"), node.constants(2, "the border")
    found = node.quantised(0)
    value = 0.0 if found is None else float(found.zero_point.reshape(-1)[0])
    pairs = tuple(zip(widths[::2], widths[1::2]))
    return node.moved(node.graph.call(
        "nn.space_to_batch_nd", node[0], block_shape=tuple(block), paddings=pairs, pad_value=value
    ))  # fmt: skip


def batch_to_space(node: Node) -> Value:
    block, widths = node.constants(1, "the block"), node.constants(2, "the crops")
    crops = tuple(zip(widths[::2], widths[1::2]))
    return node.moved(node.graph.call("nn.batch_to_space_nd", node[0], block_shape=tuple(block), crops=crops))


def space_to_depth(node: Node) -> Value:
    size = int(node.option("BlockSize", 1))
    return node.moved(node.graph.call("nn.space_to_depth", node[0], block_size=size, layout="NHWC"))


def depth_to_space(node: Node) -> Value:
    size = int(node.option("BlockSize", 1))
    return node.moved(node.graph.call("nn.depth_to_space", node[0], block_size=size, layout="NHWC", mode="DCR"))


SHAPES: dict[str, Converter] = {
    **SLICES,
    "RESHAPE": reshape, "EXPAND_DIMS": expand_dims, "SQUEEZE": squeeze, "TRANSPOSE": transpose,
    "CONCATENATION": concatenate, "PACK": pack, "UNPACK": unpack, "SPLIT": split, "SPLIT_V": split_by_sizes,
    "PAD": pad, "PADV2": pad, "MIRROR_PAD": mirror_pad, "TILE": tile,
    "BROADCAST_TO": broadcast_to, "BROADCAST_ARGS": broadcast_args, "SHAPE": shape_of, "RANK": rank, "FILL": fill,
    "RANGE": range_, "REVERSE_V2": reverse, "REVERSE_SEQUENCE": reverse_sequence, "SPACE_TO_BATCH_ND": space_to_batch,
    "BATCH_TO_SPACE_ND": batch_to_space, "SPACE_TO_DEPTH": space_to_depth, "DEPTH_TO_SPACE": depth_to_space,
}  # fmt: skip
