"""The gradient of nn.recurrence: every kind of cell and operand against finite differences, and compiled from ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import baton
from baton import relax
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.nn.recurrence.gradient import SLOPES
from baton._src.ops.nn.recurrence.recurrence import ACTIVATIONS, COUNTS, GATES, RECURRENCE, RecurrenceAttrs
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton.relax.frontend import onnx as importer
from tests.ops.relax_values import evaluate

_STEP = 1e-6


def _attributes(kind: str, **more: Any) -> RecurrenceAttrs:
    names = {"lstm": ("sigmoid", "tanh", "tanh"), "gru": ("sigmoid", "tanh"), "rnn": ("tanh",)}[kind]
    numbers = {"alphas": (0.3,) * len(names), "betas": (0.6,) * len(names)}
    return RecurrenceAttrs(**{"kind": kind, "activations": names, "extras": (), **numbers, **more})


CASES = [
    _attributes("rnn"),
    _attributes("rnn", extras=("bias", "lengths"), reverse=True),
    _attributes("gru", extras=("candidate",)),
    _attributes("gru", extras=("candidate", "bias", "lengths"), reverse=True, clip=0.9),
    _attributes("gru", extras=("bias",), linear_before_reset=True),
    _attributes("lstm", extras=("cell",)),
    _attributes("lstm", extras=("cell", "bias", "peephole", "lengths"), clip=0.9),
    _attributes("lstm", extras=("cell", "peephole"), input_forget=True, reverse=True),
    _attributes(
        "lstm", extras=("cell", "lengths"), activations=("hardsigmoid", "softsign", "scaledtanh"), reverse=True
    ),
]


def _operands(a: RecurrenceAttrs, rng: np.random.Generator) -> list[np.ndarray]:
    steps, batch, size, gates = 4, 3, 5, GATES[a.kind]
    own = gates - 1 if a.has_candidate else gates
    shapes = [(steps, batch, gates * size), (size, own * size), (batch, size)]
    more = {"cell": (batch, size), "candidate": (size, size), "bias": (gates * size,), "peephole": (3 * size,)}
    found = [rng.uniform(-1, 1, shape) for shape in (*shapes, *(more[n] for n in a.extras if n != "lengths"))]
    if "lengths" in a.extras:
        found.insert(3 + a.extras.index("lengths"), np.array([4, 1, 3], "int32"))
    return found


def _results(values: list[np.ndarray], a: RecurrenceAttrs) -> tuple[np.ndarray, ...]:
    found: tuple[np.ndarray, ...] = RECURRENCE.reference((*values[:3], tuple(values[3:])), a)
    return found


@pytest.mark.parametrize("a", CASES, ids=lambda a: f"{a.kind} {' '.join(a.extras)}")
def test_gradient_is_the_slope(a: RecurrenceAttrs) -> None:
    """Guards the gradient of every operand, with gradients of all results given, the last states included."""
    rng = np.random.default_rng(5)
    values = _operands(a, rng)
    seeds = [rng.uniform(-1, 1, r.shape) for r in _results(values, a)]
    environment: dict[Any, Any] = {}

    def variable(value: Any) -> Any:
        parts = [TensorStructInfo(v.shape, v.dtype) for v in (value if isinstance(value, tuple) else (value,))]
        found = relax.Var("v", TupleStructInfo(parts) if isinstance(value, tuple) else parts[0])
        environment[found] = value
        return found

    args = [*map(variable, values[:3]), *([variable(tuple(values[3:]))] if a.extras else [])]
    make = RelaxMaker(RECURRENCE, CATALOGUE)
    pieces = RECURRENCE.gradient(make, args, a, variable(0.0 * seeds[0]), variable(tuple(seeds)))
    assert len(pieces) == len(args)
    found = [evaluate(p, environment) for p in pieces]
    grads = [*found[:3], *(found[3] if a.extras else ())]
    for place, value in enumerate(values):
        assert grads[place].shape == value.shape
        if value.dtype != np.float64:
            assert not grads[place].any()
            continue
        direction = rng.uniform(-1, 1, value.shape)
        ends = []
        for step in (_STEP, -_STEP):
            moved = [v + step * direction if i == place else v for i, v in enumerate(values)]
            ends.append(sum(float((r * s).sum()) for r, s in zip(_results(moved, a), seeds)))
        slope = (ends[0] - ends[1]) / (2 * _STEP)
        assert float((grads[place] * direction).sum()) == pytest.approx(slope, rel=1e-6, abs=1e-7), place


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_slopes(name: str) -> None:
    """Guards the derivatives of the activations, away from their corners."""
    x = np.array([-3.1, -1.3, -0.45, 0.21, 0.55, 1.7, 4.2])
    ends = [ACTIVATIONS[name](x + step, 0.3, 0.6) for step in (_STEP, -_STEP)]
    np.testing.assert_allclose(SLOPES[name](x, 0.3, 0.6), (ends[0] - ends[1]) / (2 * _STEP), rtol=1e-6, atol=1e-8)
    assert set(SLOPES) == set(ACTIVATIONS)
    assert set(COUNTS) == set(GATES)


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_an_imported_layer_trains(op: str) -> None:
    """Guards the way of a user: ONNX to Relax, differentiated, compiled."""
    rng = np.random.default_rng(6)
    steps, batch, size, hidden, gates = 3, 2, 4, 5, GATES[op.lower()]
    shapes = {"W": (1, gates * hidden, size), "R": (1, gates * hidden, hidden), "B": (1, 2 * gates * hidden)}
    arrays = {n: rng.uniform(-0.5, 0.5, s).astype("float32") for n, s in shapes.items()}
    node = helper.make_node(op, ["x", "W", "R", "B"], ["y"], hidden_size=hidden)
    total = helper.make_node("ReduceSum", ["y"], ["loss"], keepdims=0)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, (steps, batch, size))
    loss = helper.make_tensor_value_info("loss", TensorProto.FLOAT, ())
    weights = [numpy_helper.from_array(v, n) for n, v in arrays.items()]
    proto = helper.make_model(helper.make_graph([node, total], "g", [x], [loss], weights))
    onnx.checker.check_model(proto)
    module = relax.transform.Gradient("main")(importer.from_onnx(proto))
    machine = relax.VirtualMachine(relax.build(module, "llvm"), baton.cpu())
    value = rng.standard_normal((steps, batch, size)).astype("float32")
    direction = rng.uniform(-1, 1, value.shape).astype("float32")
    _, grads = machine["main_adjoint"](baton.nd.array(value))
    grad = grads[0] if isinstance(grads, (tuple, list)) else grads

    def at(step: float) -> float:
        return float(machine["main"](baton.nd.array(value + np.float32(step) * direction)).numpy())

    slope = (at(0.01) - at(-0.01)) / 0.02
    assert float((grad.numpy() * direction).sum()) == pytest.approx(slope, rel=5e-3, abs=1e-3)
