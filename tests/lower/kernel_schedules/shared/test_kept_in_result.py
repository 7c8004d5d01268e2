"""Which intermediates of row kernels lie in the memory of the result, and that nothing is lost there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.lower.kernel_schedules.schedule import schedule
from baton._src.ops import kernel_words as k
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.text.printer import script
from tests.codegen.native_run import HOST, build, call
from tests.passes.relax.programs import dim

ROWS, SIZE = 5, 77
X = np.linspace(-9, 4, ROWS * SIZE, dtype="float32").reshape(ROWS, SIZE)


def softmax_then(last: Any, size: Any = SIZE) -> PrimFunc:
    """`last(x, powers, total, i, j)` of powers and their sums."""
    x = placeholder((ROWS, size), "float32", "x")

    def fold(how: Any, source: Any, name: str) -> Any:
        along = k.reduce_axis(size, "k")
        return compute((ROWS,), lambda i: how(source[i, along.var], [along]), name)

    top = fold(k.reduce_max, x, "top")
    powers = compute((ROWS, size), lambda i, j: k.exp(x[i, j] - top[i]), "powers")
    total = fold(k.reduce_sum, powers, "total")
    return create_prim_func([x, compute((ROWS, size), lambda i, j: last(x, powers, total, i, j), "out")])


def quotient(x: Any, powers: Any, total: Any, i: Any, j: Any) -> Any:
    return powers[i, j] / total[i]


def wanted(x: Any) -> Any:
    powers = np.exp(x.astype("float64") - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def keeps(func: PrimFunc) -> bool:
    """Whether there is no memory for powers."""
    return "powers" not in script(schedule(func, HOST))


@pytest.mark.parametrize("size", [SIZE, 20_000, dim()], ids=["short", "long", "open"])
@pytest.mark.parametrize("in_place", [False, True])
def test_rows_of_any_length(size: Any, in_place: bool) -> None:
    """Guards the values, also where the result is written over the operand."""
    func = softmax_then(quotient, size)
    if in_place:
        func = func.with_attr("tir.overwrites", ((0, 1),))
    assert keeps(func)
    x = np.resize(X, (ROWS, 20_000)) if size == 20_000 else X.copy()
    found, correct = x if in_place else np.empty_like(x), wanted(x)
    scheduled = schedule(func, HOST)
    assert call(build(scheduled), scheduled, x, found) is None
    np.testing.assert_allclose(found, correct, rtol=2e-6)


def test_not_a_number_and_infinities() -> None:
    """Guards rows of NaN, of infinities and of one number alone: as in NumPy."""
    func = schedule(softmax_then(quotient), HOST)
    x, found = X.copy(), np.empty_like(X)
    x[0, 3], x[1, 3], x[2] = np.nan, np.inf, -np.inf
    x[3], x[3, 40] = -np.inf, 7
    assert call(build(func), func, x, found) is None
    assert np.isnan(found[[0, 2]]).all()
    assert np.isnan(found[1, 3])
    np.testing.assert_array_equal(found[3], np.arange(SIZE) == 40)


OTHERS: dict[str, Any] = {
    "the operand is read again": lambda x, powers, total, i, j: powers[i, j] / total[i] + x[i, j],
    "powers are read elsewhere": lambda x, powers, total, i, j: powers[i, SIZE - 1 - j] / total[i],
    "twice": lambda x, powers, total, i, j: powers[i, j] - powers[i, SIZE - 1 - j],
}


@pytest.mark.parametrize("why", OTHERS)
def test_others_have_memory_of_their_own(why: str) -> None:
    """Guards what would be overwritten before it is read."""
    func = softmax_then(OTHERS[why])
    assert not keeps(func)
    found, scheduled = np.empty_like(X), schedule(func, HOST)
    assert call(build(scheduled), scheduled, X, found) is None
    powers = np.exp(X - X.max(1, keepdims=True))
    total = powers.sum(1, keepdims=True)
    correct = {
        "the operand is read again": powers / total + X,
        "powers are read elsewhere": powers[:, ::-1] / total,
        "twice": powers - powers[:, ::-1],
    }[why]
    np.testing.assert_allclose(found, correct, rtol=2e-6, atol=1e-6)
