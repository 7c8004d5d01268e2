"""Where memory begins that kernels read by whole vectors."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.passes.shared.filled_arrays import filling
from baton._src.values.aligned import LINE, aligned, aligned_empty
from baton._src.values.dtype import DataType


@pytest.mark.parametrize("shape", [(), (0,), (3,), (5, 7), (300, 1000)])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bfloat16", "bool"])
def test_new_arrays_begin_on_a_line(shape: tuple[int, ...], dtype: str) -> None:
    """Guards vectors of weights against lying across two lines of the cache, at any size."""
    array = aligned_empty(shape, DataType(dtype).numpy)
    assert array.size == 0 or array.ctypes.data % LINE == 0
    assert array.shape == shape
    assert array.dtype == DataType(dtype).numpy
    assert array.flags.c_contiguous
    assert array.flags.writeable


def test_what_begins_on_a_line_is_not_copied() -> None:
    """Guards memory: the same array comes back, and a copy only where it must be, with the same values."""
    array = aligned_empty((64, 3), np.float32)
    array[...] = np.arange(192).reshape(64, 3)
    assert aligned(array) is array
    for other in (array[1:], array.T, array[:, :2]):
        copy = aligned(other)
        assert copy.ctypes.data % LINE == 0
        assert copy.flags.c_contiguous
        np.testing.assert_array_equal(copy, other)


def test_weights_that_passes_write_begin_on_a_line() -> None:
    """Guards packed weights, small and large."""
    with filling() as tensors:
        made = [tensors.fill((n, 5), "float32", lambda memory: memory.fill(1)) for n in (1, 7, 100_000)]
    assert all(t.data.ctypes.data % LINE == 0 for t in made)
