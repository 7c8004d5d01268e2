"""Rules of operators that move, choose and repeat elements, and of those that make tensors of given sizes."""

from __future__ import annotations

import operator
from typing import Any

import torch
from onnx import numpy_helper

from baton._src.tools.benchmark.torch_graph.known import to_torch, torch_dtype
from baton._src.tools.benchmark.torch_graph.recorder import Number
from baton._src.tools.benchmark.torch_graph.sizes import shape
from baton._src.tools.benchmark.torch_graph.translation import Node, Rule

functional: Any = torch.nn.functional
EVERYTHING = slice(None)


def _at(axis: int, index: Any) -> tuple[Any, ...]:
    """The subscript that takes `index` along an axis, counted from the front or from the back."""
    return (EVERYTHING,) * axis + (index,) if axis >= 0 else (Ellipsis, index) + (EVERYTHING,) * (-axis - 1)


def _gather(node: Node) -> Any:
    axis, index = node.attribute("axis", 0), node.sizes(1)
    if index is not None and index.is_scalar:
        return node.call(torch.select, node.tensor(0), axis, index.numbers[0])
    return node.call(operator.getitem, node.tensor(0), _at(axis, node.tensor(1)))


def _columns(node: Node, indices: Any) -> tuple[Any, ...]:
    """The subscript that the last axis of `indices` spells."""
    count = node.dims(1)[-1]
    if count is None or node.attribute("batch_dims", 0):
        raise node.refuse("with batches, or with indices of unknown length, is not covered")
    return tuple(node.call(torch.select, indices, -1, i) for i in range(count))


def _gather_nd(node: Node) -> Any:
    x, indices = node.tensors()
    return node.call(operator.getitem, x, _columns(node, indices))


def _scatter_nd(node: Node) -> Any:
    x, indices, updates = node.tensors()
    mode = node.attribute("reduction", "none")
    if mode not in ("none", "add"):
        raise node.refuse(f"with reduction {mode!r} is not covered")
    return node.call(torch.index_put, x, _columns(node, indices), updates, mode == "add")


def _scatter_elements(node: Node) -> Any:
    x, indices, updates = node.tensors()
    if (mode := node.attribute("reduction", "none")) != "none":
        raise node.refuse(f"with reduction {mode!r} is not covered")
    return node.call(torch.scatter, x, node.attribute("axis", 0), indices, updates)


def _slice(node: Node) -> Any:
    x, starts, ends = node.tensor(0), node.numbers(1), node.numbers(2)
    axes = node.integers(3) if node.has(3) else range(len(starts))
    steps = node.integers(4) if node.has(4) else (1,) * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 0:
            x = _reversed(node, x, start, end, axis, step)
        else:
            x = node.call(operator.getitem, x, _at(axis, slice(start, end, step)))
    return x


def _reversed(node: Node, x: Any, start: Number, end: Number, axis: int, step: int) -> Any:
    """PyTorch has no steps backwards; the whole axis is flipped."""
    size = node.dims(0)[axis]
    is_whole = isinstance(start, int) and isinstance(end, int) and end < -(size or 1 << 31)
    if step != -1 or not is_whole or (start != -1 and (size is None or start < size - 1)):
        raise node.refuse("backwards over a part of an axis is not covered")
    return node.call(torch.flip, x, (axis,))


def _split(node: Node) -> Any:
    axis, count = node.attribute("axis", 0), len(node.outputs)
    sizes = node.axes("split", 1)
    parts = (
        node.call(torch.split, node.tensor(0), sizes, axis)
        if sizes
        else node.call(torch.chunk, node.tensor(0), count, axis)
    )
    return tuple(node.call(operator.getitem, parts, i) for i in range(count))


def _concat(node: Node) -> Any:
    return node.call(torch.cat, node.tensors(), node.attribute("axis"))


def _reshape(node: Node) -> Any:
    """A zero stands for the input's own size."""
    x, keeps = node.tensor(0), not node.attribute("allowzero", 0)
    target = tuple(node.size(x, i) if keeps and n == 0 else n for i, n in enumerate(node.numbers(1)))
    return node.call(torch.reshape, x, target)


