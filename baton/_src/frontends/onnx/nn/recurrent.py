"""LSTM, GRU and RNN: the input's projection is one product for all steps, the steps are one `nn.recurrence`."""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.ops.nn.recurrence.recurrence import ACTIVATIONS, GATES

_ALPHA = {"affine": 1.0, "elu": 1.0, "hardsigmoid": 0.2, "leakyrelu": 0.01, "scaledtanh": 1.0, "thresholdedrelu": 1.0}
_BETA = {"affine": 0.0, "hardsigmoid": 0.5, "scaledtanh": 1.0}


def recurrent(kind: str, default_activations: tuple[str, ...]) -> Converter:
    """A recurrent operator."""

    def convert(node: OnnxNode) -> list[Value]:
        directions = ["forward", "reverse"]
        wanted = str(node.attr("direction", "forward"))
        if wanted not in (*directions, "bidirectional"):
            node.fail(f"direction {wanted!r} is not one of forward, reverse and bidirectional")
        chosen = directions if wanted == "bidirectional" else [wanted]
        _check_shapes(node, len(chosen), GATES[kind])
        found = [_layer(node, i, kind, default_activations, d == "reverse") for i, d in enumerate(chosen)]
        return _results(node, *zip(*found, strict=True))

    return convert


def _check_shapes(node: OnnxNode, directions: int, gates: int) -> None:
    """Refuse weights and states of other sizes than the directions and `hidden_size` ask for."""
    size = int(node.needed("hidden_size"))
    clip = node.attr("clip")
    if clip is not None and clip <= 0:
        node.fail(f"its clip is {clip}, a limit must be more than 0", help="without a limit leave it out")
    if node.rank() != 3:
        node.fail(f"its input must have three axes, it is {node[0]}", code="op-shape")
    inputs = None if node[0].shape is None else node[0].shape[2]
    state = (None, directions, size) if _batch_first(node) else (directions, None, size)
    wanted: dict[int, tuple[str, tuple[Dim | None, ...]]] = {
        1: ("W", (directions, gates * size, inputs)),
        2: ("R", (directions, gates * size, size)),
        3: ("B", (directions, 2 * gates * size)),
        5: ("initial_h", state),
        6: ("initial_c", state),
        7: ("P", (directions, 3 * size)),
    }
    for index, (name, dims) in wanted.items():
        given = node.optional(index)
        if given is None or given.shape is None:
            continue
        pairs = zip(given.shape, dims, strict=False)
        differ = any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)
        if differ or len(given.shape) != len(dims):
            means = ", ".join("any" if d is None else str(d) for d in dims)
            help = f"that is for {directions} direction(s) of {gates} gate(s) with hidden_size {size}"
            node.fail(f"{name} is {given}, its shape must be ({means})", code="op-shape", help=help)


def _batch_first(node: OnnxNode) -> bool:
    return bool(node.attr("layout", 0))


def _layer(
    node: OnnxNode, index: int, kind: str, default_activations: tuple[str, ...], backward: bool
) -> tuple[Value, ...]:
    """Outputs [steps, batch, hidden] of one direction, and its last states."""
    g, size = node.graph, int(node.needed("hidden_size"))
    x = g.transpose(node[0], (1, 0, 2)) if _batch_first(node) else node[0]
    if x.shape is None:
        node.fail("the rank of the input must be known", code="onnx-dynamic")
    before_reset = bool(node.attr("linear_before_reset", 0)) and kind == "gru"
    input_bias, recurrent_bias = _biases(node, index, GATES[kind] * size, apart=before_reset)
    projected = _project(node, x, g.transpose(_pick(node, 1, index), (1, 0)), input_bias)
    weight = g.transpose(_pick(node, 2, index), (1, 0))
    extras: dict[str, Value | None] = {
        "cell": _initial(node, 6, index, x, size) if kind == "lstm" else None,
        "candidate": _columns(node, weight, 2 * size, 3 * size) if kind == "gru" and not before_reset else None,
        "bias": recurrent_bias,
        "peephole": _pick(node, 7, index) if kind == "lstm" and node.optional(7) is not None else None,
        "lengths": node.optional(4),
    }
    given = {name: value for name, value in extras.items() if value is not None}
    if "candidate" in given:
        weight = _columns(node, weight, 0, 2 * size)
    attributes = {
        **_activations(node, index, default_activations),
        "kind": kind,
        "clip": node.attr("clip"),
        "input_forget": bool(node.attr("input_forget", 0)),
        "linear_before_reset": before_reset,
        "reverse": backward,
        "extras": tuple(given),
    }
    hidden = _initial(node, 5, index, x, size)
    return g.call_many("nn.recurrence", projected, weight, hidden, tuple(given.values()) or None, **attributes)


