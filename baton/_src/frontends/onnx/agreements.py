"""Operands whose sizes must agree, of operators whose bodies or converters take that for granted: a reshape or a gather
in them would take the wrong elements. They are checked here or, where sizes are open, in each run.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.frontends.onnx.node import OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.ops.dims import show_shape


def check_agreement(node: OnnxNode) -> None:
    """Refuse (`op-shape`) operands that do not fit; those of open sizes are replaced by checked ones."""
    check = AGREEMENTS.get(node.op_type)
    if check is not None:
        check(node)


def _losses(node: OnnxNode) -> None:
    """scores (N, C, d...), labels (N, d...), weights (C,)"""
    n, c, *spatial = _sizes(node, 0, 2)
    _hold(node, 1, (n, *spatial), "labels")
    _hold(node, 2, (c,), "weights")


def _attention(node: OnnxNode) -> None:
    """query, key and value, all (batch, length, width) or all (batch, heads, length, size); mask; past key and value
    (batch, heads, length, size). Keys and values are equally many."""
    query, key, value = (_sizes(node, place, 3) for place in range(3))
    if not 3 <= len(query) == len(key) == len(value) <= 4:
        shown = ", ".join(str(node[place]) for place in range(3))
        node.fail(
            f"its query, key and value are {shown}", code="op-shape", help="give all three 3 axes, or all three 4"
        )
    heads = [node.attr(f"{who}_num_heads") for who in ("q", "kv")] if len(query) == 3 else [query[1], key[1]]
    if all(isinstance(h, int) for h in heads) and (heads[1] < 1 or heads[0] % heads[1]):
        node.fail(f"{heads[1]} heads of keys do not divide {heads[0]} heads of queries", code="op-shape")
    _hold(node, 1, (query[0], *key[1:]), "keys")
    _hold(node, 2, (query[0], *key[1:-1], value[-1]), "values")
    _hold(node, 6, (query[0],), "numbers of keys")
    past_key, past_value = node.optional(4), node.optional(5)
    if past_key is not None and past_value is not None and past_key.shape and past_value.shape:
        _hold(node, 4, (query[0], *past_key.shape[1:]), "past keys")
        _hold(node, 5, (query[0], *past_key.shape[1:-1], past_value.shape[-1]), "past values")


def _suppression(node: OnnxNode) -> None:
    """boxes (images, boxes, 4), scores (images, classes, boxes)"""
    scores = node[1].shape
    if scores is None or len(scores) != 3:
        return  # the converter says what they must be
    boxes = _sizes(node, 0, 3)
    _hold(node, 0, (*boxes[:2], 4), "boxes")
    _hold(node, 1, (boxes[0], scores[1], boxes[1]), "scores")


def _rotary(node: OnnxNode) -> None:
    """input, cosines and sines of the same sizes"""
    _hold(node, 2, _sizes(node, 1, 2), "sines")


def _maps(node: OnnxNode) -> None:
    """maps (images, axes, axes + 1), the size of the images, channels among it"""
    size = node.sizes(1, "the size")
    if not 4 <= len(size) <= 5:
        node.fail(f"its size has {len(size)} numbers", code="op-shape", help="give it 4 for images, 5 for volumes")
    _hold(node, 0, (size[0], len(size) - 2, len(size) - 1), "maps")


def _sizes(node: OnnxNode, place: int, least: int) -> tuple[Dim, ...]:
    """The sizes of an operand of so many axes at least."""
    found = node[place].shape
    if found is None or len(found) < least:
        node.fail(f"input {place} is {node[place]}, it must have {least} axes or more", code="op-shape")
    return found


def _hold(node: OnnxNode, place: int, wanted: tuple[Dim, ...], what: str) -> None:
    value = node.optional(place)
    if value is None or value.shape is None:
        return
    same = [node.graph.prover.equal(a, b) for a, b in zip(value.shape, wanted)]
    if len(value.shape) != len(wanted) or False in same:
        help = f"with the other operands they must be {show_shape(wanted)}"
        node.fail(f"its {what} are {value}", code="op-shape", help=help)
    node.inputs[place] = node.graph.of_shape(value, wanted)


AGREEMENTS: dict[str, Callable[[OnnxNode], None]] = {
    "AffineGrid": _maps, "Attention": _attention, "NegativeLogLikelihoodLoss": _losses,
    "NonMaxSuppression": _suppression, "RotaryEmbedding": _rotary, "SoftmaxCrossEntropyLoss": _losses,
}  # fmt: skip
