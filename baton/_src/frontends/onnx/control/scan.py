"""Scan: a loop over the parts of tensors, which carries states and collects outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.control.loops import UNROLL_NODES, check_body, in_one, repeated
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim


def scan(node: OnnxNode) -> Sequence[Value]:
    """Every scanned input's axis is walked; states are carried."""
    if node.opset < 9:
        node.fail("Scan of opset 8, which walks batches, is not supported", help="convert the model to opset 9")
    body, g = node.attr("body"), node.graph
    inputs = [v for v in node.inputs if v is not None]
    count = int(node.attr("num_scan_inputs"))
    if not 1 <= count <= len(inputs):
        node.fail(f"num_scan_inputs is {count}, of {len(inputs)} inputs")
    check_body(node, body, len(inputs), len(inputs) - count)
    states, sequences = inputs[: len(inputs) - count], inputs[len(inputs) - count :]
    axes = list(node.attr("scan_input_axes") or [0] * count)
    backward = list(node.attr("scan_input_directions") or [0] * count)
    shape = sequences[0].shape
    if shape is None:
        node.fail("the rank of what is scanned must be known", code="onnx-dynamic")
    steps = shape[int(axes[0])]
    sequences = [_of_steps(node, s, int(a), steps) for s, a in zip(sequences, axes, strict=True)]

    def run_body(i: Value, states: list[Value]) -> list[Value]:
        last = g.call("subtract", g.dims(steps), g.constant(np.int64(1)))
        parts = [
            g.call("take", s, g.call("subtract", last, i) if back else i, axis=int(a))
            for s, a, back in zip(sequences, axes, backward, strict=True)
        ]
        return node.run_graph(body, dict(zip([v.name for v in body.input], [*states, *parts], strict=True)))

    if isinstance(steps, int) and steps * len(body.node) <= UNROLL_NODES:
        return _scanned_at_once(node, states, steps, run_body)
    true = g.constant(np.array(True))
    outputs = repeated(node, g.dims(steps), true, states, lambda i, inner: [true, *run_body(i, inner)])
    return [*outputs[: len(states)], *_turned(node, outputs[len(states) :])]


def _of_steps(node: OnnxNode, sequence: Value, axis: int, steps: Dim) -> Value:
    """A sequence to be scanned, checked to be as long as the others."""
    if sequence.shape is None:
        node.fail("the rank of what is scanned must be known", code="onnx-dynamic")
    dims = list(sequence.shape)
    dims[node.place(axis, len(dims))] = steps
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


def _turned(node: OnnxNode, collected: list[Value]) -> list[Value]:
    """Outputs collected along their first axis, in the direction and along the axis that the node asks for."""
    g, found = node.graph, []
    axes = list(node.attr("scan_output_axes") or [0] * len(collected))
    backward = list(node.attr("scan_output_directions") or [0] * len(collected))
    for value, axis, back in zip(collected, axes, backward, strict=True):
        turned = g.call("flip", value, axis=0) if back else value
        order = list(range(1, value.rank))
        order.insert(node.place(int(axis), value.rank), 0)
        found.append(g.transpose(turned, order))
    return found


def _stacked(node: OnnxNode, collected: list[list[Value]]) -> list[Value]:
    axes = list(node.attr("scan_output_axes") or [0] * len(collected))
    backward = list(node.attr("scan_output_directions") or [0] * len(collected))
    return [
        in_one(node, values[::-1] if back else values, int(axis))
        for values, axis, back in zip(collected, axes, backward, strict=True)
    ]


SCAN: dict[str, Converter] = {"Scan": scan}
