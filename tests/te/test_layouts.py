"""`Stage.transform_layout`: results in another order of memory, computed in that order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import te
from baton._src.support.diagnostics import DiagnosticError

GIVEN = np.arange(96, dtype="float32").reshape(8, 12)


def sums(change: Any) -> tuple[str, np.ndarray[Any, Any]]:
    """Rows of GIVEN doubled, then summed: the kernel's text, and what it computes."""
    a, k = te.placeholder((8, 12), "float32", "A"), te.reduce_axis((0, 12), "k")
    b = te.compute((8, 12), lambda i, j: a[i, j] * 2.0, "B")
    c = te.compute((8,), lambda i: te.sum(b[i, k], k), "C")
    schedule = te.create_schedule(c.op)
    shape = change(schedule, b, c)
    found = baton.nd.empty(shape)
    baton.build(schedule, [a, c])(baton.nd.array(GIVEN), found)
    return baton.lower(schedule, [a, c]).script(), np.asarray(found.numpy())


def test_tiles_of_an_intermediate_result() -> None:
    """The new axes are the stage's own: they are scheduled, and separators between them say nothing."""

    def change(schedule: te.Schedule, b: te.Tensor, c: te.Tensor) -> tuple[int, ...]:
        outer, _, inner = schedule[b].transform_layout(lambda i, j: [i // 4, j, te.AXIS_SEPARATOR, i % 4])
        schedule[b].parallel(outer)
        schedule[b].vectorize(inner)
        return (8,)

    text, found = sums(change)
    assert "B = T.alloc_buffer((2, 12, 4))" in text
    assert "in T.parallel(2)" in text
    assert "in T.vectorized(4)" in text
    np.testing.assert_array_equal(found, GIVEN.sum(1) * 2)


def test_columns_computed_where_they_are_read() -> None:
    """Guards the axes that a moved stage is said to have."""

    def change(schedule: te.Schedule, b: te.Tensor, c: te.Tensor) -> tuple[int, ...]:
        schedule[b].transform_layout(lambda i, j: [j, i])
        schedule[b].compute_at(schedule[c], c.op.axis[0])
        return (8,)

    text, found = sums(change)
    assert "B = T.alloc_buffer((12, 8))" in text
    np.testing.assert_array_equal(found, GIVEN.sum(1) * 2)


def test_results_are_given_as_they_lie() -> None:
    """A kernel's tensors have the new shape; axes that are reduced over stay inside."""

    def change(schedule: te.Schedule, b: te.Tensor, c: te.Tensor) -> tuple[int, ...]:
        schedule[c].transform_layout(lambda i: [i % 4, i // 4])
        return (4, 2)

    np.testing.assert_array_equal(sums(change)[1], (GIVEN.sum(1) * 2).reshape(2, 4).T)


def test_what_cannot_be_laid_out() -> None:
    """Stages whose loops are changed already, and maps that leave places empty."""

    def late(schedule: te.Schedule, b: te.Tensor, c: te.Tensor) -> None:
        schedule[b].split(b.op.axis[0], 4)
        schedule[b].transform_layout(lambda i, j: [j, i])

    def padded(schedule: te.Schedule, b: te.Tensor, c: te.Tensor) -> tuple[int, ...]:
        schedule[b].transform_layout(lambda i, j: [i // 5, i % 5, j])
        return (8,)

    for change, code in ((late, "comes before its other primitives"), (padded, "index-map")):
        with pytest.raises(DiagnosticError, match=code):
            sums(change)
