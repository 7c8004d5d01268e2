"""Gradients of operators that take tuples: each operand gets the part of the gradient that came from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relax import nodes as relax
from baton._src.relax.struct_info import TensorStructInfo, TupleStructInfo
from baton._src.tir.expr import Var
from tests.ops.relax_values import evaluate


@pytest.mark.parametrize(
    ("name", "attributes", "shapes"),
    [
        ("concat", {"axis": 1}, [(2, 3), (2, 4)]),
        ("concat", {"axis": 0}, [(2, 3)]),
        ("stack", {"axis": 1}, [(2, 3), (2, 3)]),
    ],
)
def test_operands_get_their_part(name: str, attributes: Any, shapes: Any) -> None:
    """Guards concat and stack: joining the parts again gives the gradient back."""
    definition = CATALOGUE.get(name)
    record = definition.attrs(**attributes)
    arrays = [np.arange(np.prod(s), dtype="float64").reshape(s) for s in shapes]
    seed = definition.reference((arrays,), record)
    fields = [relax.Var(f"x{i}", TensorStructInfo(s, "float64")) for i, s in enumerate(shapes)]
    operand = relax.Var("t", TupleStructInfo([f.struct_info for f in fields]))
    grad = relax.Var("g", TensorStructInfo(seed.shape, "float64"))
    make = RelaxMaker(definition, CATALOGUE)
    (found,) = definition.gradient(make, (operand,), record, None, grad)
    parts = evaluate(found, {grad: seed})
    for part, array in zip(parts, arrays, strict=True):
        np.testing.assert_array_equal(part, array)


def test_flattened_operands_get_their_shapes_back() -> None:
    """Guards concat without an axis, which was a fault of the pass."""
    x, y = np.arange(6.0).reshape(2, 3), np.arange(6.0, 8.0)
    parts = _gradients("concat", {"axis": None}, [x, y], np.arange(8.0))
    for part, array in zip(parts, (x, y), strict=True):
        np.testing.assert_array_equal(part, array)


def test_scalars_of_grids() -> None:
    """Guards meshgrid: the gradient of a scalar had an axis."""
    grids = tuple(np.ones((1, 3)) for _ in range(2))
    scalar, vector = _gradients("meshgrid", {}, [np.array(2.0), np.arange(3.0)], grids)
    assert scalar.shape == ()
    assert scalar == 3
    assert vector.tolist() == [1, 1, 1]


def test_operands_of_unknown_dims() -> None:
    """Guards that extents which nothing names are those of the operands in a run."""
    fields = [relax.Var(f"x{i}", TensorStructInfo(None, "float64", ndim=1)) for i in range(2)]
    definition = CATALOGUE.get("concat")
    operand, grad = relax.Tuple(fields), relax.Var("g", TensorStructInfo(None, "float64", ndim=1))
    object.__setattr__(operand, "struct_info_", TupleStructInfo([f.struct_info for f in fields]))
    (found,) = definition.gradient(RelaxMaker(definition, CATALOGUE), (operand,), definition.attrs(axis=0), None, grad)
    values = {fields[0]: np.zeros(2), fields[1]: np.zeros(3), grad: np.arange(5.0)}
    assert [part.tolist() for part in evaluate(found, values)] == [[0, 1], [2, 3, 4]]


def test_elements_picked_by_tensors() -> None:
    """Guards index_tensor, which had no gradient: what is picked twice gets two contributions."""
    data, grad = (relax.Var(n, TensorStructInfo(s, "float64")) for n, s in (("x", (3, 2)), ("g", (2, 2, 2))))
    places = relax.Var("i", TensorStructInfo((2, 2), "int64"))
    definition, indices = CATALOGUE.get("index_tensor"), relax.Tuple((places,))
    found = definition.gradient(RelaxMaker(definition, CATALOGUE), (data, indices), definition.attrs(), None, grad)
    values = {data: np.zeros((3, 2)), places: np.array([[0, -1], [0, 1]]), grad: np.arange(8.0).reshape(2, 2, 2)}
    assert evaluate(found[0], values).tolist() == [[4, 6], [6, 7], [2, 3]]
    assert found[1] is None


def _gradients(name: str, attributes: Any, arrays: list[Any], seed: Any) -> Any:
    """The gradient towards each of the joined operands."""
    fields = [relax.Var(f"x{i}", TensorStructInfo(x.shape, "float64")) for i, x in enumerate(arrays)]
    operand = relax.Var("t", TupleStructInfo([f.struct_info for f in fields]))
    grad = relax.Var("g", TensorStructInfo((), "float64"))
    definition = CATALOGUE.get(name)
    make = RelaxMaker(definition, CATALOGUE)
    (found,) = definition.gradient(make, (operand,), definition.attrs(**attributes), None, grad)
    return evaluate(found, {grad: seed, operand: tuple(arrays)})


def test_symbolic_operands_are_cut_by_slices() -> None:
    """Guards that no symbolic place ends up in an attribute."""
    n = Var("n", "int64")
    definition = CATALOGUE.get("concat")
    fields = [relax.Var(f"x{i}", TensorStructInfo((n, 2), "float32")) for i in range(2)]
    operand = relax.Var("t", TupleStructInfo([f.struct_info for f in fields]))
    grad = relax.Var("g", TensorStructInfo((n * 2, 2), "float32"))
    make = RelaxMaker(definition, CATALOGUE)
    (found,) = definition.gradient(make, (operand,), definition.attrs(axis=0), None, grad)
    assert isinstance(found, relax.Tuple)
    assert [f.op.name for f in found.fields] == ["relax.strided_slice"] * 2
