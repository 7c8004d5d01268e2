"""`baton.frontend.onnx.backend` as ONNX's tools use it, and values that must be known when compiling."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.backend.base import Backend

import baton
from baton import DiagnosticError
from baton.frontend.onnx import backend
from tests.frontends.onnx.models import model_of

SUM = model_of(
    [helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)],
    [("x", ["n", 3]), ("axes", ([1], TensorProto.INT64))],
)
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_it_is_a_backend() -> None:
    assert issubclass(backend.BatonBackend, Backend)
    assert backend.supports_device("CPU")
    assert not backend.supports_device("CUDA")
    with pytest.raises(DiagnosticError, match="no device"):
        backend.prepare(SUM, device="CUDA")


def test_run_model_by_order_and_by_name() -> None:
    model = model_of([helper.make_node("Sub", ["a", "b"], ["y"])], [("a", ["n"]), ("b", ["n"])])
    a, b = np.float32([5, 7]), np.float32([1, 2])
    np.testing.assert_array_equal(backend.run_model(model, [a, b]).y, a - b)
    np.testing.assert_array_equal(backend.prepare(model).run({"b": b, "a": a})[0], a - b)
    with pytest.raises(DiagnosticError, match="takes 2 inputs"):
        backend.run_model(model, [a])


def test_run_node() -> None:
    node = helper.make_node("Clip", ["x", "", "high"], ["y"])
    (found,) = backend.run_node(node, [X, np.float32(2)])
    np.testing.assert_array_equal(found, np.minimum(X, 2))


def test_values_that_are_bound_may_be_lists() -> None:
    """They were taken for arrays: a list of axes was an AttributeError, where lists are taken for other inputs."""
    prepared = backend.prepare(SUM)
    np.testing.assert_array_equal(prepared.run([X, [0]]).y, X.sum(0))
    np.testing.assert_array_equal(prepared.run({"x": X, "axes": (1,)}).y, X.sum(1))


@pytest.mark.parametrize("given", [[X], [X, X, X], {"a": X}])
def test_inputs_of_a_node_are_counted(given: object) -> None:
    with pytest.raises(DiagnosticError, match=r"the node takes 2 inputs \(a, b\); \d given"):
        backend.run_node(helper.make_node("Add", ["a", "b"], ["c"]), given)


def test_axes_given_as_inputs_are_compiled_per_value() -> None:
    """ONNX lets axes be inputs; the backend compiles one program for each value and keeps it."""
    program = backend.prepare(SUM)
    for axis in (0, 1, -1, 0):
        (found,) = program.run([X, np.array([axis])])
        np.testing.assert_array_equal(found, X.sum(axis))
    assert len(program.programs) == 3


def test_compile_names_the_input_to_bind_and_binds_it() -> None:
    """`baton.compile` never compiles behind one's back: it says which input must be known, and `params` binds it."""
    with pytest.raises(DiagnosticError, match="params=\\{'axes': array\\}") as error:
        baton.compile(SUM)
    assert error.value.code == "onnx-dynamic"
    model = baton.compile(SUM, params={"axes": np.array([1])})
    assert [spec.name for spec in model.inputs] == ["x"]
    np.testing.assert_array_equal(model.run({"x": X})[0], X.sum(1))


def test_bound_weights_replace_those_of_the_model(tmp_path: Path) -> None:
    weight = onnx.numpy_helper.from_array(np.ones(3, np.float32), "w")
    model = model_of([helper.make_node("Mul", ["x", "w"], ["y"])], [("x", ["n", 3])], weights=[weight])
    path = tmp_path / "m.onnx"
    onnx.save(model, path)
    found = baton.compile(path, params={"w": np.float32([1, 2, 3])}).run({"x": X})[0]
    np.testing.assert_array_equal(found, X * np.float32([1, 2, 3]))


def test_inputs_that_have_a_value_in_the_model() -> None:
    """They may be given, as ONNX says; they were refused as unknown."""
    weight = onnx.numpy_helper.from_array(np.ones(3, np.float32), "w")
    node = helper.make_node("Mul", ["x", "w"], ["y"])
    prepared = backend.prepare(model_of([node], [("x", ["n", 3]), ("w", [3])], weights=[weight]))
    np.testing.assert_array_equal(prepared.run({"x": X, "w": np.float32([1, 2, 3])}).y, X * np.float32([1, 2, 3]))
    np.testing.assert_array_equal(prepared.run([X]).y, X)


def test_sizes_of_values_that_are_bound() -> None:
    """One row where three are declared was broadcast."""
    model = model_of([helper.make_node("Mul", ["x", "w"], ["y"])], [("x", ["n", 3]), ("w", [3])])
    with pytest.raises(DiagnosticError, match=r"'w' is float32 \(3,\), but is bound to float32 \(1,\)"):
        baton.compile(model, params={"w": np.ones(1, np.float32)})
