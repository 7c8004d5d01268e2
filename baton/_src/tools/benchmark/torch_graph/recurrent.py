"""The rule of LSTM: PyTorch's own, which runs all steps in one call."""

from __future__ import annotations

import operator
from typing import Any

import torch

from baton._src.tools.benchmark.torch_graph.translation import Node, Rule

torch_lstm: Any = vars(torch)["_VF"].lstm
"""What torch.nn.LSTM calls with its weights."""

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}
UNCOVERED = ("activations", "activation_alpha", "activation_beta", "clip", "input_forget", "layout")
WEIGHTS, BIASES, LENGTHS, FIRST_STATES, PEEPHOLES = (1, 2), 3, 4, (5, 6), 7
"""Numbers of the inputs."""


def _lstm(node: Node) -> Any:
    """`X` (steps, batch, size) to `Y` (steps, directions, batch, hidden), and the last step's `Y_h` and `Y_c`
    (directions, batch, hidden)."""
    given = [name for name in UNCOVERED if node.attribute(name)]
    if given or node.has(LENGTHS) or node.has(PEEPHOLES):
        raise node.refuse(f"with {given[0] if given else 'lengths of sequences or peepholes'} is not covered")
    direction, hidden = node.attribute("direction", "forward"), node.attribute("hidden_size")
    directions = DIRECTIONS[direction]
    x = _in_direction(node, node.tensor(0), direction)
    states = tuple(_first_state(node, index, x, (directions, hidden)) for index in FIRST_STATES)
    weights = [part for number in range(directions) for part in _weights(node, number)]
    layers, dropout, in_training, batch_first = 1, 0.0, False, False
    has_biases, both_ways = node.has(BIASES), directions == 2
    found = node.call(torch_lstm, x, states, weights, has_biases, layers, dropout, in_training, both_ways, batch_first)
    y, h, c = (node.call(operator.getitem, found, i) for i in range(3))
    y = _in_direction(node, y, direction)
    if not both_ways:
        return node.call(torch.unsqueeze, y, 1), h, c
    return node.call(torch.transpose, node.call(torch.unflatten, y, 2, (2, hidden)), 1, 2), h, c


def _in_direction(node: Node, x: Any, direction: str) -> Any:
    """PyTorch goes forward, or both ways: a reverse layer takes its steps, and gives its results, in reverse order."""
    return node.call(torch.flip, x, (0,)) if direction == "reverse" else x


def _first_state(node: Node, index: int, x: Any, sizes: tuple[int, int]) -> Any:
    if node.has(index):
        return node.tensor(index)
    directions, hidden = sizes
    return node.call(torch.zeros, (directions, node.size(x, 1), hidden), dtype=torch.float32)


def _weights(node: Node, direction: int) -> list[Any]:
    """Those of one direction in PyTorch's order; constants are put in order now."""
    parts = [_gates(node, node.call(torch.select, node.tensor(index), 0, direction)) for index in WEIGHTS]
    if node.has(BIASES):
        both = node.call(torch.select, node.tensor(BIASES), 0, direction)
        halves = node.call(torch.chunk, both, 2)
        parts += [_gates(node, node.call(operator.getitem, halves, i)) for i in range(2)]
    return parts


def _gates(node: Node, weight: Any) -> Any:
    """ONNX orders the gates input, output, forget, cell; PyTorch input, forget, cell, output."""
    gates = node.call(torch.chunk, weight, 4)
    return node.call(torch.cat, [node.call(operator.getitem, gates, i) for i in (0, 2, 3, 1)])


RULES: dict[str, Rule] = {"LSTM": _lstm}
