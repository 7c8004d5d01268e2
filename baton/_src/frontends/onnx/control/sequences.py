"""Sequences and optionals.

A sequence is represented by its items if its length is known when importing. One built by a loop of unknown length, or
by a split of an unknown size, is one tensor that stacks its items, which then have one shape. Whether an optional has a
value is known when importing; without one, nodes see a missing operand.
"""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.control.stacks import joined, length_of, stack_of, taken, with_item, without
from baton._src.frontends.onnx.node import NOTHING, Converter, OnnxNode
from baton._src.frontends.onnx.tensors.parts import in_parts, pieces
from baton._src.ir.tensor_info import TensorInfo
from baton._src.values.tensor import AnyArray


def _sequence(items: tuple[Value, ...]) -> Value:
    return Value(TensorInfo(), items=items)


def _items(node: OnnxNode) -> tuple[Value, ...]:
    items = node[0].items
    if items is None or node[0].grows:
        node.fail(
            "its operand is not a sequence whose length is known when importing",
            help="a loop of unknown length may append to a sequence; read the sequence after the loop",
        )
    return items


def _position(node: OnnxNode, index: int, length: int, default: int, last: int) -> int:
    """Operand `index`, counted from the front; `last` is the greatest that there may be."""
    array = node.constant(index, "position")
    found = default if array is None else int(array.reshape(-1)[0])
    if not -length <= found <= last:
        node.fail(f"position {found} is outside a sequence of {length}")
    return found + length if found < 0 else found


def construct(node: OnnxNode) -> Value:
    return _sequence(tuple(node.given))


def empty(node: OnnxNode) -> Value:
    return _sequence(())


def insert(node: OnnxNode) -> Value:
    sequence, position = node[0], node.optional(2)
    if position is None and sequence.grows and sequence.items is not None:
        return Value(TensorInfo(), items=(*sequence.items, node[1]), grows=True)
    if (stack := _stacked(node, position)) is not None:
        return Value(TensorInfo(), stack=with_item(node, stack, node[1], position))
    items = _items(node)
    at = _position(node, 2, len(items), len(items), last=len(items))
    return _sequence((*items[:at], node[1], *items[at:]))


def erase(node: OnnxNode) -> Value:
    position = node.optional(1)
    if (stack := _stacked(node, position)) is not None:
        return Value(TensorInfo(), stack=without(node, stack, position))
    items = _items(node)
    at = _position(node, 1, len(items), len(items) - 1, last=len(items) - 1)
    return _sequence((*items[:at], *items[at + 1 :]))


def at(node: OnnxNode) -> Value:
    if (stack := _stacked(node, node[1])) is not None:
        return taken(node, stack, node[1])
    items = _items(node)
    return items[_position(node, 1, len(items), 0, last=len(items) - 1)]


def _stacked(node: OnnxNode, position: Value | None) -> Value | None:
    """The operand's stack: it has one, or the position is computed at run time. None where items are known and theirs
    too."""
    if node[0].stack is not None or position is None or position.array is not None:
        return node[0].stack
    items = _items(node)
    return stack_of(node, items, "its position is computed at run time") if items else None


def length(node: OnnxNode) -> Value:
    if node[0].stack is not None:
        return length_of(node, node[0].stack)
    return node.graph.constant(np.int64(len(_items(node))))


def split_to_sequence(node: OnnxNode) -> Value:
    """Parts of one size, or of the sizes in a list, which a run may tell. Only a list drops no axis."""
    x, axis, kept = node[0], node.axis(0), bool(node.attr("keepdims", 1))
    if x.shape is None:
        node.fail("the rank of what is split must be known", code="onnx-dynamic")
    given = node.optional(1)
    if given is not None and given.rank == 1:
        lengths = node.sizes(1, "split")
        return _sequence(pieces(node, in_parts(node, x, axis, lengths), axis, lengths))
    each, total = node.constant(1, "split"), x.shape[axis]
    if not isinstance(total, int):
        return _split_of_open_size(node, x, axis, kept, each)
    size = 1 if each is None else int(each.reshape(()))
    if size < 1:
        node.fail(f"parts of {size} are asked for")
    even = [min(size, total - start) for start in range(0, total, size)]
    parts = pieces(node, x, axis, even)
    if each is None and not kept:
        parts = tuple(node.graph.call("squeeze", p, axis=(axis,)) for p in parts)
    return _sequence(parts)


def _split_of_open_size(node: OnnxNode, x: Value, axis: int, kept: bool, each: AnyArray | None) -> Value:
    """As many parts of 1 as there are: the items of a stack. Of larger parts the last one may be smaller."""
    if each is not None and int(each.reshape(())) != 1:
        help = "let the axis have a known size, or give the size of each part as a list"
        node.fail(f"the number of parts of {int(each.reshape(()))} of an open size is not known", help=help)
    g = node.graph
    parts = g.transpose(x, [axis, *(k for k in range(x.rank) if k != axis)])
    dropped = each is None and not kept
    return Value(TensorInfo(), stack=parts if dropped else g.call("expand_dims", parts, axis=(axis + 1,)))


def concat_from_sequence(node: OnnxNode) -> Value:
    name = "stack" if node.attr("new_axis", 0) else "concat"
    if node[0].stack is not None:
        return joined(node, node[0].stack)
    items = _items(node)
    if not items:
        node.fail("an empty sequence cannot be joined")
    return node.graph.call(name, items, axis=int(node.needed("axis")))


def has_element(node: OnnxNode) -> Value:
    return node.graph.constant(np.array(node.optional(0) is not None))


def optional(node: OnnxNode) -> Value:
    found = node.optional(0)
    if found is None and "type" not in node.attributes:
        node.fail("it has neither a value nor the type of one that is missing")
    return NOTHING if found is None else found


def get_element(node: OnnxNode) -> Value:
    found = node.optional(0)
    if found is None:
        node.fail("its optional has no value", help="test it with OptionalHasElement first")
    return found


SEQUENCES: dict[str, Converter] = {
    "SequenceConstruct": construct, "SequenceEmpty": empty, "SequenceInsert": insert, "SequenceErase": erase,
    "SequenceAt": at, "SequenceLength": length, "SplitToSequence": split_to_sequence,
    "ConcatFromSequence": concat_from_sequence, "OptionalHasElement": has_element, "Optional": optional,
    "OptionalGetElement": get_element,
}  # fmt: skip
