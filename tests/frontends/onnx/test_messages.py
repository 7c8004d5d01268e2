"""What is said of nodes whose operands do not fit together: the node, what is wrong in ONNX's terms, what is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import baton
from baton import DiagnosticError
from tests.frontends.onnx.against_onnxruntime import onnxruntime_outputs
from tests.frontends.onnx.models import model_of, weight

IMAGE, STEPS, ROWS = [1, 3, 8, 8], [5, 2, 3], [2, 3]
W, R = np.ones((1, 16, 3), "float32"), np.ones((1, 16, 4), "float32")

# operator, shape of its first operand, the others, attributes, what is said
CASES: list[tuple[str, list[int], list[Any], dict[str, Any], str]] = [
    # these took the last direction there was for those that were missing, or what a product of matrices said of them
    ("LSTM", STEPS, [W, R], {"hidden_size": 4, "direction": "bidirectional"}, "its shape must be (2, 16, 3)"),
    ("LSTM", STEPS, [W, R], {"hidden_size": 5}, "W is float32 (1, 16, 3), its shape must be (1, 20, 3)"),
    ("LSTM", STEPS, [R, R], {"hidden_size": 4}, "W is float32 (1, 16, 4), its shape must be (1, 16, 3)"),
    ("LSTM", ROWS, [W, R], {"hidden_size": 4}, "its input must have three axes, it is float32 (2, 3)"),
    ("GRU", STEPS, [W[:, :12], R[:, :12], R[0, :1, :2]], {"hidden_size": 4}, "B is float32 (1, 2), its shape must"),
    # these were errors of Python's
    ("Slice", ROWS, [np.array([0, 0]), np.array([1])], {}, "it has 2 starts, 1 ends, 2 axes, 2 steps"),
    ("Pad", ROWS, [np.array([1, 1])], {}, "it has 2 pads for 2 axes, it must have two for each"),
    # these were done in part
    ("Tile", ROWS, [np.array([2])], {}, "it has 1 repeats for 2 axes"),
    ("Split", ROWS, [np.array([1, 2])], {"axis": 1}, "it has 1 outputs for 2 parts"),
    # these were told of an operator that the model does not have, or as sizes that are not known
    ("GroupNormalization", IMAGE, [np.ones(3, "f")] * 2, {"num_groups": 2}, "3 channels do not divide into 2"),
    ("NonMaxSuppression", IMAGE, [np.ones((1, 5), "f")], {}, "must be (images, classes, boxes), they have 2 axes"),
    (
        "RoiAlign",
        IMAGE,
        [np.ones((1, 5), "f"), np.array([0])],
        {},
        "rows of (x1, y1, x2, y2), they are float32 (1, 5)",
    ),
    ("GridSample", IMAGE, [np.ones((1, 4, 4, 3), "f")], {}, "the last of size 2; it is float32 (1, 4, 4, 3)"),
]


@pytest.mark.parametrize(("op", "shape", "others", "attributes", "said"), CASES)
def test_operands_that_do_not_fit(
    op: str, shape: list[int], others: list[Any], attributes: dict[str, Any], said: str
) -> None:
    names = [f"w{k}" for k in range(len(others))]
    node = helper.make_node(op, ["x", *names], ["y"], name="the one", **attributes)
    with pytest.raises(DiagnosticError) as error:
        baton.compile(model_of([node], [("x", shape)], weights=[*map(weight, names, others)]))
    assert f"{op} node 'the one'" in str(error.value)
    assert said in str(error.value)
    assert "TensorInfo(" not in str(error.value)


@pytest.mark.parametrize(
    ("domain", "op", "missing"),
    [
        ("ai.onnx.ml", "TreeEnsembleRegressor", "nodes_treeids"),
        ("ai.onnx.ml", "TreeEnsembleClassifier", "class_ids"),
        ("ai.onnx.ml", "SVMRegressor", "coefficients"),
        ("com.microsoft", "GroupQueryAttention", "num_heads"),
        ("com.microsoft", "MultiHeadAttention", "num_heads"),
        ("com.microsoft", "MatMulNBits", "block_size"),
        ("com.microsoft", "MatMulBnb4", "block_size"),
    ],
)
def test_attributes_that_no_definition_asks_for_and_the_operator_needs(domain: str, op: str, missing: str) -> None:
    """They were errors of Python's, about None."""
    node = helper.make_node(op, ["x", "x", "x"], ["y"], name="the one", domain=domain)
    model = model_of([node], [("x", [2, 3, 4] if domain == "com.microsoft" else ROWS)])
    model.opset_import.append(helper.make_opsetid(domain, 1))
    with pytest.raises(DiagnosticError, match=f"{op} node 'the one': attribute '{missing}' is missing"):
        baton.compile(model)


@pytest.mark.parametrize("op", ["ReduceLogSum", "ReduceLogSumExp", "ReduceL2"])
def test_reductions_of_integers_to_real_numbers(op: str) -> None:
    """The logarithms were refused; they are cut to integers, as by onnxruntime."""
    axes = weight("axes", np.array([1]))
    model = model_of([helper.make_node(op, ["x", "axes"], ["y"])], [("x", ROWS)], weights=[axes], dtype=7)
    x = np.array([[1, 2, 3], [4, 50, 6]])
    (found,) = baton.compile(model, num_threads=1).run({"x": x})
    (expected,) = onnxruntime_outputs(model, {"x": x})
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, expected)
