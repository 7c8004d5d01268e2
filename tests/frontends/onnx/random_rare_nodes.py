"""How to draw recurrences and operators that few models have: `RARE`, with the usual ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from tests.frontends.onnx.random_graphs import Plan, Scope, Unsuited
from tests.frontends.onnx.random_nodes import DRAWS

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(s: Scope) -> Plan:
    """Either direction or both, with and without biases, lengths and first states."""
    x = s.pick("f", ranks=(3,))
    if not x.has_one_size(2) or x.dtype != np.float32:
        raise Unsuited
    op, hidden, way = s.choice(list(GATES)), s.choice([1, 3, 4]), s.choice(["forward", "reverse", "bidirectional"])
    directions, gates, inputs = 1 + (way == "bidirectional"), GATES[op], x.least(2)
    weights = [s.given(s.numbers(directions, gates * hidden, n) / 8) for n in (inputs, hidden)]
    bias = s.given(s.numbers(directions, 2 * gates * hidden) / 4) if s.chance(0.6) else None
    batch = x.least(1) if x.has_one_size(1) else 0
    lengths = s.given(s.random.integers(1, x.least(0) + 1, batch).astype("int32")) if batch and s.chance(0.4) else None
    first = s.given(s.numbers(directions, batch, hidden)) if batch and s.chance(0.4) else None
    more: dict[str, Any] = {"linear_before_reset": int(s.random.integers(2))} if op == "GRU" else {}
    attributes = {"hidden_size": hidden, "direction": way, **more}
    return Plan(op, [x, *weights, bias, lengths, first], attributes, results=2, exact=False)


def variadic(s: Scope) -> Plan:
    """Of as many operands as there are."""
    operands = [s.pick("f") for _ in range(s.choice([1, 2, 3]))]
    op = s.choice(["Sum", "Mean", "Max", "Min"])
    return Plan(op, operands, exact=op != "Mean")


def elementwise(s: Scope) -> Plan:
    """Also what looks at kinds of numbers."""
    op = s.choice(["Shrink", "IsNaN", "IsInf", "PRelu", "CastLike", "BitShift", "HardSwish"])
    if op == "BitShift":
        x = s.given(s.numbers(2, 3, dtype="uint8", low=0))
        return Plan(op, [x, s.given(np.array([1, 2, 3], "uint8"))], {"direction": s.choice(["LEFT", "RIGHT"])})
    x = s.pick("f")
    if op == "PRelu":
        return Plan(op, [x, s.given(s.numbers(*[1] * s.choice([0, x.rank])))], exact=False)
    if op == "CastLike":
        return Plan(op, [x, s.pick("f")])
    return Plan(op, [x], {"lambd": 1.0, "bias": 0.5} if op == "Shrink" else {}, exact=op != "HardSwish")


def along_axes(s: Scope) -> Plan:
    """Of whole rows, images and sequences."""
    op = s.choice(["ReverseSequence", "Hardmax", "MeanVarianceNormalization", "EyeLike", "Size", "GlobalLpPool", "Det"])
    if op == "ReverseSequence":
        x = s.pick("fi", ranks=(2, 3))
        if not x.has_one_size(1):
            raise Unsuited
        lengths = s.given(s.random.integers(1, x.least(0) + 1, x.least(1)))
        return Plan(op, [x, lengths], {"batch_axis": 1, "time_axis": 0})
    if op == "Hardmax":
        x = s.pick("f", ranks=(1, 2, 3), exact=True)
        return Plan(op, [x], {"axis": int(s.random.integers(-x.rank, x.rank))})
    if op in ("MeanVarianceNormalization", "GlobalLpPool"):
        return Plan(op, [s.pick("f", ranks=(4,))], exact=False)
    if op == "EyeLike":
        return Plan(op, [s.pick("fi", ranks=(2,))], {"k": int(s.random.integers(-2, 3)), "dtype": TensorProto.FLOAT})
    return Plan(op, [s.pick("f", ranks=(2, 3))], exact=op == "Size")


def sampled(s: Scope) -> Plan:
    """Images at places between pixels."""
    x = s.pick("f", ranks=(4,))
    if not x.has_one_size(0):
        raise Unsuited
    grid = s.given((s.random.integers(-5, 6, (x.least(0), 3, 2, 2)) / 4).astype("float32"))
    mode, border = s.choice(["bilinear", "bicubic"]), s.choice(["zeros", "border", "reflection"])
    attributes = {"mode": mode, "padding_mode": border, "align_corners": int(s.random.integers(2))}
    return Plan("GridSample", [x, grid], attributes, exact=False)


RARE = (*DRAWS, sampled, *(recurrent, recurrent, recurrent, variadic, elementwise, along_axes) * 4)
