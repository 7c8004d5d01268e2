"""The part of a block that a loop's body needs: of all that it makes or uses, and inside of its range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import te
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te.apply_schedule import scheduled_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton.script import tir as T
from tests.codegen.native_run import run_native


def require_same(before: PrimFunc, after: PrimFunc) -> None:
    """Interpreted, and natively with each access checked."""
    x = np.arange(6, dtype="int32")
    wanted, found, native = (np.zeros((4, 6), "int32") for _ in range(3))
    run_prim_func(before, [x, wanted])
    run_prim_func(after, [x, found])
    assert run_native(after, x, native, checked=True) is None
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(native, wanted)


@pytest.mark.parametrize("shift", [-1, 1])
def test_borders_of_open_size(shift: int) -> None:
    """Found by random schedules: as many elements as there are, but others, were written, one of them outside."""
    n = te.var("n")
    a = te.placeholder((n,), "int32", name="A")
    b = te.compute((n,), lambda i: a[i] + 1, name="B")

    def padded(row: Any, i: Any) -> Any:
        return te.if_then_else(te.all(i + shift >= 0, i + shift < n), b[i + shift], 0) * row

    kernel = te.create_prim_func([a, te.compute((4, n), padded, name="C")])
    s = Schedule(kernel)
    s.compute_at("B", s.get_loops("C")[0])
    require_same(kernel, s.func)


@pytest.mark.parametrize("n", [6, te.var("n")])
def test_all_results_of_a_stage_are_computed(n: Any) -> None:
    """Found by random schedules: what is needed of the first result was taken for all of them."""
    a = te.placeholder((n,), "int32", name="A")
    first, second = te.compute((n,), lambda i: (a[i] + 1, a[n - 1 - i] * 3), name="B")

    def both(row: Any, i: Any) -> Any:
        return te.if_then_else(te.all(i - 1 >= 0, i - 1 < n), first[i - 1], 0) + second[i] * row

    c = te.compute((4, n), both, name="C")
    schedule = te.create_schedule(c.op)
    schedule[first].compute_at(schedule[c], c.op.axis[0])
    require_same(te.create_prim_func([a, c]), scheduled_prim_func(schedule, [a, c]))


def test_what_is_made_in_different_iterations_is_not_used_in_one() -> None:
    """Guards readers of several buffers: the order of the first one was taken, and the second not yet computed."""

    @T.prim_func
    def apart(A: T.Buffer((8,), "int32"), D: T.Buffer((8,), "int32")):
        B = T.alloc_buffer((8,), "int32")
        C = T.alloc_buffer((8,), "int32")
        for i in range(8):
            with T.block("B"):
                v = T.axis.spatial(8, i)
                B[v] = A[v]
            with T.block("C"):
                v = T.axis.spatial(8, 7 - i)
                C[v] = A[v] * 2
        for i in range(8):
            with T.block("D"):
                v = T.axis.spatial(8, i)
                D[v] = B[v] + C[v]

    s = Schedule(apart)
    with pytest.raises(DiagnosticError, match="what block D reads for v is made in different iterations"):
        s.reverse_compute_at("D", s.get_loops("B")[0])
