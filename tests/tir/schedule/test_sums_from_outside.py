"""Sums that a loop or a block outside of the block around goes on with do not begin anew in each of its turns."""

from __future__ import annotations

import pytest

from baton import te
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton.script import tir as T


@T.prim_func
def in_tiles(A: T.Buffer((4, 16), "int32"), C: T.Buffer((4,), "int32")):
    for i, ko in T.grid(4, 4):
        with T.block("tile"):
            vi, vko = T.axis.remap("SR", [i, ko])
            for ki in range(4):
                with T.block("C"):
                    wi = T.axis.spatial(4, vi)
                    wk = T.axis.reduce(16, vko * 4 + ki)
                    with T.init():
                        C[wi] = 0
                    C[wi] = C[wi] + A[wi, wk]


def over_two_axes() -> PrimFunc:
    a = te.placeholder((5, 6, 7), "int32", name="A")
    k, q = te.reduce_axis((0, 6), "k"), te.reduce_axis((0, 7), "q")
    made: PrimFunc = te.create_prim_func([a, te.compute((5,), lambda i: te.sum(a[i, k, q], [k, q]), name="C")])
    return made


def test_partial_sums_begin_once() -> None:
    """Found by random schedules: with the loop over k outside of the parts, only its last turn was summed up."""
    s = Schedule(over_two_axes())
    s.loop_partition(s.get_loops("C")[2], [2, None])
    inner = s.get_loops("C_q0")[-1]
    with pytest.raises(DiagnosticError, match="k, outside of the block around C_q0, goes on with its sums"):
        s.rfactor(inner, 0)
    s = Schedule(in_tiles)
    with pytest.raises(DiagnosticError, match="vko, outside of the block around C, goes on with its sums"):
        s.rfactor(s.get_loops("C")[-1], 0)


def test_the_start_stays_where_an_axis_outside_reduces() -> None:
    """Guards axes of the block around: the start in front of the inner loop was one for each tile."""
    s = Schedule(in_tiles)
    with pytest.raises(DiagnosticError, match="vko, outside of ki, reduces: the initialisation would run more than"):
        s.decompose_reduction("C", s.get_loops("C")[-1])
