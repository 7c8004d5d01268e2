"""LSTM, GRU and RNN: the input's projection is one product for all steps; the steps themselves are unrolled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.value import Value

Activation = Callable[[Value], Value]


@dataclass(frozen=True, slots=True)
class Direction:
    """The operands of one direction of a recurrent operator.

    `projected`: [steps, batch, gates * hidden], input projection with input bias; `weight`: [hidden, gates * hidden];
    `bias`: [gates * hidden] of the recurrent product, or None; `hidden`, `cell`: initial states [batch, hidden].
    """

    projected: Value
    weight: Value
    bias: Value | None
    hidden: Value
    cell: Value
    peephole: Value | None
    activations: list[Activation]


State = tuple[Value, Value]
"""(hidden, cell); operators without a cell leave it alone."""
Step = Callable[[OnnxNode, Direction, Value, State], State]


def recurrent(gates: int, step: Step, default_activations: tuple[str, ...]) -> Converter:
    """A recurrent operator with `gates` gates a step."""

    def convert(node: OnnxNode) -> list[Value]:
        steps = _steps(node)
        directions = [_direction(node, d, gates, default_activations) for d in range(_count(node))]
        ys, hs, cs = [], [], []
        for position, direction in enumerate(directions):
            backward = str(node.attr("direction", "forward")) == "reverse" or position == 1
            outputs, state = _unroll(node, direction, step, steps, backward)
            ys.append(outputs)
            hs.append(state[0])
            cs.append(state[1])
        return _results(node, ys, hs, cs)

    return convert


def _count(node: OnnxNode) -> int:
    return 2 if str(node.attr("direction", "forward")) == "bidirectional" else 1


def _batch_first(node: OnnxNode) -> bool:
    return bool(node.attr("layout", 0))


def _steps(node: OnnxNode) -> int:
    shape = node[0].shape
    steps = None if shape is None else shape[1 if _batch_first(node) else 0]
    if not isinstance(steps, int):
        node.fail("the number of steps must be known when importing", code="onnx-dynamic")
    return steps


def _direction(node: OnnxNode, index: int, gates: int, defaults: tuple[str, ...]) -> Direction:
    g, hidden_size = node.graph, int(node.attr("hidden_size"))
    x = g.transpose(node[0], (1, 0, 2)) if _batch_first(node) else node[0]
    weight = g.transpose(_pick(node, 1, index), (1, 0))
    bias, input_bias, recurrent_bias = node.optional(3), None, None
    if bias is not None:
        both = _pick(node, 3, index)
        input_bias = _columns(node, both, 0, gates * hidden_size, axis=0)
        recurrent_bias = _columns(node, both, gates * hidden_size, 2 * gates * hidden_size, axis=0)
    if bias is not None and not node.attr("linear_before_reset", 0):
        # Both biases end up in the same sum, so the recurrent one is added for all steps at once, too.
        input_bias, recurrent_bias = g.call("add", input_bias, recurrent_bias), None
    projected = _project(node, x, weight)
    if input_bias is not None:
        projected = g.call("add", projected, input_bias)
    assert x.shape is not None
    zero = g.broadcast_to(g.constant(np.zeros((1, 1)), x.dtype), (x.shape[1], hidden_size))
    return Direction(
        projected, g.transpose(_pick(node, 2, index), (1, 0)), recurrent_bias, _initial(node, 5, index, zero),
        _initial(node, 6, index, zero), _pick(node, 7, index) if node.optional(7) is not None else None,
        _activations(node, index, defaults),
    )  # fmt: skip


def _project(node: OnnxNode, x: Value, weight: Value) -> Value:
    """`x @ weight` for x [steps, batch, input], as one product of matrices: batches are small, often 1."""
    assert x.shape is not None
    assert weight.shape is not None
    if not isinstance(x.shape[2], int):
        return node.graph.call("matmul", x, weight)
    product = node.graph.call("matmul", node.graph.reshape(x, (-1, x.shape[2])), weight)
    return node.graph.reshape(product, (x.shape[0], -1, weight.shape[1]))


def _pick(node: OnnxNode, operand: int, direction: int) -> Value:
    """The part of an operand [directions, ...] that belongs to one direction."""
    return node.graph.call("take", node[operand], node.graph.constant(direction, "int64"), axis=0)


def _initial(node: OnnxNode, operand: int, direction: int, zero: Value) -> Value:
    given = node.optional(operand)
    if given is None:
        return zero
    if _batch_first(node):
        return node.graph.call("take", given, node.graph.constant(direction, "int64"), axis=1)
    return _pick(node, operand, direction)


def _columns(node: OnnxNode, x: Value, begin: int, end: int, axis: int = 1) -> Value:
    return node.graph.call("strided_slice", x, axes=(axis,), begin=(begin,), end=(end,), strides=(1,))


def _activations(node: OnnxNode, direction: int, defaults: tuple[str, ...]) -> list[Activation]:
    names = list(node.attr("activations") or ()) or list(defaults) * _count(node)
    alphas, betas = list(node.attr("activation_alpha") or ()), list(node.attr("activation_beta") or ())
    found: list[Activation] = []
    for name in names:
        takes_alpha, takes_beta = name.lower() in _ALPHA, name.lower() in _BETA
        alpha = alphas.pop(0) if takes_alpha and alphas else _ALPHA.get(name.lower(), 0.0)
        beta = betas.pop(0) if takes_beta and betas else _BETA.get(name.lower(), 0.0)
        found.append(_activation(node, name.lower(), float(alpha), float(beta)))
    per_direction = len(defaults)
    return found[direction * per_direction : (direction + 1) * per_direction]


_ALPHA = {"affine": 1.0, "leakyrelu": 0.01, "thresholdedrelu": 1.0, "scaledtanh": 1.0, "hardsigmoid": 0.2, "elu": 1.0}
_BETA = {"affine": 0.0, "scaledtanh": 1.0, "hardsigmoid": 0.5}


def _activation(node: OnnxNode, name: str, alpha: float, beta: float) -> Activation:
    g = node.graph

    def line(x: Value) -> Value:
        return g.call("add", g.call("multiply", x, g.scalar(alpha, x)), g.scalar(beta, x))

    def scaled_tanh(x: Value) -> Value:
        return g.call("multiply", g.call("tanh", g.call("multiply", x, g.scalar(beta, x))), g.scalar(alpha, x))

    table: dict[str, Activation] = {
        "relu": lambda x: g.call("nn.relu", x),
        "tanh": lambda x: g.call("tanh", x),
        "sigmoid": lambda x: g.call("sigmoid", x),
        "affine": line,
        "leakyrelu": lambda x: g.call("nn.leaky_relu", x, alpha=alpha),
        "scaledtanh": scaled_tanh,
        "hardsigmoid": lambda x: g.call("clip", line(x), min=0.0, max=1.0),
        "softsign": lambda x: g.call("divide", x, g.call("add", g.call("abs", x), g.scalar(1, x))),
    }
    if name not in table:
        node.fail(f"activation {name!r} is not supported", help=f"supported: {', '.join(sorted(table))}")
    return table[name]


def _unroll(node: OnnxNode, direction: Direction, step: Step, steps: int, backward: bool) -> tuple[Value, State]:
    """All steps in order; outputs [steps, batch, hidden] in the input's order, and the last state."""
    g, state = node.graph, (direction.hidden, direction.cell)
    lengths = node.optional(4)
    outputs: list[Value] = []
    for position in reversed(range(steps)) if backward else range(steps):
        now = g.call("take", direction.projected, g.constant(position, "int64"), axis=0)
        new = step(node, direction, now, state)
        output = new[0]
        if lengths is not None:
            alive = _alive(node, lengths, position)
            output = g.call("where", alive, new[0], g.scalar(0, new[0]))
            new = (g.call("where", alive, new[0], state[0]), g.call("where", alive, new[1], state[1]))
        outputs.append(output)
        state = new
    if backward:
        outputs.reverse()
    return g.call("stack", tuple(outputs), axis=0), state