def _flatten(node: Node) -> Any:
    """To a matrix: the axes before `axis`, and the others."""
    x, axis, rank = node.tensor(0), node.attribute("axis", 1), len(node.dims(0))
    axis %= rank + 1 if axis == rank else rank or 1
    if axis == 0:
        return node.call(torch.reshape, x, (1, -1))
    rows = node.call(torch.flatten, x, 0, axis - 1) if axis > 1 else x
    return node.call(torch.flatten, rows, 1) if axis < rank else node.call(torch.unsqueeze, rows, 1)


def _transpose(node: Node) -> Any:
    order = node.attribute("perm") or range(len(node.dims(0)))[::-1]
    return node.call(torch.permute, node.tensor(0), tuple(order))


def _squeeze(node: Node) -> Any:
    axes = node.axes("axes", 1)
    return node.call(torch.squeeze, node.tensor(0), *(() if axes is None else (axes,)))


def _unsqueeze(node: Node) -> Any:
    x, axes = node.tensor(0), node.axes("axes", 1) or ()
    if len(axes) > 1 and min(axes) < 0:
        rank = len(node.dims(0)) + len(axes)
        axes = tuple(axis % rank for axis in axes)
    for axis in sorted(axes):
        x = node.call(torch.unsqueeze, x, axis)
    return x


def _expand(node: Node) -> Any:
    """Both sides broadcast: where the target says 1 the input keeps its size."""
    target, rank = node.numbers(1), len(node.dims(0))
    target = (1,) * (rank - len(target)) + target
    new = len(target) - rank
    return node.method("expand", node.tensor(0), tuple(-1 if n == 1 and i >= new else n for i, n in enumerate(target)))


def _tile(node: Node) -> Any:
    return node.method("repeat", node.tensor(0), node.numbers(1))


def _pad(node: Node) -> Any:
    """PyTorch counts the pairs of pads from the last axis."""
    mode, pads = node.attribute("mode", "constant"), node.axes("pads", 1) or ()
    if mode != "constant" or node.has(3):
        raise node.refuse("with modes other than 'constant', or with axes, is not covered")
    begin, end = pads[: len(pads) // 2], pads[len(pads) // 2 :]
    order = [p for pair in zip(reversed(begin), reversed(end), strict=True) for p in pair]
    fill = node.scalar(2) if node.has(2) else node.attribute("value", 0)
    return node.call(functional.pad, node.tensor(0), order, value=fill)


def _range(node: Node) -> Any:
    dtype = torch_dtype(node.known(0).element)
    ends = [s.numbers[0] if (s := node.sizes(i)) is not None else node.scalar(i) for i in range(3)]
    return node.call(torch.arange, *ends, dtype=dtype)


def _constant_of_shape(node: Node) -> Any:
    given = node.attribute("value")
    value = torch.zeros(1) if given is None else to_torch(numpy_helper.to_array(given))
    return node.call(torch.full, node.numbers(0), value.item(), dtype=value.dtype)


def _constant(node: Node) -> Any:
    ((name, value),) = node.attributes.items()
    if name == "value":
        return to_torch(numpy_helper.to_array(value))
    kinds = {
        "value_float": torch.float32,
        "value_floats": torch.float32,
        "value_int": torch.int64,
        "value_ints": torch.int64,
    }
    if name not in kinds:
        raise node.refuse(f"with {name} is not covered")
    return torch.tensor(value, dtype=kinds[name])


def _triangle(node: Node) -> Any:
    diagonal = node.numbers(1)[0] if node.has(1) else 0
    return node.call(torch.triu if node.attribute("upper", 1) else torch.tril, node.tensor(0), diagonal)


RULES: dict[str, Rule] = {
    "Shape": shape, "Constant": _constant, "ConstantOfShape": _constant_of_shape, "Range": _range,
    "Gather": _gather, "GatherND": _gather_nd, "ScatterND": _scatter_nd, "ScatterElements": _scatter_elements,
    "GatherElements": lambda node: node.call(torch.gather, node.tensor(0), node.attribute("axis", 0), node.tensor(1)),
    "Slice": _slice, "Split": _split, "Concat": _concat, "Reshape": _reshape, "Flatten": _flatten,
    "Transpose": _transpose, "Squeeze": _squeeze, "Unsqueeze": _unsqueeze, "Expand": _expand, "Tile": _tile,
    "Pad": _pad, "Trilu": _triangle,
}  # fmt: skip
