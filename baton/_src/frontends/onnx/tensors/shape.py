"""Operators that tell or change a shape, and what lies in order of it: reshapes, transposes, blocks."""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim


def shape(node: OnnxNode) -> Value:
    x, dims = node[0], node[0].shape
    start, end = int(node.attr("start", 0)), node.attr("end")
    if dims is None:
        if start or end is not None:
            node.fail("a part of a shape needs the shape's rank", code="onnx-dynamic")
        return node.graph.cast(node.graph.call("shape_tensor", x, dtype="int64"), "int64")
    return node.graph.dims(list(dims[start : end if end is None else int(end)]))


def size(node: OnnxNode) -> Value:
    dims = node[0].shape
    if dims is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    total: Dim = 1
    for dim in dims:
        total = dim * total
    return node.graph.dims(np.array(total, dtype=object))


def reshape(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    if "shape" in node.attributes:
        wanted: list[Dim] = [int(d) for d in node.attr("shape")]
    elif node[1].contents() is None:
        if node.attr("allowzero", 0):
            node.fail_dynamic("a shape that may mean 0 as a size must be known", node[1])
        return g.call("dyn.reshape", x, node[1])
    else:
        wanted = node.sizes(1, "the new shape")
    if not node.attr("allowzero", 0):
        for position, dim in enumerate(wanted):
            if isinstance(dim, int) and dim == 0:
                if x.shape is None or position >= len(x.shape):
                    node.fail(f"the new shape copies dim {position}, which the input does not have")
                wanted[position] = x.shape[position]
    elif any(isinstance(d, int) and d == 0 for d in wanted):
        return _no_elements(node, x, wanted)
    return g.reshape(x, wanted)


def _no_elements(node: OnnxNode, x: Value, dims: list[Dim]) -> Value:
    """A tensor without elements in a shape that says so: nothing of the operand is left to compute."""
    known = [d for d in dims if isinstance(d, int)]
    if len(known) != len(dims) or -1 in known:
        node.fail("with allowzero, a shape with a 0 must be known and hold no -1", code="onnx-dynamic")
    if x.shape is None or not any(isinstance(d, int) and d == 0 for d in x.shape):
        node.fail(f"cannot give {x} the shape {known}, which has no elements")
    return node.graph.constant(np.zeros(known), x.dtype)


def flatten(node: OnnxNode) -> Value:
    x = node[0]
    if x.shape is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    axis, rank = int(node.attr("axis", 1)), node.rank()
    if not -rank <= axis <= rank:
        node.fail(f"axis {axis} is out of range for rank {rank}", help=f"use -{rank} to {rank}")
    axis = axis + rank if axis < 0 else axis
    if axis == 1 and node.graph.language.name == "relay":  # as external compilers look for it
        return node.graph.call("nn.batch_flatten", x)
    rows: Dim = 1
    for dim in x.shape[:axis]:
        rows = dim * rows
    return node.graph.reshape(x, (rows, _product(x.shape[axis:])))


def _product(dims: tuple[Dim, ...]) -> Dim:
    total: Dim = 1
    for dim in dims:
        total = dim * total
    return total


def transpose(node: OnnxNode) -> Value:
    rank = node.rank()
    said = node.ints("perm") or tuple(reversed(range(rank)))
    axes = [axis + rank if axis < 0 else axis for axis in said]  # as PyTorch's exporter writes them
    if sorted(axes) != list(range(rank)):
        node.fail(f"its perm is {list(said)}", help=f"it must name each of the axes 0 to {rank - 1} of {node[0]} once")
    return node.graph.transpose(node[0], axes)


def squeeze(node: OnnxNode) -> Value:
    axes, x = node.ints("axes", 1), node[0]
    if axes and x.shape is not None:
        places = {node.place(a, len(x.shape)) for a in axes}
        x = node.graph.of_shape(
            x, tuple(1 if k in places and not isinstance(d, int) else d for k, d in enumerate(x.shape))
        )
    return node.graph.call("squeeze", x, axis=axes or None)


def unsqueeze(node: OnnxNode) -> Value:
    axes, x = node.ints("axes", 1), node[0]
    if axes is None:
        node.fail("its axes are missing", help="name them in input 1 (before opset 13 in the attribute 'axes')")
    if not axes:
        return x
    if x.shape is None:
        return node.graph.call("expand_dims", x, axis=axes)
    rank = len(x.shape) + len(axes)
    places = {node.place(a, rank) for a in axes}
    if len(places) < len(axes):
        node.fail(f"axes {list(axes)} repeat an axis")
    rest = iter(x.shape)
    found = node.graph.reshape(x, [1 if i in places else next(rest) for i in range(rank)])
    if len(places) == 1 and found.contents() is None:
        found.stood_up = x, min(places)
    return found


def depth_to_space(node: OnnxNode) -> Value:
    mode = str(node.attr("mode", "DCR"))
    return node.graph.call(
        "nn.depth_to_space", node[0], block_size=int(node.needed("blocksize")), layout="NCHW", mode=mode
    )


def space_to_depth(node: OnnxNode) -> Value:
    g, x, block = node.graph, node[0], int(node.needed("blocksize"))
    if str(node.attr("mode", "DCR")) == "DCR":
        return g.call("nn.space_to_depth", x, block_size=block, layout="NCHW")
    shape = x.shape
    if shape is None or len(shape) != 4:
        node.fail("the shape must be known and of rank 4", code="onnx-dynamic")
    n, c, h, w = shape
    parts = g.reshape(x, (n, c, h // block, block, w // block, block))
    return g.reshape(g.transpose(parts, (0, 1, 3, 5, 2, 4)), (n, c * (block * block), h // block, w // block))


SHAPE: dict[str, Converter] = {
    "Shape": shape, "Size": size, "Reshape": reshape, "Flatten": flatten, "Transpose": transpose, "Squeeze": squeeze,
    "Unsqueeze": unsqueeze, "DepthToSpace": depth_to_space, "SpaceToDepth": space_to_depth,
}  # fmt: skip