def _biases(node: OnnxNode, index: int, size: int, apart: bool) -> tuple[Value | None, Value | None]:
    """What is added to the inputs' products, and what to the states'. Unless they are kept `apart` both end up in the
    same sum, so the latter is added for all steps at once, too.
    """
    if node.optional(3) is None:
        return None, None
    both = _pick(node, 3, index)
    of_input, of_state = _columns(node, both, 0, size, axis=0), _columns(node, both, size, 2 * size, axis=0)
    return (of_input, of_state) if apart else (node.graph.call("add", of_input, of_state), None)


def _project(node: OnnxNode, x: Value, weight: Value, bias: Value | None) -> Value:
    """`x @ weight + bias` for x [steps, batch, input], as one product of matrices: batches are small, often 1."""
    assert x.shape is not None
    assert weight.shape is not None
    g = node.graph
    flat = isinstance(x.shape[2], int) and x.shape[2] > 0
    product = g.call("matmul", g.reshape(x, (-1, x.shape[2])) if flat else x, weight)
    total = product if bias is None else g.call("add", product, bias)
    return g.reshape(total, (*x.shape[:2], weight.shape[1])) if flat else total


def _pick(node: OnnxNode, operand: int, direction: int) -> Value:
    """The part of an operand [directions, ...] that belongs to one direction."""
    return node.graph.call("take", node[operand], node.graph.constant(direction, "int64"), axis=0)


def _initial(node: OnnxNode, operand: int, direction: int, x: Value, size: int) -> Value:
    """A state before the first step [batch, hidden]: zeros, unless given."""
    g, given = node.graph, node.optional(operand)
    if given is None:
        assert x.shape is not None
        return g.broadcast_to(g.constant(np.zeros((1, 1)), x.dtype), (x.shape[1], size))
    if _batch_first(node):
        return g.call("take", given, g.constant(direction, "int64"), axis=1)
    return _pick(node, operand, direction)


def _columns(node: OnnxNode, x: Value, begin: int, end: int, axis: int = 1) -> Value:
    return node.graph.call("strided_slice", x, axes=(axis,), begin=(begin,), end=(end,), strides=(1,))


def _activations(node: OnnxNode, direction: int, defaults: tuple[str, ...]) -> dict[str, Any]:
    """The direction's activations; alphas and betas are given for those alone that take one, in order."""
    count = 2 if str(node.attr("direction", "forward")) == "bidirectional" else 1
    names = [n.lower() for n in node.attr("activations") or ()] or [n.lower() for n in defaults] * count
    alphas, betas = list(node.attr("activation_alpha") or ()), list(node.attr("activation_beta") or ())
    found: list[tuple[str, float, float]] = []
    for name in names:
        if name not in ACTIVATIONS:
            node.fail(f"activation {name!r} is not supported", help=f"supported: {', '.join(ACTIVATIONS)}")
        alpha = alphas.pop(0) if name in _ALPHA and alphas else _ALPHA.get(name, 0.0)
        beta = betas.pop(0) if name in _BETA and betas else _BETA.get(name, 0.0)
        found.append((name, float(alpha), float(beta)))
    own = found[direction * len(defaults) : (direction + 1) * len(defaults)]
    if len(own) < len(defaults):
        node.fail(f"{len(defaults)} activations are needed for each direction, but {len(names)} are given in all")
    return dict(zip(("activations", "alphas", "betas"), zip(*own, strict=True)))


def _results(node: OnnxNode, ys: tuple[Value, ...], *states: tuple[Value, ...]) -> list[Value]:
    """Y [steps, directions, batch, hidden] and the last states [directions, batch, hidden]; batch first if asked."""
    g = node.graph
    y, *last = (_stacked(node, part, axis) for part, axis in ((ys, 1), *((s, 0) for s in states)))
    if _batch_first(node):
        y = g.transpose(y, (2, 0, 1, 3))
        last = [g.transpose(s, (1, 0, 2)) for s in last]
    return [y, *last][: max(len(node.outputs), 1)]


def _stacked(node: OnnxNode, parts: tuple[Value, ...], axis: int) -> Value:
    """One direction needs no copy."""
    if len(parts) > 1 or parts[0].shape is None:
        return node.graph.call("stack", parts, axis=axis)
    shape = parts[0].shape
    return node.graph.reshape(parts[0], (*shape[:axis], 1, *shape[axis:]))


RECURRENT: dict[str, Converter] = {
    "LSTM": recurrent("lstm", ("Sigmoid", "Tanh", "Tanh")),
    "GRU": recurrent("gru", ("Sigmoid", "Tanh")),
    "RNN": recurrent("rnn", ("Tanh",)),
}
