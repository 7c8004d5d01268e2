"""Nodes against ONNX's definitions: attributes that an operator does not have, and operators of later opsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from baton import relax
from baton._src.support.diagnostics import DiagnosticError
from tests.frontends.onnx.against_onnxruntime import in_both_languages, model_of_node, onnxruntime_outputs
from tests.frontends.onnx.models import model_of

X = np.random.default_rng(0).standard_normal((2, 3, 4, 4)).astype("float32")


def refusal(op: str, opset: int, domain: str = "", **attributes: Any) -> str:
    model = model_of([helper.make_node(op, ["x"], ["y"], name="it", domain=domain, **attributes)], [("x", X.shape)])
    model.opset_import[0].version = opset
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    with pytest.raises(DiagnosticError) as error:
        relax.frontend.onnx.from_onnx(model)
    return str(error.value)


@pytest.mark.parametrize(
    ("op", "opset", "domain", "attributes", "said"),
    [
        ("MaxPool", 21, "", {"kernel_shape": [1, 1], "stride": [2, 2]}, "did you mean 'strides'"),
        ("Relu", 21, "", {"max": 6.0}, "it has none"),
        ("Unsqueeze", 13, "", {"axes": [0]}, "no attribute 'axes' in opset 13"),
        ("Binarizer", 21, "ai.onnx.ml", {"treshold": 0.5}, "did you mean 'threshold'"),
    ],
)
def test_attributes_that_are_not_there(op: str, opset: int, domain: str, attributes: Any, said: str) -> None:
    """They were passed over: a misspelt one silently meant its default."""
    found = refusal(op, opset, domain, **attributes)
    assert said in found
    assert f"{op} node 'it'" in found


@pytest.mark.parametrize(("op", "opset", "first"), [("Gelu", 13, 20), ("Mish", 11, 18), ("Trilu", 13, 14)])
def test_operators_of_later_opsets(op: str, opset: int, first: int) -> None:
    """Refused as by onnxruntime: either the operator or the opset of the file is not what was meant."""
    found = refusal(op, opset)
    assert f"{op} is not in opset {opset}" in found
    assert f"it came with {first}" in found


@pytest.mark.parametrize(
    ("op", "opset", "operands", "attributes"),
    [
        ("LayerNormalization", 13, (X, np.ones(4, "float32")), {}),
        ("ThresholdedRelu", 9, (X,), {"alpha": 0.5}),
        ("MeanVarianceNormalization", 8, (X,), {}),
    ],
)
def test_what_onnxruntime_had_before_onnx(op: str, opset: int, operands: Any, attributes: Any) -> None:
    model = model_of_node(op, operands, attributes, [0], ["y"], domain="", opset=opset)
    expected = onnxruntime_outputs(model, {"i0": X})
    for _, found in in_both_languages(model, {"i0": X}):
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-4, atol=1e-5)


def test_functions_have_attributes_of_their_own() -> None:
    """A function that is called as an operator of ONNX is not held against that operator's definition."""
    body = [helper.make_node("Neg", ["a"], ["b"])]
    opsets = [helper.make_opsetid("", 21)]
    model = model_of([helper.make_node("Relu", ["x"], ["y"], slope=2.0)], [("x", X.shape)])
    model.functions.append(helper.make_function("", "Relu", ["a"], ["b"], body, opsets, ["slope"]))
    for _, found in in_both_languages(model, {"x": X}):
        np.testing.assert_array_equal(found[0], -X)


@pytest.mark.parametrize(("versions", "as_of"), [({"ai.onnx.ml": 3}, "the newest"), ({}, "the first")])
def test_models_that_do_not_name_onnx(versions: dict[str, int], as_of: str) -> None:
    """With other domains named the newest opset is meant, as to onnxruntime; with none the first, of files that have no
    list of opsets. There Cast takes the type's name."""
    to: Any = TensorProto.INT64 if versions else "INT64"
    model = model_of([helper.make_node("Cast", ["x"], ["y"], to=to)], [("x", X.shape)])
    del model.opset_import[:]
    model.opset_import.extend(helper.make_opsetid(*item) for item in versions.items())
    for _, found in in_both_languages(model, {"x": X * 9}):
        np.testing.assert_array_equal(found[0], (X * 9).astype("int64"), err_msg=as_of)


def test_a_type_to_cast_to_that_is_none() -> None:
    assert "names no element type" in refusal("Cast", 5, to="int")
