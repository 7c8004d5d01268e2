"""Operators that ONNX took away again, in both languages against onnxruntime, which still runs them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from baton import relax
from baton._src.relax.interpreter import Interpreter
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.convert import to_numpy
from tests.frontends.onnx.against_onnxruntime import in_both_languages, model_of_node, onnxruntime_outputs
from tests.frontends.onnx.models import model_of

X = np.random.default_rng(0).standard_normal((2, 3, 4, 5)).astype("float32")
CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Affine", (X,), {"alpha": 2.0, "beta": 0.5}),
    ("Affine", (X,), {"alpha": 2.0}),
    ("Scale", (X,), {"scale": 0.25}),
    ("ScaledTanh", (X,), {"alpha": 2.0, "beta": 0.5}),
    ("ParametricSoftplus", (X * 100,), {"alpha": 2.0, "beta": 0.5}),
    ("ImageScaler", (X,), {"scale": 0.5, "bias": [1.0, 2.0, 3.0]}),
    ("ImageScaler", (X,), {"bias": [1.0, 2.0, 3.0]}),
    ("Crop", (X,), {"border": [1, 0, 2, 1]}),
    ("Crop", (X,), {"border": [1, 2, 0, 0], "scale": [2, 3]}),
    ("DynamicSlice", (X, np.array([1, -2]), np.array([3, 99]), np.array([1, 3])), {}),
]


@pytest.mark.parametrize(("op", "operands", "attributes"), CASES)
def test_what_they_compute(op: str, operands: Any, attributes: Any) -> None:
    """They were not known."""
    model = model_of_node(op, operands, attributes, [0], ["y"], domain="", opset=9)
    expected = onnxruntime_outputs(model, {"i0": operands[0]})
    for _, found in in_both_languages(model, {"i0": operands[0]}):
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-5, atol=1e-6)


def test_cropping_an_image_of_open_size() -> None:
    model = model_of(
        [helper.make_node("Crop", ["x"], ["y"], border=[1, 0, 2, 1])], [("x", ["n", 3, "h", "w"])], opset=9
    )
    found = Interpreter(relax.frontend.onnx.from_onnx(model))["main"](X)
    np.testing.assert_array_equal(to_numpy(found), X[:, :, :3, 1:3])


@pytest.mark.parametrize(
    ("op", "attributes", "said"),
    [
        ("Crop", {"border": [3, 0, 3, 0]}, "from 3 to 2 is not within the 5"),
        ("Crop", {"border": [1, 0, 0, 0], "scale": [4, 5]}, "from 1 to 6 is not within the 5"),
        ("Crop", {"border": [1, 0]}, r"a border of four numbers, .* by \[1, 0\]"),
        ("ImageScaler", {"bias": [1.0, 2.0]}, "2 numbers for 3 channels"),
        ("ScaledTanh", {"alpha": 1.0}, "attribute 'beta' is missing"),
    ],
)
def test_what_does_not_fit(op: str, attributes: Any, said: str) -> None:
    model = model_of_node(op, (X,), attributes, [0], ["y"], domain="", opset=9)
    with pytest.raises(DiagnosticError, match=f"{op} node 'the_node': .*{said}"):
        relax.frontend.onnx.from_onnx(model)
