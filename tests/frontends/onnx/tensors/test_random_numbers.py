"""Random operators of open sizes: what a program of known sizes draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto
from onnx.helper import make_node

import baton
from baton._src.support.diagnostics import DiagnosticError
from baton.relay.frontend import from_onnx
from tests.frontends.onnx.models import model_of, weight

DRAWS = {
    "RandomUniformLike": {},
    "RandomNormalLike": {"mean": 1.0, "scale": 2.0, "dtype": TensorProto.FLOAT16},
    "Bernoulli": {},
    "Multinomial": {"sample_size": 7},
}


def drawn(op: str, dims: Any, shape: tuple[int, ...]) -> Any:
    """What a model of these dims draws for an operand of a shape."""
    model = model_of([make_node(op, ["x"], ["y"], name="draw", **DRAWS[op])], [("x", dims)])
    return baton.compile(model).run({"x": np.full(shape, 0.3, "float32")})[0]


@pytest.mark.parametrize("op", DRAWS)
def test_draws_of_open_sizes(op: str) -> None:
    """Guards shapes that only a run knows, which were refused, and the numbers in whole vectors and behind them."""
    for shape in ((0, 3), (1, 1), (3, 5), (9, 11)):
        found, wanted = drawn(op, ["a", "b"], shape), drawn(op, shape, shape)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)


def test_training_dropout_of_open_sizes() -> None:
    """Guards the mask of a shape that only a run knows."""
    weights = [weight("ratio", np.float32(0.25)), weight("training", np.array(True))]
    nodes = [make_node("Dropout", ["x", "ratio", "training"], ["y"], name="draw")]
    x = np.ones((40, 50), "float32")
    found, wanted = (
        baton.compile(model_of(nodes, [("x", dims)], weights=weights)).run({"x": x})[0]
        for dims in (["a", "b"], x.shape)
    )
    np.testing.assert_array_equal(found, wanted)
    assert 0.2 < (found == 0).mean() < 0.3


def test_relay_says_that_it_needs_the_sizes() -> None:
    """Guards the way out that the error names: Relay has no shapes of draws that a run tells."""
    model = model_of([make_node("RandomUniformLike", ["x"], ["y"], name="draw")], [("x", ["a", "b"])])
    with pytest.raises(DiagnosticError, match=r"random\.uniform to a symbolic shape needs Relax"):
        from_onnx(model)
