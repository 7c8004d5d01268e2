"""Operators that move or name data without computing: reshapes, transposes, concatenation, padding, constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.padding import pad
from baton._src.frontends.onnx.reader import dtype_of
from baton._src.ir.tensor_info import Dim
from baton._src.tir import expr as tir
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.operators import equal
from baton._src.values.dtype import INT64


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


def constant(node: OnnxNode) -> Value:
    for name, content in node.attributes.items():
        if name == "value":
            return node.graph.constant(content)
        if name in ("value_float", "value_floats"):
            return node.graph.constant(np.array(content, np.float32))
        if name in ("value_int", "value_ints"):
            return node.graph.constant(np.array(content, np.int64))
    node.fail("only tensor, float and integer constants are supported")


def constant_of_shape(node: OnnxNode) -> Value:
    fill = node.attr("value")
    array = np.zeros(1, np.float32) if fill is None else fill
    dims = node.sizes(0, "the shape")
    if all(isinstance(d, int) for d in dims):
        sizes = [d for d in dims if isinstance(d, int)]
        return node.graph.constant(np.full(sizes, array.reshape(-1)[0], array.dtype))
    return node.graph.broadcast_to(node.graph.constant(array.reshape(())), dims)


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
        node.fail(f"cannot give {x.info} the shape {known} of no elements")
    return node.graph.constant(np.zeros(known), x.dtype)


def flatten(node: OnnxNode) -> Value:
    x = node[0]
    if x.shape is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    axis = int(node.attr("axis", 1))
    axis = axis + node.rank() if axis < 0 else axis
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
    axes = node.ints("perm") or tuple(reversed(range(node.rank())))
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
    axes = node.ints("axes", 1)
    if not axes:
        return node[0]
    x = node[0]
    if x.shape is None:
        return node.graph.call("expand_dims", x, axis=axes)
    rank = len(x.shape) + len(axes)
    places = {node.place(a, rank) for a in axes}
    if len(places) < len(axes):
        node.fail(f"axes {list(axes)} name one twice")
    rest = iter(x.shape)
    return node.graph.reshape(x, [1 if i in places else next(rest) for i in range(rank)])


def concat(node: OnnxNode) -> Value:
    given = node.given
    if len(given) == 1:
        return given[0]
    return node.graph.call("concat", tuple(given), axis=int(node.attr("axis", 0)))


def split(node: OnnxNode) -> tuple[Value, ...]:
    g, x, axis = node.graph, node[0], node.axis(0)
    total = None if x.shape is None else x.shape[axis]
    lengths: list[Dim]
    if "split" in node.attributes or node.optional(1) is not None:
        lengths = list(node.ints("split") or ()) or node.sizes(1, "split")
        if total is not None:
            x = _in_parts(node, x, axis, lengths)
    else:
        parts = int(node.attr("num_outputs", len(node.outputs)))
        if total is None:
            node.fail("the size of the split axis must be known", code="onnx-dynamic")
        each = (total + (parts - 1)) // parts
        lengths = [each] * (parts - 1) + [total - each * (parts - 1)]
    if len(lengths) == 1:
        return (x,)
    known = [n for n in lengths if isinstance(n, int)]
    if len(known) < len(lengths):
        return _pieces(node, x, axis, lengths)
    places = [int(p) for p in np.cumsum(known)[:-1]]
    return g.call_many("split", x, indices_or_sections=tuple(places), axis=axis)


def _in_parts(node: OnnxNode, x: Value, axis: int, lengths: list[Dim]) -> Value:
    """`x`, whose axis is to be as long as these lengths together: known here, or checked at run time."""
    assert x.shape is not None
    total, whole = x.shape[axis], sum(lengths[1:], start=lengths[0])
    if isinstance(total, int) and isinstance(whole, int) and total != whole:
        node.fail(f"parts of {lengths} do not make up {total}")
    return node.graph.of_shape(x, (*x.shape[:axis], whole, *x.shape[axis + 1 :]))


def _pieces(node: OnnxNode, x: Value, axis: int, lengths: list[Dim]) -> tuple[Value, ...]:
    """Parts of symbolic lengths."""
    found: list[Value] = []
    begin: Dim = 0
    for length in lengths:
        end = begin + length
        part = node.graph.call("strided_slice", x, axes=(axis,), begin=(begin,), end=(end,), strides=(1,))
        found.append(part)
        begin = end
    return tuple(found)


def expand(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    wanted = node.sizes(1, "the new shape")
    if x.shape is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    own: list[Dim] = [*[1] * (len(wanted) - len(x.shape)), *x.shape]
    wanted = [*[1] * (len(own) - len(wanted)), *wanted]
    return g.broadcast_to(x, [_common(g.prover, a, b) for a, b in zip(own, wanted, strict=True)])


def _common(prover: Analyzer, own: Dim, wanted: Dim) -> Dim:
    """The size that a size and the one asked for give: a 1 yields on both sides."""
    if isinstance(own, int):
        return wanted if own == 1 else own
    if isinstance(wanted, int):
        return own if wanted == 1 else wanted
    return own if prover.equal(own, wanted) else tir.Select(equal(own, 1), wanted, own)


def tile(node: OnnxNode) -> Value:
    g, x, repeats = node.graph, node[0], node.sizes(1, "repeats")
    if all(isinstance(r, int) for r in repeats):
        return g.call("tile", x, repeats=tuple(repeats))
    if x.shape is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    apart: list[Dim] = []
    wide: list[Dim] = []
    for size, count in zip(x.shape, repeats, strict=True):
        apart += [1, size]
        wide += [count, size]
    whole = [size * count for size, count in zip(x.shape, repeats, strict=True)]
    return g.reshape(g.broadcast_to(g.reshape(x, apart), wide), whole)


def slice_(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    if "starts" in node.attributes:
        begin, end = node.ints("starts") or (), node.ints("ends") or ()
        axes = node.ints("axes") or tuple(range(len(begin)))
        return g.call("strided_slice", x, axes=axes, begin=begin, end=end, strides=(1,) * len(begin))
    given_axes, given_steps = node.constant(3, "axes"), node.constant(4, "steps")
    count = node[1].shape[0] if node[1].shape else 1
    if not isinstance(count, int):
        node.fail_dynamic("the number of starts must be known", node[1])
    axes = tuple(int(a) for a in given_axes) if given_axes is not None else tuple(range(count))
    steps = tuple(int(s) for s in given_steps) if given_steps is not None else (1,) * count
    rank = node.rank()
    axes = tuple(node.place(a, rank) for a in axes)
    starts, stops = (_corner(node, index, axes, steps) for index in (1, 2))
    clipped = [_bound(b) for b in starts], [_bound(e) for e in stops]
    return g.call("strided_slice", x, axes=axes, begin=tuple(clipped[0]), end=tuple(clipped[1]), strides=steps)


def _corner(node: OnnxNode, index: int, axes: tuple[int, ...], steps: tuple[int, ...]) -> list[Dim]:
    """The starts or ends of a slice; those that a run computes are counted from the front and brought within."""
    g, given, dims = node.graph, node[index], node[0].shape
    if given.contents() is None:
        if dims is None or any(s < 0 for s in steps):
            node.fail_dynamic("what is counted from an unknown end, or backwards, must be known", given)
        sizes, given = g.dims([dims[a] for a in axes]), g.cast(given, INT64)
        zero = g.scalar(0, given)
        given = g.call("where", g.call("less", given, zero), g.call("add", given, sizes), given)
        given = g.call("minimum", g.call("maximum", given, zero), sizes)
    contents = g.numbers(given)
    if contents is None:
        node.fail_dynamic("a corner depends on values known only at run time", node[index])
    return list(contents.reshape(-1))


def _bound(dim: Dim) -> Dim:
    """Exporters write 2**63-1 for "to the end"."""
    return max(min(dim, 2**31 - 1), -(2**31)) if isinstance(dim, int) else dim


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


def range_(node: OnnxNode) -> Value:
    arrays = [node[i].array for i in range(3)]
    dtype = node[0].dtype
    if all(a is not None for a in arrays):
        numbers = [a.reshape(-1)[0].item() for a in arrays if a is not None]
        return node.graph.constant(np.arange(*numbers).astype(dtype.numpy))
    found = [node.graph.numbers(node[i]) for i in range(3)]
    bounds: list[Any] = [b.reshape(-1)[0] for b in found if b is not None]
    if len(bounds) < 3 or not isinstance(bounds[2], int):
        return _counted_range(node)
    start, limit, delta = bounds
    if delta < 0:  # as many as lie the other way, counted down
        g = node.graph
        steps = g.call("arange", start=0, stop=start - limit, step=-delta, dtype=dtype)
        return g.call("subtract", g.cast(g.reshape(node[0], ()), dtype), steps)
    return node.graph.call("arange", start=start, stop=limit, step=delta, dtype=dtype)


def _counted_range(node: OnnxNode) -> Value:
    """start + delta * (0, 1, ...) as often as a run finds: of floats, and where the step's sign is not known."""
    g, wide = node.graph, "float64"
    start, limit, delta = (g.reshape(node[k], ()) for k in range(3))
    span = g.call("subtract", g.cast(limit, wide), g.cast(start, wide))
    count = g.call("ceil", g.call("divide", span, g.cast(delta, wide)))
    lengths = g.numbers(g.cast(g.call("maximum", count, g.constant(0.0, wide)), INT64))
    if lengths is None:
        node.fail("the range depends on values known only at run time", code="onnx-dynamic")
    steps = g.call("arange", start=0, stop=lengths.reshape(-1)[0], step=1, dtype=INT64)
    return g.call("add", start, g.call("multiply", g.cast(steps, start.dtype), delta))


