"""Sums whose length depends on where they are: an extent of `te` may name outer axes and read tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import te
from baton.script import tir as T

ROWS = np.array([[0, 2, 0, 1], [0, 0, 0, 0], [5, 0, 3, 4]], "float32")
STARTS = np.array([0, 2, 2, 5], "int32")
COLUMNS = np.array([1, 3, 0, 2, 3], "int32")
VALUES = np.array([2, 1, 5, 3, 4], "float32")
VECTOR = np.array([1, 10, 100, 1000], "float32")


def product(schedule: Any = None) -> np.ndarray[Any, Any]:
    """ROWS @ VECTOR, the rows held as CSR does."""
    starts, columns = te.placeholder((4,), "int32", "starts"), te.placeholder((5,), "int32", "columns")
    values, vector = te.placeholder((5,), "float32", "values"), te.placeholder((4,), "float32", "vector")
    length = te.compute((3,), lambda i: starts[i + 1] - starts[i], "length")

    def row(i: Any) -> Any:
        k = te.reduce_axis((0, length[i]), "k")
        return te.sum(values[starts[i] + k] * vector[columns[starts[i] + k]], axis=k)

    rows = te.compute((3,), row, "rows")
    made = te.create_schedule(rows.op)
    if schedule is not None:
        schedule(made, length, rows)
    found = baton.nd.empty((3,))
    baton.build(made, [starts, columns, values, vector, rows])(
        *map(baton.nd.array, (STARTS, COLUMNS, VALUES, VECTOR)), found
    )
    return found.numpy()


@pytest.mark.parametrize(
    "schedule",
    [
        None,
        lambda s, length, rows: s[length].compute_inline(),
        lambda s, length, rows: s[rows].parallel(rows.op.axis[0]),
        lambda s, length, rows: s[rows].split(rows.op.reduce_axis[0], 2),
    ],
)
def test_rows_of_different_lengths(schedule: Any) -> None:
    """Guards what an extent reads: it stayed an expression over tensors, which no kernel can hold."""
    assert product(schedule).tolist() == (ROWS @ VECTOR).tolist()


def test_sums_between_two_places() -> None:
    """Guards the first value of such an axis."""
    starts, values = te.placeholder((4,), "int32", "starts"), te.placeholder((5,), "float32", "values")

    def part(i: Any) -> Any:
        k = te.reduce_axis((starts[i], starts[i + 1]), "k")
        return te.sum(values[k], axis=k)

    parts, found = te.compute((3,), part), baton.nd.empty((3,))
    baton.build([starts, values, parts])(baton.nd.array(STARTS), baton.nd.array(VALUES), found)
    assert found.numpy().tolist() == [3, 0, 12]


@T.prim_func
def below_diagonal(A: T.Buffer((4, 6), "float32"), n: T.Buffer((4,), "int32"), B: T.Buffer((4, 6), "float32")):
    for i, j in T.grid(4, 6):
        for k in range(n[i]):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                vk = T.axis.reduce(n[i], k)
                with T.init():
                    B[vi, vj] = T.float32(0)
                B[vi, vj] = B[vi, vj] + A[vk, vj]


def test_rules_leave_ragged_loops_where_they_are() -> None:
    """Guards the rules: they took the loop's variable out of its scope, and code generation broke."""
    a, n = np.arange(24, dtype="float32").reshape(4, 6), np.array([1, 4, 2, 3], "int32")
    found = baton.nd.empty((4, 6))
    baton.build(below_diagonal)(baton.nd.array(a), baton.nd.array(n), found)
    np.testing.assert_array_equal(found.numpy(), np.stack([a[:length].sum(0) for length in n]))
