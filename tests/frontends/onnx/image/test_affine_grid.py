"""Grids of places for images: of one image, of a number that is open, and of lone pixels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from onnx.helper import make_node
from onnx.reference import ReferenceEvaluator

import baton
from tests.frontends.onnx.models import model_of, weight
from tests.grids import every_value


@pytest.mark.parametrize(
    ("size", "corners"), every_value([(1, 2, 3, 4), (2, 1, 1, 5), (1, 2, 3, 1, 2), (2, 1, 2, 3, 4)], [0, 1])
)
def test_as_the_reference(size: tuple[int, ...], corners: int) -> None:
    axes = len(size) - 2
    node = make_node("AffineGrid", ["theta", "size"], ["y"], align_corners=corners)
    model = model_of([node], [("theta", ["n", axes, axes + 1])], weights=[weight("size", np.array(size))], opset=20)
    theta = np.random.default_rng(0).standard_normal((size[0], axes, axes + 1)).astype("float32")
    wanted = ReferenceEvaluator(model).run(None, {"theta": theta})[0]
    np.testing.assert_allclose(baton.compile(model).run({"theta": theta})[0], wanted, rtol=1e-5, atol=1e-5)


def test_sizes_that_only_a_run_tells() -> None:
    node = make_node("AffineGrid", ["theta", "size"], ["y"], name="grid")
    model = model_of([node], [("theta", ["n", 2, 3]), ("size", ([4], 7))], opset=20)
    program = baton.compile(model)
    theta = np.array([[[1, 0, 0.5], [0, 2, 0]]], "float32")
    for height, width in itertools.product((1, 3), (2, 4)):
        (found,) = program.run({"theta": theta, "size": np.array([1, 7, height, width])})
        x, y = ((2 * np.arange(n) + 1) / n - 1 for n in (width, height))
        np.testing.assert_allclose(found[0, :, :, 0], np.broadcast_to(x + 0.5, (height, width)), atol=1e-6)
        np.testing.assert_allclose(found[0, :, :, 1], np.broadcast_to(2 * y[:, None], (height, width)), atol=1e-6)
    with pytest.raises(baton.DiagnosticError, match="grid"):
        program.run({"theta": theta, "size": np.array([2, 7, 3, 3])})


def test_maps_that_do_not_fit() -> None:
    node = make_node("AffineGrid", ["theta", "size"], ["y"])
    weights = [weight("size", np.array([1, 1, 2, 2, 2]))]
    with pytest.raises(baton.DiagnosticError, match="its maps are float32"):
        baton.compile(model_of([node], [("theta", [1, 2, 3])], weights=weights, opset=20))
