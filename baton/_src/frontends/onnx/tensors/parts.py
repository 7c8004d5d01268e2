"""Tensors put together and taken apart: concatenation, parts, slices, repetition, borders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.tiling import tiled
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.tensors.padding import pad
from baton._src.ir.tensor_info import Dim
from baton._src.ops.shape.slice_bounds import is_non_negative
from baton._src.tir import expr as tir
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.operators import equal
from baton._src.tir.operators import max as tir_max
from baton._src.tir.operators import min as tir_min
from baton._src.values.dtype import INT64


def concat(node: OnnxNode) -> Value:
    axis = int(node.attr("axis", 0))
    given = _without_empty(node.given, axis)
    if len(given) == 1:
        return given[0]
    stood_up = [v.stood_up for v in given if v.stood_up is not None]
    if len(stood_up) == len(given) and {place for _, place in stood_up} == {node.place(axis, given[0].rank)}:
        return node.graph.call("stack", tuple(x for x, _ in stood_up), axis=axis)
    found = node.graph.call("concat", tuple(given), axis=axis)
    if found.rank == 1 and found.dtype.is_int and any(v.contents() is not None for v in given):
        found.joined = tuple(given)
    return found


def _without_empty(given: Sequence[Value], axis: int) -> Sequence[Value]:
    """The tensors to be joined but for those that are known to have nothing along the axis."""

    def of_length(value: Value, length: int) -> Any:
        shape = value.shape
        at = axis if shape is None or axis >= 0 else axis + len(shape)
        return (
            None if shape is None or not 0 <= at < len(shape) else (value.dtype, *shape[:at], length, *shape[at + 1 :])
        )

    def is_empty(value: Value) -> bool:
        return value.shape is not None and (value.dtype, *value.shape) == of_length(value, 0)

    full = [value for value in given if not is_empty(value)]
    alike = {of_length(value, 0) for value in given}
    return full if full and len(alike) == 1 else given


def split(node: OnnxNode) -> tuple[Value, ...]:
    g, x, axis = node.graph, node[0], node.axis(0)
    total = None if x.shape is None else x.shape[axis]
    lengths: list[Dim]
    if "split" in node.attributes or node.optional(1) is not None:
        lengths = list(node.ints("split") or ()) or node.sizes(1, "split", len(node.outputs))
        if not lengths:
            node.fail("its split names no parts", help="give the length of each part")
        if total is not None:
            x = in_parts(node, x, axis, lengths)
    else:
        parts = int(node.attr("num_outputs", len(node.outputs)))
        if total is None:
            node.fail("the size of the split axis must be known", code="onnx-dynamic")
        each = (total + (parts - 1)) // parts
        lengths = [each] * (parts - 1) + [total - each * (parts - 1)]
    if len(lengths) != len(node.outputs):
        node.fail(f"it has {len(node.outputs)} outputs for {len(lengths)} parts", help="name each part, '' for unused")
    if len(lengths) == 1:
        return (x,)
    known = [n for n in lengths if isinstance(n, int)]
    if len(known) < len(lengths):
        return pieces(node, x, axis, lengths)
    places = [int(p) for p in np.cumsum(known)[:-1]]
    if x.dims is not None:
        return tuple(g.dims(part, x.dtype) for part in np.split(x.dims, places, axis))
    if sum(n > 0 for n in known) == 1:
        return tuple(
            x if n else g.call("strided_slice", x, axes=(axis,), begin=(0,), end=(0,), strides=(1,)) for n in known
        )
    return g.call_many("split", x, indices_or_sections=tuple(places), axis=axis)


def in_parts(node: OnnxNode, x: Value, axis: int, lengths: list[Dim]) -> Value:
    """`x`, whose axis is to be as long as these lengths together: known here, or checked at run time."""
    assert x.shape is not None
    if any(isinstance(n, int) and n < 0 for n in lengths):
        node.fail(f"parts of {lengths} are asked for")
    total, whole = x.shape[axis], sum(lengths[1:], start=lengths[0])
    if isinstance(total, int) and isinstance(whole, int) and total != whole:
        node.fail(f"parts of {lengths} do not add up to {total}")
    return node.graph.of_shape(x, (*x.shape[:axis], whole, *x.shape[axis + 1 :]))


def pieces(node: OnnxNode, x: Value, axis: int, lengths: Sequence[Dim]) -> tuple[Value, ...]:
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
    common = [_common(g.prover, a, b) for a, b in zip(own, wanted, strict=True)]
    known = [a if isinstance(a, int) and a != 1 else c for a, c in zip(own, common, strict=True)]
    return g.of_shape(g.broadcast_to(x, common), tuple(known))


def _common(prover: Analyzer, own: Dim, wanted: Dim) -> Dim:
    """The size that a size and the one asked for give: a 1 yields on both sides. Others that differ are refused where
    the tensor is repeated."""
    if isinstance(own, int) and own == 1:
        return wanted
    if isinstance(wanted, int):
        return own if wanted == 1 else wanted
    size = tir.IntImm("int64", own) if isinstance(own, int) else own
    return size if prover.equal(size, wanted) else tir.Select(equal(wanted, 1), size, wanted)


def tile(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    repeats = node.sizes(1, "repeats", x.rank if x.rank >= 0 else None)
    if x.shape is not None and len(repeats) != x.rank:
        node.fail(f"it has {len(repeats)} repeats for {x.rank} axes", help="1 stands for an axis as it is")
    if x.shape is None and not all(isinstance(r, int) for r in repeats):
        node.fail("the shape must be known", code="onnx-dynamic")
    return tiled(g, x, repeats)


def slice_(node: OnnxNode) -> Value:
    g, x = node.graph, node[0]
    if "starts" in node.attributes:
        begin, end = node.ints("starts") or (), node.ints("ends") or ()
        axes = node.ints("axes") or tuple(range(len(begin)))
        return g.call("strided_slice", x, axes=axes, begin=begin, end=end, strides=(1,) * len(begin))
    given_axes, given_steps = node.constant(3, "axes"), node.constant(4, "steps")
    lengths = [_length(v) for v in node.inputs[1:] if v is not None]
    if known := [n for n in lengths if isinstance(n, int)]:
        node.inputs[1:3] = [node.of_length(node[index], known[0]) for index in (1, 2)]
    count = _length(node[1])
    if not isinstance(count, int):
        node.fail_dynamic("the number of starts must be known", node[1])
    axes = tuple(int(a) for a in given_axes) if given_axes is not None else tuple(range(count))
    steps = tuple(int(s) for s in given_steps) if given_steps is not None else (1,) * count
    rank = node.rank()
    axes = tuple(node.place(a, rank) for a in axes)
    counts = {"starts": count, "ends": _length(node[2]), "axes": len(axes), "steps": len(steps)}
    if len({c for c in counts.values() if isinstance(c, int)}) > 1:
        listed = ", ".join(f"{c} {name}" for name, c in counts.items())
        node.fail(f"it has {listed}", help="give one of each for each axis that is cut")
    starts, stops = (_corner(node, index, axes, steps) for index in (1, 2))
    if x.shape is not None and _is_all([x.shape[a] for a in axes], starts, stops, steps):
        return x
    return g.call("strided_slice", x, axes=axes, begin=tuple(starts), end=tuple(stops), strides=steps)


def _is_all(dims: Sequence[Dim], starts: Sequence[Dim], stops: Sequence[Dim], steps: Sequence[int]) -> bool:
    """Whether a slice, all of whose numbers are known, leaves nothing out."""
    return all(
        step == 1 and all(isinstance(n, int) for n in (dim, start, stop)) and start == 0 and stop >= dim
        for dim, start, stop, step in zip(dims, starts, stops, steps, strict=True)
    )


def _length(vector: Value) -> Dim:
    return vector.shape[0] if vector.shape else 1


def _corner(node: OnnxNode, index: int, axes: tuple[int, ...], steps: tuple[int, ...]) -> list[Dim]:
    """The starts (operand 1) or ends of a slice. What a run tells, and what ONNX brings within the axis and the
    operator does not (a symbolic bound that may count from the end, a start before the front where the step goes
    backwards), is counted from the front here. -1 is then the end of what goes backwards to the front."""
    given, dims = node[index], node[0].shape
    lowest = [-1 if index == 2 and s < 0 else 0 for s in steps]
    contents = given.contents()
    if contents is None:
        if dims is None:
            node.fail_dynamic("an index counted from the end of an axis of unknown size must be known", given)
        return _named_corner(node, given, [dims[a] for a in axes], lowest)
    found: list[Dim] = []
    for bound, axis, step, low in zip(contents.reshape(-1), axes, steps, lowest, strict=True):
        starts_before = index == 1 and step < 0 and isinstance(bound, int) and bound < 0
        if is_non_negative(bound) or (isinstance(bound, int) and not starts_before):
            found.append(_bound(bound))
        elif dims is None:
            node.fail("the rank and sizes must be known", code="onnx-dynamic")
        else:
            size, from_end = dims[axis], tir_max(dims[axis] + _bound(bound), low)
            found.append(from_end if isinstance(bound, int) else tir.Select(bound < 0, from_end, tir_min(bound, size)))
    return found


def _named_corner(node: OnnxNode, given: Value, dims: list[Dim], lowest: list[int]) -> list[Dim]:
    """Bounds that a run computes, brought within the axes. Those that may be -1 are named as what is one more: a size
    is never negative."""
    g, low = node.graph, node.graph.constant(np.array(lowest, np.int64))
    sizes, bound = g.dims(dims), g.cast(given, INT64)
    from_end = g.call("maximum", g.call("add", bound, sizes), low)
    bound = g.call("where", g.call("less", bound, g.scalar(0, bound)), from_end, g.call("minimum", bound, sizes))
    contents = g.numbers(g.call("subtract", bound, low))
    if contents is None:
        node.fail_dynamic("a corner depends on values known only at run time", given)
    return [d + k for d, k in zip(contents.reshape(-1), lowest, strict=True)]


def _bound(dim: Dim) -> Dim:
    """Exporters write 2**63-1 for "to the end"."""
    return max(min(dim, 2**31 - 1), -(2**31)) if isinstance(dim, int) else dim


PARTS: dict[str, Converter] = {
    "Concat": concat, "Split": split, "Expand": expand, "Tile": tile, "Pad": pad, "Slice": slice_,
}  # fmt: skip