def trilu(node: OnnxNode) -> Value:
    g, x, k = node.graph, node[0], node.optional(1)
    upper = bool(node.attr("upper", 1))
    diagonal = np.zeros(1, np.int64) if k is None else k.array
    if diagonal is not None:
        return g.call("triu" if upper else "tril", x, k=int(diagonal.reshape(-1)[0]))
    if x.shape is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    beyond = _beyond(node, x.shape[-2:])
    kept = g.call("greater_equal" if upper else "less_equal", beyond, g.reshape(g.cast(node[1], INT64), ()))
    return g.call("where", kept, x, g.scalar(0, x))


def eye_like(node: OnnxNode) -> Value:
    """Ones where the column's number is the row's and `k` more."""
    g, dims = node.graph, node[0].shape
    if dims is None:
        node.fail("the shape must be known", code="onnx-dynamic")
    dtype = dtype_of(node.attr("dtype"), node.title) if "dtype" in node.attributes else node[0].dtype
    beyond = _beyond(node, dims)
    return g.cast(g.call("equal", beyond, g.scalar(int(node.attr("k", 0)), beyond)), dtype)


def _beyond(node: OnnxNode, dims: Sequence[Dim]) -> Value:
    """int64 [rows, columns]: how far each element of a matrix lies to the right of the main diagonal."""
    g = node.graph
    rows, columns = (g.call("arange", start=0, stop=d, step=1, dtype=INT64) for d in dims)
    return g.call("subtract", columns, g.reshape(rows, (dims[0], 1)))


SHAPE: dict[str, Converter] = {
    "Shape": shape, "Size": size, "Constant": constant, "ConstantOfShape": constant_of_shape, "Reshape": reshape,
    "Flatten": flatten, "Transpose": transpose, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Concat": concat,
    "Split": split, "Expand": expand, "Tile": tile, "Pad": pad, "Slice": slice_, "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth, "Range": range_, "Trilu": trilu, "EyeLike": eye_like,
}  # fmt: skip
