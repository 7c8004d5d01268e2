"""Recurrent layers: the inputs' products are one product for all steps, the steps are one `nn.recurrence`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.tflite.node import ACTIVATIONS, Converter, Node

CELLS = {"NONE": "affine", "RELU": "relu", "TANH": "tanh"}
"""Activations as `nn.recurrence` calls them."""

INPUT, FORGET, CELL, OUTPUT = range(4)
"""Gates in the order of the format's operands."""
ORDER = (INPUT, OUTPUT, FORGET, CELL)
"""Gates in the order of `nn.recurrence`."""


def lstm(node: Node) -> Value:
    """Operands: x; four weights of the input, four of the state; three peepholes (i, f, o); four biases; a projection
    and its bias; output and cell state; four scales of layer norms.
    """
    for first, count, what in ((16, 2, "a projection"), (20, 4, "layer normalisation")):
        if any(node.optional(first + k) is not None for k in range(count)):
            node.fail(f"an LSTM with {what} is not supported")
    if node.optional(1) is None:
        node.fail("an LSTM whose input gate follows from its forget gate is not supported")
    if node.results[0].dtype.is_int:
        node.fail("an LSTM of integers is not supported", help="quantise the model dynamically, or not its LSTM")
    peepholes = [node.real(9 + k) for k in (0, 2, 1) if node.optional(9 + k) is not None]  # i, o, f
    others = {"cell": node.real(19)}
    if peepholes:
        others["peephole"] = node.graph.call("concat", tuple(peepholes), axis=0)
    weights = [node.real(1 + gate) for gate in ORDER], [node.real(5 + gate) for gate in ORDER]
    biases = [node.real(12 + gate) for gate in ORDER]
    clip = float(node.option("CellClip", 0.0))
    attributes: dict[str, Any] = {
        "kind": "lstm", "activations": ("sigmoid", _cell(node), _cell(node)), "extras": tuple(others),
        "cell_clip": clip or None,
    }  # fmt: skip
    return _steps(node, weights, biases, node.real(18), tuple(others.values()), attributes)


def rnn(node: Node) -> Value:
    """Operands: x, the weight of the input, that of the state, a bias, the state."""
    attributes: dict[str, Any] = {
        "kind": "rnn", "activations": (_cell(node),), "alphas": (1.0,), "betas": (0.0,), "extras": (),
    }  # fmt: skip
    return _steps(node, ([node.real(1)], [node.real(2)]), [node.real(3)], node.real(4), None, attributes)


def _cell(node: Node) -> str:
    name = ACTIVATIONS[int(node.option("FusedActivationFunction", 0))]
    if name not in CELLS:
        node.fail(f"a cell with the activation function {name} is not supported")
    return CELLS[name]


def _steps(
    node: Node, weights: tuple[Sequence[Value], Sequence[Value]], biases: Sequence[Value], state: Value,
    others: tuple[Value, ...] | None, attributes: dict[str, Any],
) -> Value:  # fmt: skip
    """The states of all steps. Weights (hidden, inputs) of the gates stand one upon another."""
    g, time_first = node.graph, bool(node.option("TimeMajor", False))
    x = node.real() if time_first else g.transpose(node.real(), (1, 0, 2))
    of_input, of_state = (g.transpose(g.call("concat", tuple(w), axis=0), (1, 0)) for w in weights)
    shape = x.shape
    if shape is None:
        node.fail("the rank of its input must be known")
    rows = g.call("matmul", g.reshape(x, (-1, shape[2])), of_input)
    rows = g.call("add", rows, g.call("concat", tuple(biases), axis=0))
    projected = g.reshape(rows, (*shape[:2], of_input.known_shape()[1]))
    begin = g.broadcast_to(state, (shape[1], *state.known_shape()[1:]))
    given = None if others is None else tuple(
        g.broadcast_to(v, (shape[1], *v.known_shape()[1:])) if v.rank == 2 else v for v in others
    )  # fmt: skip
    found = g.call_many("nn.recurrence", projected, of_state, begin, given, **attributes)[0]
    return found if time_first else g.transpose(found, (1, 0, 2))


RECURRENT: dict[str, Converter] = {"UNIDIRECTIONAL_SEQUENCE_LSTM": lstm, "UNIDIRECTIONAL_SEQUENCE_RNN": rnn}
