"""Values on their way into and out of an operator's meaning over NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.reference_values import from_reference, to_reference
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray


def test_operands() -> None:
    tensor = NDArray(np.arange(6))
    found = to_reference((tensor, ShapeTuple((2, 3)), [tensor, 4]))
    assert found[0] is tensor.data
    assert type(found[1]) is tuple
    assert found[2][0] is tensor.data
    assert found[2][1] == 4


def test_results_share_no_memory_with_operands() -> None:
    """A view of an operand would change with it, when a kernel writes in place (RELAX-SEM-09)."""
    operand = np.arange(6.0)
    nested = np.arange(4.0)
    found = from_reference(
        [operand.reshape(3, 2), nested[::-1], operand.sum()], apart_from=[operand, (nested, 3), (1, 2)]
    )
    operand[:] = nested[:] = -1
    assert [f.numpy().tolist() for f in found] == [[[0, 1], [2, 3], [4, 5]], [3, 2, 1, 0], 15]
    assert all(f.data.flags.c_contiguous for f in found)
    assert found[2].shape == ()


def test_views_stay_views_where_nothing_is_written() -> None:
    operand = np.arange(6.0)
    assert np.shares_memory(from_reference(operand.reshape(3, 2)).data, operand)


def test_results_that_are_no_tensors() -> None:
    with pytest.raises(DiagnosticError, match="is not a tensor"):
        from_reference(np.array([object()]))
