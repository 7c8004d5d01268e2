"""Tensors that loops append to: what was there stays as it is, and is copied a few times only."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.runtime.vm.builtins.growing import appended, complete
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.tensor import NDArray


def rows(first: int, count: int, width: int = 3) -> NDArray:
    return NDArray(np.arange(first, first + count * width, dtype="int32").reshape(count, width))


def test_parts_are_copied_a_few_times_only() -> None:
    """Guards against work that grows with the square of the number of rounds."""
    found, memories = NDArray(np.zeros((0, 3), "int32")), []
    for k in range(2000):
        found = appended(found, rows(3 * k, 1))
        if not memories or not np.shares_memory(memories[-1], found.data):
            memories.append(found.data)
    np.testing.assert_array_equal(found.data, rows(0, 2000).data)
    assert len(memories) <= 7
    assert found.data.ctypes.data % 64 == 0


def test_what_is_appended_to_twice_is_copied() -> None:
    """Guards both results of one tensor: only one can have the memory behind it."""
    start = appended(rows(0, 2), rows(6, 1))
    one, other = appended(start, rows(100, 1)), appended(start, rows(200, 2))
    np.testing.assert_array_equal(start.data, rows(0, 3).data)
    np.testing.assert_array_equal(one.data, np.concatenate([start.data, rows(100, 1).data]))
    np.testing.assert_array_equal(other.data, np.concatenate([start.data, rows(200, 2).data]))
    assert np.shares_memory(one.data, start.data)
    assert not np.shares_memory(other.data, start.data)


def test_what_is_complete_shares_its_memory_with_nothing_that_follows() -> None:
    """Guards results of a program that a user writes into."""
    first = complete(appended(rows(0, 1), rows(3, 1)))
    later = appended(first, rows(6, 1))
    first.data[...] = 0
    np.testing.assert_array_equal(later.data, rows(0, 3).data)


def test_a_view_of_another_shape_is_appended_to_in_place() -> None:
    start = appended(rows(0, 1), rows(3, 1))
    found = appended(NDArray(start.data.reshape(1, 6)), rows(6, 2, 6))
    np.testing.assert_array_equal(found.data, rows(0, 3, 6).data)
    assert np.shares_memory(found.data, start.data)


@pytest.mark.parametrize("shape", [(0, 0), (0, 5)])
def test_sizes_that_were_unknown(shape: tuple[int, ...]) -> None:
    found = appended(NDArray(np.zeros(shape, "int32")), rows(0, 2))
    np.testing.assert_array_equal(found.data, rows(0, 2).data)


def test_the_first_rows_of_many() -> None:
    found = appended(rows(0, 1), rows(3, 9), NDArray(np.array(2)))
    np.testing.assert_array_equal(found.data, rows(0, 3).data)
    assert appended(rows(0, 1, 0), rows(0, 2, 0)).shape == (3, 0)


def test_rows_that_do_not_fit() -> None:
    with pytest.raises(DiagnosticError, match="has no such rows"):
        appended(rows(0, 1), rows(0, 1, 2))


@pytest.mark.parametrize(("width", "count", "stays"), [(3, 2, True), (1 << 14, 60, True), (1 << 14, 2, False)])
def test_rows_of_a_loop_stay_where_they_are(width: int, count: int, stays: bool) -> None:
    """Guards the first rows of a loop: they are not copied, unless they would hold much memory for little."""
    made = rows(0, 64, width)
    start = NDArray(np.zeros((0, width), "int32"))
    found = appended(start, made, NDArray(np.array(count)))
    np.testing.assert_array_equal(found.data, made.data[:count])
    assert np.shares_memory(found.data, made.data) == stays
    longer = appended(found, rows(7, 1, width))
    np.testing.assert_array_equal(longer.data, np.concatenate([made.data[:count], rows(7, 1, width).data]))
    np.testing.assert_array_equal(made.data, rows(0, 64, width).data)
