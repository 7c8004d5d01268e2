"""Sparse tensors of models: initializers, those of branches, and constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import SparseTensorProto, TensorProto, helper

from baton import relax
from baton._src.relax.interpreter import Interpreter
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.convert import to_numpy
from tests.frontends.onnx.models import model_of, weight

DENSE = np.array([[0, 2, 0], [0, 0, -1]], "float32")
COUNTED = np.array([1, 5])
BY_AXIS = np.array([[0, 1], [1, 2]])


def sparse(indices: Any, shape: Any = (2, 3)) -> SparseTensorProto:
    return helper.make_sparse_tensor(weight("w", np.array([2, -1], "float32")), weight("", indices), list(shape))


def result_of(model: Any, *operands: Any) -> Any:
    return to_numpy(Interpreter(relax.frontend.onnx.from_onnx(model))["main"](*operands))


@pytest.mark.parametrize("indices", [COUNTED, BY_AXIS], ids=["counted", "by axis"])
def test_initializers(indices: Any) -> None:
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], [("x", [2, 3])])
    model.graph.sparse_initializer.append(sparse(indices))
    np.testing.assert_array_equal(result_of(model, np.ones((2, 3), "float32")), DENSE + 1)


def test_of_a_branch_and_in_a_constant() -> None:
    """In a branch the tensor hides what is called the same outside of it."""
    out = [helper.make_empty_tensor_value_info("z")]
    arm = helper.make_graph([helper.make_node("Neg", ["w"], ["z"])], "arm", [], out)
    arm.sparse_initializer.append(sparse(COUNTED))
    other = helper.make_graph([helper.make_node("Constant", [], ["z"], sparse_value=sparse(COUNTED))], "other", [], out)
    node = helper.make_node("If", ["go"], ["y"], then_branch=arm, else_branch=other)
    model = model_of([node], [("go", ([], TensorProto.BOOL))])
    for go, expected in ((True, -DENSE), (False, DENSE)):
        np.testing.assert_array_equal(result_of(model, np.array(go)), expected)


@pytest.mark.parametrize(
    ("tensor", "said"),
    [
        (sparse([1, 6]), "indices outside its shape"),
        (sparse([-1, 2]), "indices outside its shape"),
        (sparse([[0, 1], [0, 3]]), "indices outside its shape"),
        (sparse([1, 2, 3]), r"indices int64 \(3,\) for 2 values"),
        (sparse(np.array([1, 2], "int32")), r"indices int32 \(2,\) for 2 values"),
        (sparse(COUNTED, (1 << 40, 1 << 40)), "the impossible shape"),
    ],
)
def test_indices_that_do_not_fit(tensor: SparseTensorProto, said: str) -> None:
    model = model_of([helper.make_node("Add", ["x", "w"], ["y"])], [("x", [2, 3])])
    model.graph.sparse_initializer.append(tensor)
    with pytest.raises(DiagnosticError, match=said) as error:
        relax.frontend.onnx.from_onnx(model)
    assert error.value.code == "onnx-file"
