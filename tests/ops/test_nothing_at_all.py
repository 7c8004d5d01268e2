"""Operators on tensors without elements, and on scalars: every machine gives what NumPy means, or refuses it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.tensor_info import PrimInfo, ShapeInfo
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Var
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.dtype import DataType
from baton._src.values.tensor import array
from baton.relax import op
from tests.ops.inferred import infer, rejects, t
from tests.relax.machines import everywhere


def _result(build: Any, *shapes: tuple[int, ...]) -> Any:
    """What all machines give for the operator on zeros of these shapes."""
    params = [Var(f"p{i}", TensorStructInfo(s, "float32")) for i, s in enumerate(shapes)]
    builder = BlockBuilder()
    with builder.function("main", params):
        builder.emit_func_output(builder.emit(build(*params)))
    return everywhere(builder.get(), *(array(np.zeros(s, "float32")) for s in shapes)).numpy()


@pytest.mark.parametrize(
    ("build", "shapes", "wanted"),
    [
        (lambda x: op.sum(x, 1), [(3, 0)], np.zeros(3)),
        (lambda x: op.prod(x, 1), [(3, 0)], np.ones(3)),
        (lambda x: op.max(x, 1), [(3, 0)], np.full(3, -np.inf)),
        (lambda x: op.mean(x, 1), [(3, 0)], np.full(3, np.nan)),
        (op.matmul, [(2, 0), (0, 3)], np.zeros((2, 3))),
        (op.nn.softmax, [(3, 0)], np.zeros((3, 0))),
        (op.nn.conv2d, [(1, 0, 4, 4), (3, 0, 3, 3)], np.zeros((1, 3, 2, 2))),
        (lambda x, g, b: op.nn.group_norm(x, g, b, 2, 1, [2]), [(2, 0, 3), (0,), (0,)], np.zeros((2, 0, 3))),
        (op.nn.attention, [(1, 2, 2, 0), (1, 3, 2, 0), (1, 3, 2, 0)], np.zeros((1, 2, 2, 0))),
        (op.nn.attention, [(1, 2, 2, 0), (1, 3, 2, 0), (1, 3, 2, 4)], np.zeros((1, 2, 2, 4))),
        (lambda x: op.nn.adaptive_avg_pool2d(x, (0, 2)), [(1, 2, 3, 4)], np.zeros((1, 2, 0, 2))),
        (lambda x: op.image.affine_grid(x, (0, 4)), [(2, 2, 3)], np.zeros((2, 2, 0, 4))),
        (lambda x: op.concat((x, x), 1), [(2, 0)], np.zeros((2, 0))),
        (lambda x: op.reshape(x, (5, 0)), [(0, 3)], np.zeros((5, 0))),
        (lambda x: op.nn.pad(x, (1, 1, 0, 0)), [(0, 3)], np.zeros((2, 3))),
        (op.cumsum, [()], np.zeros(1)),
        (lambda x: op.repeat(x, 3), [()], np.zeros(3)),
        (op.sum, [()], np.zeros(())),
    ],
)
def test_every_machine_knows_what_nothing_means(build: Any, shapes: list[tuple[int, ...]], wanted: Any) -> None:
    """Guards kernels that divide by an extent of 0 (group_norm, pooling to nothing), features that are none (attention)
    and references that cannot tell the size of what is empty (affine_grid)."""
    found = _result(build, *shapes)
    np.testing.assert_array_equal(found, wanted)
    assert found.shape == wanted.shape


def test_a_dim_that_any_number_would_do_for_is_refused() -> None:
    """Guards -1 beside a 0: kernels took it for 0, NumPy refuses it."""
    rejects("any dim would do for -1", "reshape", t(0, 3), ShapeInfo((0, -1)))
    assert infer("reshape", t(0, 3), newshape=(0, -1)).shape == (0, 3)


def test_draws_are_one_a_row() -> None:
    """Guards multinomial_from_uniform against numbers of another shape, of which the type spoke nevertheless."""
    rejects(r"must have shape \(n, 1\)", "multinomial_from_uniform", t(2, 3), t(4, 0), t(4, 1, dtype="int64"))


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_what_is_written_into_a_slice_has_its_shape(rows: int) -> None:
    """Guards slice_scatter: one row was repeated by NumPy and read beyond its end by kernels."""
    bounds = [PrimInfo(DataType("int64"), v) for v in (1, 5, 2)]
    with pytest.raises(DiagnosticError, match=r"the shape of the slice, \(2, 4\)"):
        infer("slice_scatter", t(6, 4), t(rows, 4), *bounds)
    assert infer("slice_scatter", t(6, 4), t(2, 4), *bounds).shape == (6, 4)
