"""Gradients of operators that take tuples: each operand gets the part of the gradient that came from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ops.call_maker import Maker
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
    make = Maker("relax", definition, CATALOGUE)
    (found,) = definition.gradient(make, (operand,), record, None, grad)
    parts = evaluate(found, {grad: seed})
    for part, array in zip(parts, arrays, strict=True):
        np.testing.assert_array_equal(part, array)


def test_symbolic_operands_are_cut_by_slices() -> None:
    """Guards that no symbolic place ends up in an attribute."""
    n = Var("n", "int64")
    definition = CATALOGUE.get("concat")
    fields = [relax.Var(f"x{i}", TensorStructInfo((n, 2), "float32")) for i in range(2)]
    operand = relax.Var("t", TupleStructInfo([f.struct_info for f in fields]))
    grad = relax.Var("g", TensorStructInfo((n * 2, 2), "float32"))
    make = Maker("relax", definition, CATALOGUE)
    (found,) = definition.gradient(make, (operand,), definition.attrs(axis=0), None, grad)
    assert isinstance(found, relax.Tuple)
    assert [f.op.name for f in found.fields] == ["relax.strided_slice"] * 2
