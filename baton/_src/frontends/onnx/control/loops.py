"""Loop. A loop with a known number of iterations is unrolled; any other becomes a recursive function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.control.iterations import Body, apart, is_steady, repeated, settled, unchanged, with_each
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim, TensorInfo

UNROLL_NODES = 1 << 15
"""A loop may be unrolled if trip count times body size stays below this."""
FEW_NODES = 1 << 12
"""A loop of more nodes than this, which take minutes to compile, is unrolled only if its iterations differ in sizes."""
APART_NODES = 1 << 7
"""The same for a loop that carries nothing: no iteration computes what the next one can go on with."""

STACKED = 32
"""Most tensors that one call stacks."""


def loop(node: OnnxNode) -> Sequence[Value]:
    """for (i = 0; i < M && cond; ++i) (cond, carried, scanned) = body(i, cond, carried)"""
    body = node.attr("body")
    carried = [v for v in node.inputs[2:] if v is not None]
    check_body(node, body, 2 + len(carried), 1 + len(carried))
    trips, condition = node.optional(0), node.optional(1)
    count = None if trips is None or trips.array is None else max(int(trips.array.reshape(-1)[0]), 0)
    always = condition is None or (condition.array is not None and bool(condition.array.reshape(-1)[0]))
    # What no iteration collects has the shape of what one would have: found where the loop is a function.
    empty = count == 0 and len(body.output) > 1 + len(carried)
    kept = unchanged(body, body.input[2:], body.output[1:])
    if count is not None and always and not empty and _goes_on_alike(body):
        if is_unrolled(node, count * len(body.node), carried, kept, _iteration(node, body)):
            return _unrolled(node, body, count)
    return _recursive(node, body, trips, condition, kept)


def _iteration(node: OnnxNode, body: Any) -> Body:
    true, names = node.graph.constant(np.array(True)), [v.name for v in body.input]
    return lambda i, state: node.run_graph(body, dict(zip(names, [i, true, *state], strict=True)))


def is_unrolled(node: OnnxNode, nodes: int, carried: Sequence[Value], kept: Sequence[int], run_body: Body) -> bool:
    """Whether a loop of so many nodes in all its iterations is unrolled; it keeps the carried values at these places as
    they are."""
    few = FEW_NODES if len(kept) < len(carried) else APART_NODES
    return nodes <= few or (nodes <= UNROLL_NODES and not is_steady(node, carried, run_body))


def check_body(node: OnnxNode, body: Any, inputs: int, outputs: int) -> None:
    """Refuse a body that does not take exactly `inputs` values, or returns fewer than `outputs`."""
    if len(body.input) != inputs:
        names = ", ".join(repr(i.name) for i in body.input)
        node.fail(f"its body takes {len(body.input)} values ({names}), {inputs} are given", code="onnx-graph")
    if len(body.output) < outputs:
        names = ", ".join(repr(o.name) for o in body.output)
        node.fail(
            f"its body returns {len(body.output)} values ({names}), but needs at least {outputs}", code="onnx-graph"
        )


def _goes_on_alike(body: Any) -> bool:
    """Whether the body returns its condition unchanged, or as a constant."""
    output = body.output[0].name
    names = {body.input[1].name} if len(body.input) > 1 else set()
    for tensor in body.initializer:
        if tensor.name == output:
            return True
    for proto in body.node:
        if proto.op_type == "Identity" and proto.input[0] in names:
            names.update(proto.output)
        elif proto.op_type == "Constant" and output in proto.output:
            return True
    return output in names


def _recursive(node: OnnxNode, body: Any, trips: Value | None, condition: Value | None, kept: list[int]) -> list[Value]:
    """Import as a recursive function."""
    g = node.graph
    true = g.constant(np.array(True))
    limit = None if trips is None else g.reshape(trips, ())
    start = true if condition is None else g.reshape(condition, ())

    def loop(carried: list[Value], run_body: Body) -> list[Value]:
        return _with_sequences(node, limit, start, carried, run_body)

    carried = [v for v in node.inputs[2:] if v is not None]
    return apart(kept, carried, _iteration(node, body), loop)


def _with_sequences(
    node: OnnxNode, limit: Value | None, condition: Value, carried: list[Value], run_body: Body
) -> list[Value]:
    """A sequence among the carried values is one more collected output: what each iteration appends to it."""
    longer = [k for k, v in enumerate(carried) if v.is_sequence]
    plain = [v for v in carried if not v.is_sequence]

    def run_plain(i: Value, inner: list[Value]) -> list[Value]:
        outputs = run_body(i, with_each(inner, longer, [Value(TensorInfo(), items=(), grows=True)] * len(longer)))
        appended = [_appended_item(node, outputs[1 + k]) for k in longer]
        kept = [v for k, v in enumerate(outputs) if k - 1 not in longer]
        return [*kept, *appended]

    shapes = _item_shapes(node, [v.info for v in plain], len(longer), run_plain) if longer else []
    found = repeated(node, limit, condition, plain, run_plain)
    kept, collected = found[: len(found) - len(longer)], found[len(found) - len(longer) :]
    stacks = [_behind(node, carried[k], s, d) for k, s, d in zip(longer, collected, shapes, strict=True)]
    return with_each(kept, longer, stacks)


def _appended_item(node: OnnxNode, sequence: Value) -> Value:
    if not sequence.grows or sequence.items is None or len(sequence.items) != 1:
        node.fail("of a sequence, a loop of unknown length must append one item in each iteration")
    return sequence.items[0]


def _item_shapes(node: OnnxNode, infos: list[TensorInfo], count: int, run_body: Body) -> list[tuple[Dim, ...]]:
    """The shapes of what is appended. Items are stacked, so sizes must not depend on the iteration: rehearsed for the
    next one, the body must give the same. Sizes that are found in the body have new names each time."""
    g = node.graph
    inner, _ = settled(node, infos, lambda state: run_body(g.constant(np.int64(0)), state)[1:])

    def rehearsed(trip: int) -> list[TensorInfo]:
        number = g.constant(np.int64(trip))
        return [v.info for v in g.rehearse(inner, lambda state: run_body(number, state))[-count:]]

    shapes: list[tuple[Dim, ...]] = []
    for first, second in zip(rehearsed(0), rehearsed(1), strict=True):
        if first.shape is None or second.shape is None or not all(map(g.prover.equal, first.shape, second.shape)):
            node.fail(
                "the items that a loop of unknown length appends to a sequence must have the same sizes in every"
                " iteration",
                code="onnx-dynamic",
            )
        shapes.append(first.shape)
    return shapes


def _behind(node: OnnxNode, before: Value, stack: Value, item: tuple[Dim, ...]) -> Value:
    """A sequence with the items that a loop appended to it. If there were no iterations, unknown sizes count as 0."""
    g = node.graph
    sizes = g.numbers(g.call("shape_tensor", stack, dtype="int64"))
    assert sizes is not None
    stack = g.reshape(stack, (sizes[0], *item))
    if before.items:
        stack = g.call("concat", (in_one(node, before.items, 0), stack), axis=0)
    elif before.stack is not None:
        stack = g.call("concat", (before.stack, stack), axis=0)
    return Value(TensorInfo(), stack=stack)


def _unrolled(node: OnnxNode, body: Any, count: int) -> list[Value]:
    g = node.graph
    carried: list[Value] = [v for v in node.inputs[2:] if v is not None]
    scanned: list[list[Value]] = [[] for _ in range(len(body.output) - 1 - len(carried))]
    true = g.constant(np.array(True))
    for i in range(count):
        names = [v.name for v in body.input]
        bound = dict(zip(names, [g.constant(np.int64(i)), true, *carried], strict=True))
        outputs = node.run_graph(body, bound)
        carried = outputs[1 : 1 + len(carried)]
        for collected, value in zip(scanned, outputs[1 + len(carried) :], strict=True):
            collected.append(value)
        if outputs[0].array is not None and not outputs[0].array.reshape(-1)[0]:
            break  # A condition that is a constant, and false.
    return [*carried, *(in_one(node, c, 0) for c in scanned)]


def in_one(node: OnnxNode, parts: Sequence[Value], axis: int) -> Value:
    """Stack tensors along a new axis, a few at a time, so that no kernel has to select among hundreds."""
    g = node.graph
    whole = [g.call("stack", tuple(parts[k : k + STACKED]), axis=axis) for k in range(0, len(parts), STACKED)]
    while len(whole) > 1:
        whole = [_concatenated(node, whole[k : k + STACKED], axis) for k in range(0, len(whole), STACKED)]
    return whole[0]


def _concatenated(node: OnnxNode, parts: Sequence[Value], axis: int) -> Value:
    return parts[0] if len(parts) == 1 else node.graph.call("concat", tuple(parts), axis=axis)


LOOPS: dict[str, Converter] = {"Loop": loop}
