"""Scan: a loop over the parts of tensors, which carries states and collects outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.control.iterations import Body, apart, repeated, unchanged
from baton._src.frontends.onnx.control.loops import check_body, in_one, is_unrolled
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim, TensorInfo


def scan(node: OnnxNode) -> Sequence[Value]:
    """Iterate over an axis of every scanned input; states are carried."""
    if node.opset < 9:
        return _of_batches(node)
    body, g = node.attr("body"), node.graph
    inputs = [v for v in node.inputs if v is not None]
    count = int(node.attr("num_scan_inputs"))
    if not 1 <= count <= len(inputs):
        node.fail(f"num_scan_inputs is {count}, of {len(inputs)} inputs")
    check_body(node, body, len(inputs), len(inputs) - count)
    states, sequences = inputs[: len(inputs) - count], inputs[len(inputs) - count :]
    for sequence in sequences:
        if sequence.rank < 0:
            node.fail("the rank of the scanned inputs must be known", code="onnx-dynamic")
        if sequence.rank == 0:
            node.fail("a scanned input has no axes", code="op-shape", help="its first inputs are states")
    given = _one_each(node, "scan_input_axes", count)
    axes = [node.place(a, s.rank, "scan_input_axes") for a, s in zip(given, sequences, strict=True)]
    backward = _one_each(node, "scan_input_directions", count)
    steps = sequences[0].known_shape()[axes[0]]
    sequences = [_of_steps(node, s, a, steps) for s, a in zip(sequences, axes, strict=True)]

    def run_body(i: Value, states: list[Value]) -> list[Value]:
        last = g.call("subtract", g.dims(steps), g.constant(np.int64(1)))
        parts = [
            g.call("take", s, g.call("subtract", last, i) if back else i, axis=a)
            for s, a, back in zip(sequences, axes, backward, strict=True)
        ]
        return node.run_graph(body, dict(zip([v.name for v in body.input], [*states, *parts], strict=True)))

    if steps == 0:
        return [*states, *_of_no_steps(node, states, sequences, axes)]
    true = g.constant(np.array(True))
    kept = unchanged(body, body.input[: len(states)], body.output[: len(states)])
    if isinstance(steps, int):
        nodes = steps * len(body.node)
        if is_unrolled(node, nodes, states, kept, lambda i, inner: [true, *run_body(i, inner)]):
            return _scanned_at_once(node, states, steps, run_body)

    def loop(carried: list[Value], run_body: Body) -> list[Value]:
        return repeated(node, g.dims(steps), true, carried, run_body)

    outputs = apart(kept, states, lambda i, inner: [true, *run_body(i, inner)], loop)
    return [*outputs[: len(states)], *_laid_out(node, outputs[len(states) :])]


def _one_each(node: OnnxNode, name: str, count: int) -> list[int]:
    """A list of integers with one for each of so many; zeros by default."""
    found = node.ints(name) or (0,) * count
    if len(found) != count:
        node.fail(f"its {name} are {list(found)}", help=f"{count} are needed")
    return list(found)


def _of_batches(node: OnnxNode) -> Sequence[Value]:
    """Scan of opset 8: every operand has a first axis of batches, each of which is scanned by itself, for as many steps
    as the operand in front of the others says, if it is there."""
    g, lengths, operands = node.graph, node.constant(0, "sequence_lens"), [v for v in node.inputs[1:] if v is not None]
    count = int(node.needed("num_scan_inputs"))
    batches, steps = _batches_and_steps(node, operands, count)
    long = [steps] * batches if lengths is None else [int(v) for v in lengths.reshape(-1)]
    if len(long) != batches or not all(1 <= length <= steps for length in long):
        node.fail(f"its sequence_lens are {long} for {batches} batches of {steps} steps")
    attributes = {**node.attributes, "scan_input_directions": list(node.attr("directions", ()))}
    found: list[list[Value]] = []
    for batch, length in enumerate(long):
        inputs = [g.call("take", v, g.constant(np.int64(batch)), axis=0) for v in operands]
        cut = [_first_steps(node, v, length, steps) for v in inputs[len(inputs) - count :]]
        inner = replace(node, opset=9, inputs=[*inputs[: len(inputs) - count], *cut], attributes=attributes)
        results = scan(inner)
        states = len(inputs) - count
        found.append([*results[:states], *(_with_zeros(node, v, length, steps) for v in results[states:])])
    return [in_one(node, parts, 0) for parts in zip(*found, strict=True)]


def _batches_and_steps(node: OnnxNode, operands: list[Value], count: int) -> tuple[int, int]:
    shape = operands[-1].shape if 1 <= count <= len(operands) else ()
    if shape is None or len(shape) < 2 or not isinstance(shape[0], int) or not isinstance(shape[1], int):
        node.fail("its numbers of batches and steps (the first two axes) must be known", code="onnx-dynamic")
    return shape[0], shape[1]


def _first_steps(node: OnnxNode, sequence: Value, length: int, steps: int) -> Value:
    if length == steps:
        return sequence
    return node.graph.call("strided_slice", sequence, axes=(0,), begin=(0,), end=(length,), strides=(1,))


def _with_zeros(node: OnnxNode, collected: Value, length: int, steps: int) -> Value:
    """The collected outputs of a batch, with zeros for the steps that it does not take."""
    if length == steps:
        return collected
    widths = (0, steps - length) + (0, 0) * (collected.rank - 1)
    return node.graph.call("nn.pad", collected, pad_width=widths, pad_value=0.0)


def _of_steps(node: OnnxNode, sequence: Value, axis: int, steps: Dim) -> Value:
    """A sequence to be scanned, checked to be as long as the others."""
    dims = list(sequence.known_shape())
    dims[axis] = steps
    return node.graph.of_shape(sequence, tuple(dims))


def _scanned_at_once(
    node: OnnxNode, states: list[Value], steps: int, run_body: Callable[[Value, list[Value]], list[Value]]
) -> list[Value]:
    count = len(states)
    collected: list[list[Value]] = [[] for _ in range(len(node.attr("body").output) - count)]
    for i in range(steps):
        outputs = run_body(node.graph.constant(np.int64(i)), states)
        states = outputs[:count]
        for found, value in zip(collected, outputs[count:], strict=True):
            found.append(value)
    return [*states, *_stacked(node, collected)]


def _of_no_steps(node: OnnxNode, states: list[Value], sequences: list[Value], axes: list[int]) -> list[Value]:
    """What nothing was collected in: the shapes are those that the body would give; open sizes are 0."""
    g, body = node.graph, node.attr("body")
    rows = [s.known_shape()[:a] + s.known_shape()[a + 1 :] for s, a in zip(sequences, axes, strict=True)]
    operands = [*(s.info for s in states), *(TensorInfo(r, s.dtype) for r, s in zip(rows, sequences, strict=True))]
    names = [v.name for v in body.input]
    found = g.rehearse(operands, lambda inner: node.run_graph(body, dict(zip(names, inner, strict=True))))[
        len(states) :
    ]
    empty = []
    for value, axis in zip(found, _one_each(node, "scan_output_axes", len(found)), strict=True):
        if value.shape is None:
            node.fail("the ranks of what its body returns must be known", code="onnx-dynamic")
        sizes = [d if isinstance(d, int) else 0 for d in value.shape]
        sizes.insert(node.place(axis, value.rank + 1), 0)
        empty.append(g.constant(np.zeros(sizes, value.dtype.numpy)))
    return empty


def _laid_out(node: OnnxNode, collected: list[Value]) -> list[Value]:
    """Outputs collected along their first axis, in the direction and along the axis that the node asks for."""
    g, found = node.graph, []
    axes, backward = (_one_each(node, f"scan_output_{name}", len(collected)) for name in ("axes", "directions"))
    for value, axis, back in zip(collected, axes, backward, strict=True):
        forward = g.call("flip", value, axis=0) if back else value
        order = list(range(1, value.rank))
        order.insert(node.place(axis, value.rank), 0)
        found.append(g.transpose(forward, order))
    return found


def _stacked(node: OnnxNode, collected: list[list[Value]]) -> list[Value]:
    axes, backward = (_one_each(node, f"scan_output_{name}", len(collected)) for name in ("axes", "directions"))
    return [
        in_one(node, values[::-1] if back else values, axis)
        for values, axis, back in zip(collected, axes, backward, strict=True)
    ]


SCAN: dict[str, Converter] = {"Scan": scan}