def _alive(node: OnnxNode, lengths: Value, position: int) -> Value:
    """[batch, 1]: whether a sequence is longer than `position`."""
    g = node.graph
    return g.reshape(g.call("greater", lengths, g.scalar(position, lengths)), (-1, 1))


def _results(node: OnnxNode, ys: list[Value], hs: list[Value], cs: list[Value]) -> list[Value]:
    g = node.graph
    y, h, c = (g.call("stack", tuple(part), axis=axis) for part, axis in ((ys, 1), (hs, 0), (cs, 0)))
    if _batch_first(node):
        y = g.transpose(y, (2, 0, 1, 3))
        h, c = g.transpose(h, (1, 0, 2)), g.transpose(c, (1, 0, 2))
    return [y, h, c][: max(len(node.outputs), 1)] if node.op_type == "LSTM" else [y, h]


def _gates(node: OnnxNode, x: Value, count: int) -> list[Value]:
    size = int(node.attr("hidden_size"))
    return [_columns(node, x, i * size, (i + 1) * size) for i in range(count)]


def _product(node: OnnxNode, d: Direction, hidden: Value) -> Value:
    found = node.graph.call("matmul", hidden, d.weight)
    return found if d.bias is None else node.graph.call("add", found, d.bias)


def _clip(node: OnnxNode, x: Value) -> Value:
    limit = node.attr("clip")
    return x if limit is None else node.graph.call("clip", x, min=-float(limit), max=float(limit))


