"""Stages made of stages that other primitives made, or that cannot be placed: what each step finds when applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton import te
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te.apply_schedule import scheduled_prim_func
from baton._src.te.schedule import Schedule
from baton._src.te.tensor import Tensor
from baton._src.tir.evaluation.interpreter import run_prim_func

Change = Callable[[Schedule, Tensor, Any], object]


def applied(change: Change) -> None:
    """The schedule of rows' sums, doubled, computes them."""
    a, k = te.placeholder((6, 20), "int32", name="A"), te.reduce_axis((0, 20), "k")
    c = te.compute((6,), lambda i: te.sum(a[i, k], k), name="C")
    d = te.compute((6,), lambda i: c[i] * 2, name="D")
    s = te.create_schedule(d.op)
    change(s, c, d)
    x, found = np.arange(120, dtype="int32").reshape(6, 20), np.zeros(6, "int32")
    run_prim_func(scheduled_prim_func(s, [a, d]), [x, found])
    np.testing.assert_array_equal(found, 2 * x.sum(1))


def reduced(s: Schedule, tensor: Any, factor: int) -> Any:
    """Partial results of every `factor`-th term."""
    return s.rfactor(tensor, s[tensor].split(s[tensor].op.reduce_axis[0], factor)[1])


def of_a_copy(s: Schedule, c: Tensor, d: Tensor) -> None:
    written = s.cache_write(c, "local")
    partial = reduced(s, written, 4)
    s[written].unroll(s[written].op.reduce_axis[0])
    s[partial].compute_at(s[written], s[written].op.axis[0])


def twice(s: Schedule, c: Tensor, d: Tensor) -> None:
    reduced(s, c, 4)
    reduced(s, c, 2)
    s[c].unroll(s[c].op.reduce_axis[0])


def of_partial_results(s: Schedule, c: Tensor, d: Tensor) -> None:
    reduced(s, reduced(s, c, 4), 2)


@pytest.mark.parametrize("change", [of_a_copy, twice, of_partial_results])
def test_partial_results_of_what_is_no_computation_of_the_graph(change: Change) -> None:
    """Found by random schedules: the axes of a stage were looked for among those that a later step gave it."""
    applied(change)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda s, c, d: s[d].compute_at(s[c], s[c].split(c.op.axis[0], 2)[0]), "stage C comes before D, which"),
        (lambda s, c, d: s[c].storage_align(c.op.reduce_axis[0], 8, 1), "k is not an axis of the result of C"),
        (
            lambda s, c, d: (s[c].transform_layout(lambda i: (i // 2, i % 2)), reduced(s, c, 4)),
            "rfactor of C comes before",
        ),
    ],
)
def test_refusals(change: Change, says: str) -> None:
    """Guards diagnostics: each was a KeyError, or a ValueError, when the schedule was applied."""
    with pytest.raises(DiagnosticError, match=says):
        applied(change)
