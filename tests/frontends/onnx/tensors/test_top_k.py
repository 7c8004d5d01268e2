"""TopK of numbers that a run tells: from sizes, or from an input."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto
from onnx.helper import make_node

import baton
from baton import relay
from baton._src.support.diagnostics import DiagnosticError
from baton.relax.frontend.onnx import from_onnx
from tests.frontends.onnx.models import model_of, weight


def half_of(axis: int, **attributes: Any) -> Any:
    """The greatest or least half of the elements along an axis of open size."""
    nodes = [
        make_node("Shape", ["x"], ["shape"]),
        make_node("Gather", ["shape", "axis"], ["size"]),
        make_node("Div", ["size", "two"], ["k"]),
        make_node("TopK", ["x", "k"], ["y", "places"], axis=axis, name="top", **attributes),
    ]
    weights = [weight("axis", np.array([axis])), weight("two", np.array([2]))]
    return model_of(nodes, [("x", ["n", "m"])], outputs=["y", "places"], weights=weights)


def from_input() -> Any:
    """As many as an input says."""
    nodes = [make_node("TopK", ["x", "k"], ["y", "places"], name="top")]
    return model_of(nodes, [("x", ["n", "m"]), ("k", ([1], TensorProto.INT64))], outputs=["y", "places"])


def assert_as_onnxruntime(model: Any, feeds: list[dict[str, Any]]) -> None:
    compiled, session = baton.compile(model), onnxruntime.InferenceSession(model.SerializeToString())
    for feed in feeds:
        for found, wanted in zip(compiled.run(feed), session.run(None, feed), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("axis", "attributes"), [(1, {}), (0, {"largest": 0})])
def test_as_many_as_sizes_say(axis: int, attributes: dict[str, Any]) -> None:
    """Guards rows of every length, few elements and many, none at all; all of a row were sorted."""
    rng = np.random.default_rng(0)
    shapes = [(2, 2), (3, 1), (1, 3), (40, 30), (4, 300), (300, 4)]
    model = half_of(axis, **attributes)
    assert_as_onnxruntime(model, [{"x": rng.permutation(np.prod(s)).reshape(s).astype("float32")} for s in shapes])
    assert "dynamic_topk" in from_onnx(model).script()


def test_as_many_as_an_input_says() -> None:
    """Guards numbers that are data, and that too many are refused with their number."""
    x = np.random.default_rng(0).permutation(600).reshape(2, 300).astype("float32")
    model = from_input()
    assert_as_onnxruntime(model, [{"x": x, "k": np.array([k])} for k in (1, 5, 64, 65, 74, 75, 299, 300)])
    with pytest.raises(DiagnosticError, match="301"):
        baton.compile(model).run({"x": x, "k": np.array([301])})


@pytest.mark.parametrize("through", [baton.compile, lambda model: baton.compile(relay.frontend.from_onnx(model)[0])])
def test_none_at_all(through: Any) -> None:
    """A constant 0 was taken for all: that is what it means to the operator."""
    node = make_node("TopK", ["x", "k"], ["y", "places"], name="top", axis=0)
    model = model_of([node], [("x", [3, 2])], outputs=["y", "places"], weights=[weight("k", np.array([0]))])
    values, places = (np.asarray(v) for v in through(model).run({"x": np.ones((3, 2), "float32")}))
    assert (values.shape, places.shape, places.dtype) == ((0, 2), (0, 2), np.int64)