def _lstm(node: OnnxNode, d: Direction, now: Value, state: State) -> State:
    """i, o, f, c gates: C = f * C + i * c; H = o * h(C)."""
    g, (hidden, cell) = node.graph, state
    i, o, f, c = _gates(node, g.call("add", now, _product(node, d, hidden)), 4)
    pi = po = pf = None
    if d.peephole is not None:
        size = int(node.attr("hidden_size"))
        pi, po, pf = (_columns(node, d.peephole, k * size, (k + 1) * size, axis=0) for k in range(3))
    first, second, third = d.activations
    i = first(_clip(node, _peep(node, i, pi, cell)))
    f = (
        g.call("subtract", g.scalar(1, i), i)
        if node.attr("input_forget", 0)
        else first(_clip(node, _peep(node, f, pf, cell)))
    )
    new = g.call("add", g.call("multiply", f, cell), g.call("multiply", i, second(_clip(node, c))))
    o = first(_clip(node, _peep(node, o, po, new)))
    return g.call("multiply", o, third(new)), new


def _peep(node: OnnxNode, gate: Value, weight: Value | None, cell: Value) -> Value:
    return gate if weight is None else node.graph.call("add", gate, node.graph.call("multiply", weight, cell))


def _gru(node: OnnxNode, d: Direction, now: Value, state: State) -> State:
    """z, r, h gates: H = (1 - z) * h + z * H."""
    g, hidden, size = node.graph, state[0], int(node.attr("hidden_size"))
    first, second = d.activations
    zx, rx, hx = _gates(node, now, 3)
    if node.attr("linear_before_reset", 0):
        zh, rh, hh = _gates(node, _product(node, d, hidden), 3)
        z, r = first(_clip(node, g.call("add", zx, zh))), first(_clip(node, g.call("add", rx, rh)))
        candidate = g.call("add", hx, g.call("multiply", r, hh))
    else:
        both = g.call("matmul", hidden, _columns(node, d.weight, 0, 2 * size))
        if d.bias is not None:
            both = g.call("add", both, _columns(node, d.bias, 0, 2 * size, axis=0))
        zh, rh = _gates(node, both, 2)
        z, r = first(_clip(node, g.call("add", zx, zh))), first(_clip(node, g.call("add", rx, rh)))
        reset = g.call("matmul", g.call("multiply", r, hidden), _columns(node, d.weight, 2 * size, 3 * size))
        if d.bias is not None:
            reset = g.call("add", reset, _columns(node, d.bias, 2 * size, 3 * size, axis=0))
        candidate = g.call("add", hx, reset)
    new = second(_clip(node, candidate))
    kept = g.call("multiply", z, hidden)
    return g.call("add", g.call("multiply", g.call("subtract", g.scalar(1, z), z), new), kept), state[1]


def _rnn(node: OnnxNode, d: Direction, now: Value, state: State) -> State:
    total = node.graph.call("add", now, _product(node, d, state[0]))
    return d.activations[0](_clip(node, total)), state[1]


RECURRENT: dict[str, Converter] = {
    "LSTM": recurrent(4, _lstm, ("Sigmoid", "Tanh", "Tanh")),
    "GRU": recurrent(3, _gru, ("Sigmoid", "Tanh")),
    "RNN": recurrent(1, _rnn, ("Tanh",)),
}
