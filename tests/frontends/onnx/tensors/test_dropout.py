"""Dropout while training: its numbers follow from the seed, and keep the mean."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import helper

import baton
from tests.frontends.onnx.models import model_of


def _run(x: Any, **attributes: Any) -> list[Any]:
    node = helper.make_node("Dropout", ["x", "ratio", "training"], ["y", "mask"], **attributes)
    model = model_of([node], [("x", list(x.shape))], outputs=["y", "mask"])
    for name, value in (("ratio", np.float32(0.25)), ("training", np.bool_(True))):
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
    return [np.asarray(v) for v in baton.compile(model).run({"x": x})]


def test_what_falls_out_follows_from_the_seed() -> None:
    """Guards training mode: as many fall out as are said, the others are scaled, equal seeds give equal masks."""
    x = np.random.default_rng(0).uniform(1, 2, (64, 64)).astype("float32")
    y, mask = _run(x, seed=3)
    assert 0.72 < mask.mean() < 0.78
    np.testing.assert_allclose(y, np.where(mask, x / 0.75, 0), rtol=1e-6)
    np.testing.assert_array_equal(_run(x, seed=3)[1], mask)
    assert (_run(x, seed=4)[1] != mask).any()


def test_at_inference_the_ratio_may_be_known_only_in_a_run() -> None:
    node = helper.make_node("Dropout", ["x", "ratio"], ["y"])
    model = baton.compile(model_of([node], [("x", [3]), ("ratio", [])]))
    x = np.array([1, 2, 3], "float32")
    np.testing.assert_array_equal(model.run({"x": x, "ratio": np.float32(0.5)})[0], x)


def test_before_opset_10_the_mask_is_of_the_dtype_of_the_data() -> None:
    node = helper.make_node("Dropout", ["x"], ["y", "mask"])
    _, mask = baton.compile(model_of([node], [("x", [3])], ["y", "mask"], opset=9)).run({"x": np.ones(3, "float32")})
    assert np.asarray(mask).dtype == np.float32
