"""Iterations as a recursive function: what they carry, and what they collect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder import loop_states
from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import OnnxNode
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import operators as t
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import BOOL, INT64, DataType

Body = Callable[[Value, list[Value]], list[Value]]
"""One iteration: from its number and the carried values to (go on?, carried values, values to be collected)."""


def repeated(
    node: OnnxNode, limit: Value | None, condition: Value, carried: list[Value], run_body: Body
) -> list[Value]:
    """`for (i = 0; i < limit && go_on; ++i) go_on, carried, parts = run_body(i, carried)`: the carried values, and all
    parts stacked, as many as the limit says if it is known and the conditions always hold. If ranks change in the first
    iteration only, it is written before the loop."""
    zero = node.graph.constant(np.int64(0))
    infos, count = [v.info for v in carried], len(carried)

    def rehearsed(state: list[Value]) -> list[Value]:
        return run_body(zero, state)[1:]

    after = [v.info for v in node.graph.rehearse(infos, rehearsed)]
    if any(a.ndim != b.ndim for a, b in zip(infos, after, strict=False)):
        again = [v.info for v in node.graph.rehearse(after[:count], rehearsed)]
        if all(a.ndim == b.ndim for a, b in zip(after, again, strict=True)):
            return _after_first(node, limit, condition, carried, run_body)
    return _looped(node, 0, limit, condition, carried, [], run_body)


def _after_first(
    node: OnnxNode, limit: Value | None, condition: Value, carried: list[Value], run_body: Body
) -> list[Value]:
    """The first iteration by itself, and a loop of the others. Where there may be no iteration, the ranks that it
    changes are unknown."""
    g, count = node.graph, len(carried)
    zero = g.constant(np.int64(0))

    def run() -> list[Value]:
        go_on, *outputs = run_body(zero, carried)
        collected = [g.call("expand_dims", part, axis=(0,)) for part in outputs[count:]]
        return _looped(node, 1, limit, go_on, outputs[:count], collected, run_body)

    start = _more(g, zero, limit, g.reshape(condition, ()))
    if start.array is not None and start.array.item():
        return run()
    infos, again = ([v.info for v in g.rehearse([], lambda _: run())] for _ in range(2))
    sizes = [_lasting(g, a, b) for a, b in zip(infos, again, strict=True)]
    empty = [_nothing(g, i.dtype, s[1:]) for i, s in zip(infos[count:], sizes[count:], strict=True)]
    found = g.branch(start, run, lambda: [*carried, *empty])
    whole = [_of_sizes(g, v, s) for v, s in zip(found[count:], sizes[count:], strict=True)]
    return [*found[:count], *whole]


def _more(g: GraphBuilder, i: Value, limit: Value | None, go_on: Value) -> Value:
    return go_on if limit is None else g.call("logical_and", go_on, g.call("less", i, limit))


def _looped(
    node: OnnxNode,
    begin: int,
    limit: Value | None,
    condition: Value,
    carried: list[Value],
    collected: list[Value],
    run_body: Body,
) -> list[Value]:
    """The iterations from number `begin`, before which `collected` was collected (by default: nothing). The state is
    (go on?, i, carried, collected so far); collected outputs grow by concatenation."""
    g, count = node.graph, len(carried)
    first = g.constant(np.int64(begin))

    def step(state: list[Value]) -> list[Value]:
        outputs = run_body(state[1], state[2 : 2 + count])
        following = g.call("add", state[1], g.constant(np.int64(1)))
        grown = [
            _appended(node, so_far, state[1], part)
            for so_far, part in zip(state[2 + count :], outputs[1 + count :], strict=True)
        ]
        return [_more(g, following, limit, g.reshape(outputs[0], ())), following, *outputs[1 : 1 + count], *grown]

    def rehearsed(state: list[Value]) -> list[Value]:
        return run_body(first, state)[1:]

    inner, scanned = settled(node, [v.info for v in carried], rehearsed)
    any_state = [TensorInfo((), INT64), *inner]  # a number that is known would decide conditions
    go_on, *outputs = g.rehearse(any_state, lambda state: run_body(state[0], state[1:]))
    sizes = [_lasting(g, i, v.info) for i, v in zip(scanned, outputs[count:], strict=True)]
    is_full = begin == 0 and scanned and _holds(condition) and _holds(go_on)
    length = _most(g, limit) if is_full and limit is not None else None
    collected = collected or [_nothing(g, i.dtype, dims) for i, dims in zip(scanned, sizes, strict=True)]
    growing = [_of_any_length(i.dtype, dims) for i, dims in zip(scanned, sizes, strict=True)]
    start = [_more(g, first, limit, g.reshape(condition, ())), first, *carried, *collected]
    last = [_of_length(length, i.dtype, dims) for i, dims in zip(scanned, sizes, strict=True)]
    results = [*[None] * (2 + count), *last]
    found = g.loop(start, [TensorInfo((), BOOL), first.info, *inner, *growing], step, results)[2:]
    whole = [_of_sizes(g, v, (None, *dims)) for v, dims in zip(found[count:], sizes, strict=True)]
    return [*found[:count], *whole]


def _holds(condition: Value) -> bool:
    """Whether a condition is known to be true."""
    return condition.array is not None and bool(condition.array.all())


def _most(g: GraphBuilder, limit: Value) -> Dim | None:
    """How many iterations there are at most: a size, which may be read at run time."""
    known = limit.contents()
    if known is None:
        known = g.numbers(g.call("maximum", limit, g.constant(np.zeros((), limit.dtype.numpy))))
    if known is None:
        return None
    most = known.reshape(-1)[0]
    return max(most, 0) if isinstance(most, int) else g.prover.simplify(t.max(most, 0))


Sizes = tuple[Dim | None, ...]
"""The sizes of what each iteration gives; None: not known outside the loop."""


def _lasting(g: GraphBuilder, part: TensorInfo, again: TensorInfo) -> Sizes:
    """The sizes that the body gives `part` whenever it is rehearsed; those that it finds have new names each time."""
    if part.shape is None or again.shape is None:
        return (None,) * part.ndim
    return tuple(a if g.prover.equal(a, b) else None for a, b in zip(part.shape, again.shape, strict=True))


def _nothing(g: GraphBuilder, dtype: DataType, sizes: Sizes) -> Value:
    """The collected values before the first iteration: unknown sizes are 0."""
    dims = (0, *(0 if d is None else d for d in sizes))
    if all(isinstance(d, int) for d in dims):
        return g.constant(np.zeros(dims, dtype.numpy))
    return g.broadcast_to(g.constant(np.zeros((), dtype.numpy)), dims)


def _of_sizes(g: GraphBuilder, value: Value, sizes: Sizes) -> Value:
    """A result, with the sizes that are known."""
    if value.shape is None:
        return value
    return g.of_shape(value, tuple(a if b is None else b for a, b in zip(value.shape, sizes, strict=True)))


def _of_any_length(dtype: DataType, sizes: Sizes) -> TensorInfo:
    """What is known of the collected values in every iteration."""
    known = tuple(d for d in sizes if d is not None)
    return TensorInfo((AnyDim(), *known) if len(known) == len(sizes) else None, dtype, 1 + len(sizes))


def _of_length(length: Dim | None, dtype: DataType, sizes: Sizes) -> TensorInfo | None:
    """All that is known of the collected values after the last iteration; None if that is no more than always."""
    known = tuple(d for d in sizes if d is not None)
    return TensorInfo((length, *known), dtype) if length is not None and len(known) == len(sizes) else None


def _appended(node: OnnxNode, so_far: Value, length: Value, part: Value) -> Value:
    """The parts collected so far and one more. Unknown sizes are those of the newest: before it they may have been
    0.
    """
    g = node.graph
    part = g.named(part)
    lengths = g.numbers(length) if so_far.shape is None else None
    if lengths is not None and part.shape is not None:
        so_far = g.reshape(so_far, (lengths.reshape(-1)[0], *part.shape))
    return g.call("concat", (so_far, g.call("expand_dims", part, axis=(0,))), axis=0)


def settled(
    node: OnnxNode, infos: list[TensorInfo], run: Callable[[list[Value]], list[Value]]
) -> tuple[list[TensorInfo], list[TensorInfo]]:
    """Infos of the carried values that fit every iteration (dims that change are unknown), and of the scan outputs."""
    infos, outputs = loop_states.settled(node.graph, infos, run)
    scanned = outputs[len(infos) :]
    if any(i.ndim < 0 for i in scanned):
        node.fail("a loop of unknown length needs scan outputs of known rank", code="onnx-dynamic")
    return infos, scanned


def is_steady(node: OnnxNode, carried: Sequence[Value], run_body: Body) -> bool:
    """Whether all iterations have the same sizes, which are known: as a function, such a loop is one kernel."""
    g = node.graph
    if any(v.is_sequence for v in carried):
        return False
    infos, named = [v.info for v in carried], g.named_sizes
    try:
        after = g.rehearse([TensorInfo((), INT64), *infos], lambda state: run_body(state[0], state[1:])[1:])
    except DiagnosticError:
        return False
    same = all(loop_states.same_sizes(g, v.info, i) for v, i in zip(after, infos, strict=False))
    return same and g.named_sizes == named and all(v.shape is not None for v in after)


def unchanged(body: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> list[int]:
    """The places at which a body returns its input as it is: the same value in all iterations."""
    copied = {p.output[0]: p.input[0] for p in body.node if p.op_type == "Identity"}

    def original(name: str) -> str:
        while name in copied:
            name = copied[name]
        return name

    return [k for k, (i, o) in enumerate(zip(inputs, outputs, strict=False)) if original(o.name) == i.name]


def apart(
    kept: list[int], carried: list[Value], run_body: Body, loop: Callable[[list[Value], Body], list[Value]]
) -> list[Value]:
    """What `loop` gives if it carries all values but those at the places `kept`, which its body sees from outside:
    constants stay constants there, and nothing passes them from one iteration to the next."""
    outer = [carried[k] for k in kept]

    def run_others(i: Value, inner: list[Value]) -> list[Value]:
        outputs = run_body(i, with_each(inner, kept, outer))
        return [v for k, v in enumerate(outputs) if k - 1 not in kept]

    return with_each(loop([v for k, v in enumerate(carried) if k not in kept], run_others), kept, outer)


def with_each(values: list[Value], places: list[int], more: list[Value]) -> list[Value]:
    """`values` with others put in at these places of the result."""
    found = list(values)
    for place, value in zip(places, more, strict=True):
        found.insert(place, value)
    return found
