"""Sequences and optionals. A sequence's length, and whether an optional is there, is known when importing."""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import TensorInfo


def _sequence(items: tuple[Value, ...]) -> Value:
    return Value(TensorInfo(), items=items)


def _items(node: OnnxNode) -> tuple[Value, ...]:
    items = node[0].items
    if items is None:
        node.fail("the operand is no sequence whose length is known when importing")
    return items


def _position(node: OnnxNode, index: int, length: int, default: int) -> int:
    array = node.constant(index, "position")
    found = default if array is None else int(array.reshape(-1)[0])
    if not -length <= found <= length:
        node.fail(f"position {found} is outside a sequence of {length}")
    return found + length if found < 0 else found


def construct(node: OnnxNode) -> Value:
    return _sequence(tuple(node.given))


def empty(node: OnnxNode) -> Value:
    return _sequence(())


def insert(node: OnnxNode) -> Value:
    items = _items(node)
    at = _position(node, 2, len(items), len(items))
    return _sequence((*items[:at], node[1], *items[at:]))


def erase(node: OnnxNode) -> Value:
    items = _items(node)
    at = _position(node, 1, len(items), len(items) - 1)
    return _sequence((*items[:at], *items[at + 1 :]))


def at(node: OnnxNode) -> Value:
    items = _items(node)
    place = _position(node, 1, len(items), 0)
    if place >= len(items):
        node.fail(f"position {place} is outside a sequence of {len(items)}")
    return items[place]


def length(node: OnnxNode) -> Value:
    return node.graph.constant(np.int64(len(_items(node))))


def split_to_sequence(node: OnnxNode) -> Value:
    g, x, axis = node.graph, node[0], node.axis(0)
    total = None if x.shape is None else x.shape[axis]
    if not isinstance(total, int):
        node.fail("the size of the split axis must be known", code="onnx-dynamic")
    given = node.constant(1, "split")
    if given is None or given.ndim == 0:
        each = 1 if given is None else int(given)
        lengths = [min(each, total - start) for start in range(0, total, each)]
    else:
        lengths = [int(n) for n in given]
    if sum(lengths) != total:
        node.fail(f"parts of {lengths} do not make up {total}")
    ends = np.cumsum(lengths)
    parts = [
        g.call("strided_slice", x, axes=(axis,), begin=(int(end - n),), end=(int(end),), strides=(1,))
        for n, end in zip(lengths, ends, strict=True)
    ]
    if given is None and not node.attr("keepdims", 1):
        parts = [g.call("squeeze", p, axis=(axis,)) for p in parts]
    return _sequence(tuple(parts))


def concat_from_sequence(node: OnnxNode) -> Value:
    name = "stack" if node.attr("new_axis", 0) else "concat"
    items = _items(node)
    if not items:
        node.fail("an empty sequence cannot be joined")
    return node.graph.call(name, items, axis=int(node.needed("axis")))


def has_element(node: OnnxNode) -> Value:
    return node.graph.constant(np.array(node.optional(0) is not None))


def optional(node: OnnxNode) -> Value:
    found = node.optional(0)
    if found is None:
        node.fail("an optional without a value is not supported")
    return found


def get_element(node: OnnxNode) -> Value:
    return node[0]


SEQUENCES: dict[str, Converter] = {
    "SequenceConstruct": construct, "SequenceEmpty": empty, "SequenceInsert": insert, "SequenceErase": erase,
    "SequenceAt": at, "SequenceLength": length, "SplitToSequence": split_to_sequence,
    "ConcatFromSequence": concat_from_sequence, "OptionalHasElement": has_element, "Optional": optional,
    "OptionalGetElement": get_element,
}  # fmt: skip
