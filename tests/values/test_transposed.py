"""Guards `values.transposed`: the same elements as NumPy's, in C order, small and in slabs."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from baton._src.values.transposed import transposed

_LARGE = [
    ((700, 1100), None),
    ((1100, 700), (1, 0)),
    ((3, 520, 600), (0, 2, 1)),
    ((600, 5, 520), (2, 1, 0)),
    ((40000, 30), None),
    ((30, 40000), None),
]
_SMALL = [
    ((), None),
    ((0, 5), None),
    ((7,), None),
    ((3, 4, 5), (1, 2, 0)),
    ((300, 400), (0, 1)),
    ((3, 4, 5), (-1, 0, 1)),
]


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64", "bfloat16"])
@pytest.mark.parametrize(("shape", "axes"), [*_LARGE, *_SMALL])
def test_against_numpy(shape: tuple[int, ...], axes: tuple[int, ...] | None, dtype: str) -> None:
    """Guards values, shape and layout."""
    kind = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    x = np.random.default_rng(0).integers(-100, 100, shape).astype(kind)
    found = transposed(x, axes)
    assert found.flags.c_contiguous
    assert found.dtype == kind
    np.testing.assert_array_equal(found, np.transpose(x, axes))


def test_of_a_view() -> None:
    """Guards arrays that are no whole pieces of memory, and that the result is no view."""
    x = np.arange(2 * 900 * 1400, dtype=np.float32).reshape(900, 2800)[:, ::2]
    found = transposed(x)
    np.testing.assert_array_equal(found, x.T)
    assert not np.shares_memory(found, x)
