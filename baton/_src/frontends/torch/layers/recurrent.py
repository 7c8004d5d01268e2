"""LSTM, GRU and RNN: the input's projection is one product for all steps, the steps are one `nn.recurrence`."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.operators.shape import cut

_ORDER = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2), "rnn": (0,)}
"""Where PyTorch has the gates that the catalogue wants: lstm i, o, f, c from i, f, c, o; gru z, r, h from r, z, h."""
_ACTIVATIONS = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh")}


def recurrent(kind: str, activation: str = "tanh") -> Converter:
    """All layers and directions: (outputs, last states of every layer and direction, and cells for lstm)."""

    def convert(
        node: AtenNode, x: Value, start: Value | Sequence[Value], weights: Sequence[Value], has_biases: bool,
        layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool,
    ) -> tuple[Value, ...]:  # fmt: skip
        if train and dropout and layers > 1:
            node.fail("dropout between layers is random", help="put the module into evaluation mode: model.eval()")
        states = [start] if isinstance(start, Value) else list(start)
        directions = 2 if bidirectional else 1
        count = len(weights) // (layers * directions)
        steps = node.graph.transpose(x, (1, 0, 2)) if batch_first else x
        last: list[tuple[Value, ...]] = []
        for layer in range(layers):
            found = []
            for direction in range(directions):
                place = layer * directions + direction
                own = [_picked(node, s, place) for s in states]
                cell = _Cell(kind, activation, direction == 1)
                given = weights[place * count : (place + 1) * count]
                run = _projected_lstm if count == (5 if has_biases else 3) else _direction
                found.append(run(node, cell, steps, own, given))
                last.append(found[-1][1:])
            outputs = tuple(f[0] for f in found)
            steps = outputs[0] if len(outputs) == 1 else node.graph.call("concat", outputs, axis=2)
        ends = [node.graph.call("stack", tuple(column), axis=0) for column in zip(*last, strict=True)]
        return (node.graph.transpose(steps, (1, 0, 2)) if batch_first else steps, *ends)

    return convert


class _Cell:
    """What kind of cell walks in which direction."""

    def __init__(self, kind: str, activation: str, reverse: bool) -> None:
        self.kind, self.reverse = kind, reverse
        self.activations = _ACTIVATIONS.get(kind, (activation,))


def _direction(
    node: AtenNode, cell: _Cell, steps: Value, states: Sequence[Value], weights: Sequence[Value],
    beginning: Value | None = None,
) -> tuple[Value, ...]:  # fmt: skip
    """(outputs, last state and cell) of one direction of one layer; weights W_ih, W_hh and perhaps b_ih, b_hh.

    `beginning` is added to the projected input of the step that is taken first.
    """
    g, kind = node.graph, cell.kind
    ordered = [_gates(node, kind, w) for w in weights]
    input_bias, own_bias = ordered[2:] if len(ordered) > 2 else (None, None)
    if input_bias is not None and own_bias is not None and kind != "gru":
        input_bias, own_bias = g.call("add", input_bias, own_bias), None  # both end up in the same sum
    projected = _projected(node, steps, g.transpose(ordered[0], (1, 0)), input_bias)
    if beginning is not None:
        projected = _first_changed(node, projected, _gates(node, kind, beginning, 1), cell.reverse)
    extras = {"cell": states[1]} if kind == "lstm" else {}
    if own_bias is not None:
        extras["bias"] = own_bias
    zeros = (0.0,) * len(cell.activations)
    return g.call_many(
        "nn.recurrence", projected, g.transpose(ordered[1], (1, 0)), states[0], tuple(extras.values()) or None,
        kind=kind, activations=cell.activations, alphas=zeros, betas=zeros, reverse=cell.reverse,
        linear_before_reset=kind == "gru", extras=tuple(extras),
    )  # fmt: skip


def _projected_lstm(
    node: AtenNode, cell: _Cell, steps: Value, states: Sequence[Value], weights: Sequence[Value]
) -> tuple[Value, ...]:
    """An LSTM whose states h are projected from wider ones, h = W_hr s, as one whose states are s.

    W_hh h = (W_hh W_hr) s at every step but the first, whose state h is given: there W_hh h joins the input
    and s is 0.
    """
    g, (*own, projection) = node.graph, weights
    (state, memory), back = states, g.transpose(projection, (1, 0))
    beginning = g.call("matmul", state, g.transpose(own[1], (1, 0)))
    own[1] = g.call("matmul", own[1], projection)
    zero = g.broadcast_to(g.constant(0, memory.dtype), node.sizes(memory))
    outputs, last, end = _direction(node, cell, steps, (zero, memory), own, beginning)
    return g.call("matmul", outputs, back), g.call("matmul", last, back), end


def _first_changed(node: AtenNode, steps: Value, more: Value, reverse: bool) -> Value:
    """The steps with `more` added to the one that is taken first."""
    g, length = node.graph, node.sizes(steps)[0]
    middle = length - 1 if reverse else 1
    halves = [cut(node, steps, 0, 0, middle), cut(node, steps, 0, middle, length)]
    place = 1 if reverse else 0
    halves[place] = g.call("add", halves[place], more)
    return g.call("concat", tuple(halves), axis=0)


def _gates(node: AtenNode, kind: str, weight: Value, axis: int = 0) -> Value:
    """A weight or bias with the gates along an axis in the catalogue's order."""
    order = _ORDER[kind]
    if len(order) == 1:
        return weight
    size = node.known(node.sizes(weight)[axis], "the size of the state") // len(order)
    parts = tuple(cut(node, weight, axis, place * size, (place + 1) * size) for place in order)
    return node.graph.call("concat", parts, axis=axis)


def _projected(node: AtenNode, steps: Value, weight: Value, bias: Value | None) -> Value:
    """`steps @ weight + bias` as one product of matrices: batches are small, often 1."""
    g, (length, batch, size) = node.graph, node.sizes(steps)
    product = g.call("matmul", g.reshape(steps, (-1, size)), weight)
    total = product if bias is None else g.call("add", product, bias)
    return g.reshape(total, (length, batch, node.sizes(weight)[1]))


def _picked(node: AtenNode, states: Value, place: int) -> Value:
    return node.graph.call("take", states, node.graph.constant(place, "int64"), axis=0)


RECURRENT: dict[str, Converter] = {
    "aten.lstm.input": recurrent("lstm"), "aten.gru.input": recurrent("gru"),
    "aten.rnn_tanh.input": recurrent("rnn"), "aten.rnn_relu.input": recurrent("rnn", "relu"),
}  # fmt: skip
