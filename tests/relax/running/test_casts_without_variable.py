"""A cast that only checks has no variable; it goes through every pass and both machines like any other."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.machines import everywhere, fails_everywhere

BODY = """
@R.function
def main(x: R.Tensor(ndim=2), y: R.Tensor(ndim=1), c: R.Tensor((), "bool")) -> R.Object:
    n = T.int64()
    m = T.int64()
    R.match_cast(x, R.Tensor((n, m), "float32"))
    R.match_cast(y, R.Tensor((m,), "float32"))
    z = R.add(x, y)
    if c:
        R.match_cast(z, R.Tensor((n, m), "float32"))
        R.match_cast(y, R.Tensor((m,)))
        w = R.exp(z)
    else:
        w = z
    return (w, R.shape([n, m]))
"""


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


@pytest.mark.rule("RELAX-GRAMMAR-37")
@pytest.mark.rule("RELAX-EXPR-11")
def test_casts_without_variable_bind_and_check() -> None:
    _, shape = everywhere(BODY, ones(2, 3), ones(3), np.bool_(True))
    assert shape == (2, 3)
    everywhere(BODY, ones(2, 3), ones(3), np.bool_(False))


def test_casts_without_variable_fail() -> None:
    error = fails_everywhere(BODY, ones(2, 3), ones(4), np.bool_(True), says="expected 3")
    assert "4" in str(error)
