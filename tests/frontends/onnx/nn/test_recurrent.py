"""LSTM, GRU and RNN: every attribute and optional operand, any number of steps, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import baton
from baton import relay
from tests.frontends.onnx.models import model_of, weight

onnxruntime = pytest.importorskip("onnxruntime")
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("LSTM", {}, ""),
    ("LSTM", {"direction": "reverse"}, "B"),
    ("LSTM", {"direction": "bidirectional", "clip": 0.7}, "B lengths h c P"),
    ("LSTM", {"direction": "bidirectional", "activations": ["HardSigmoid", "Softsign", "Tanh"] * 2}, "B"),
    ("LSTM", {"input_forget": 1}, "B P"),
    ("GRU", {}, "B h"),
    ("GRU", {"linear_before_reset": 1}, "B lengths"),
    ("GRU", {"direction": "bidirectional", "linear_before_reset": 1}, "B"),
    ("GRU", {"direction": "reverse"}, "lengths h"),
    ("RNN", {"activations": ["LeakyRelu"], "activation_alpha": [0.3]}, "B h"),
    ("RNN", {"direction": "bidirectional", "activations": ["Affine", "Softplus"], "activation_alpha": [0.5]}, "B"),
]


def layer(op: str, attributes: dict[str, Any], given: str, steps: Any, batch: Any, size: int, hidden: int) -> Any:
    """A model of one layer: inputs x and whatever of `lengths`, `h`, `c` is given; weights are constants."""
    rng = np.random.default_rng(0)
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    gates, chosen = GATES[op], given.split()

    def drawn(name: str, *shape: int) -> Any:
        return weight(name, rng.uniform(-0.5, 0.5, (directions, *shape)).astype("float32"))

    weights = [drawn("W", gates * hidden, size), drawn("R", gates * hidden, hidden)]
    weights += [drawn("B", 2 * gates * hidden)] if "B" in chosen else []
    weights += [drawn("P", 3 * hidden)] if "P" in chosen else []
    inputs: list[Any] = [("x", (steps, batch, size))]
    inputs += [("lengths", ((batch,), TensorProto.INT32))] if "lengths" in chosen else []
    inputs += [(n, (directions, batch, hidden)) for n in ("h", "c") if n in chosen]
    names = ["x", "W", "R", *(n if n in chosen else "" for n in ("B", "lengths", "h", "c", "P"))]
    names = names if op == "LSTM" else names[:6]
    outputs = ["y", "last", "cell"] if op == "LSTM" else ["y", "last"]
    node = helper.make_node(op, names, outputs, hidden_size=hidden, **attributes)
    return model_of([node], inputs, outputs, weights, opset=21)


def feed_of(model: Any, dims: dict[str, int]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    found = {}
    for value in model.graph.input:
        shape = [d.dim_value or dims[d.dim_param] for d in value.type.tensor_type.shape.dim]
        ints = value.type.tensor_type.elem_type == TensorProto.INT32
        found[value.name] = rng.integers(1, 6, shape, dtype="int32") if ints else rng.standard_normal(shape, "float32")
    return found


def assert_like_onnxruntime(model: Any, run: Any, feed: dict[str, np.ndarray]) -> None:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for found, wanted in zip(run(*feed.values()), session.run(None, feed), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("op", "attributes", "given"), CASES)
def test_like_onnxruntime(op: str, attributes: dict[str, Any], given: str) -> None:
    model = layer(op, attributes, given, 6, 3, 5, 9)
    feed = feed_of(model, {})
    assert_like_onnxruntime(model, baton.compile(model), feed)


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_any_number_of_steps_and_rows(op: str) -> None:
    """Guards symbolic steps and batches: one executable for all, no step unrolled."""
    model = layer(op, {"direction": "bidirectional"}, "B lengths", "t", "n", 4, 8)
    compiled = baton.compile(model)
    for steps, batch in ((1, 1), (6, 3), (17, 5), (6, 20)):
        feed = feed_of(model, {"t": steps, "n": batch})
        feed["lengths"] = np.minimum(feed["lengths"], steps)
        assert_like_onnxruntime(model, compiled, feed)


@pytest.mark.parametrize(("op", "given"), [("LSTM", "B P"), ("GRU", "B"), ("GRU", "B lengths")])
def test_through_relay(op: str, given: str) -> None:
    """Guards the other language: the same operator in Relay, printed and read again on its way."""
    model = layer(op, {}, given, 4, 2, 3, 5)
    module, params = relay.frontend.from_onnx(model)
    feed = feed_of(model, {})
    feed.update({n: np.minimum(a, 4) for n, a in feed.items() if n == "lengths"})
    assert_like_onnxruntime(model, baton.compile(module, params=params), feed)
    again = relay.fromtext(module.astext(show_meta_data=True))
    assert relay.transform.InferType()(again) is not None


def test_two_weights_of_one_kernel_are_packed() -> None:
    """Guards packing: a GRU's two recurrent weights both lie by blocks of units."""
    model = layer("GRU", {}, "B", 4, 1, 8, 64)
    names = [k.name for k in baton.compile(model).kernels]
    assert any(n.startswith("recurrence") and n.endswith("packed_packed") for n in names), names


@pytest.mark.parametrize(
    ("attributes", "message"),
    [({"activations": ["Relu6"]}, "relu6"), ({"direction": "sideways"}, "sideways"), ({"activations": []}, "")],
)
def test_what_is_refused(attributes: dict[str, Any], message: str) -> None:
    """Guards messages: they name what is wrong."""
    model = layer("RNN", {}, "", 2, 1, 2, 3)
    node = model.graph.node[0]
    node.attribute.extend(helper.make_attribute(k, v) for k, v in attributes.items() if v)
    if not message:
        baton.compile(model)
        return
    with pytest.raises(baton.DiagnosticError, match=message):
        baton.compile(onnx.ModelProto.FromString(model.SerializeToString()))
