"""Loops that are fused, reordered or none."""

from __future__ import annotations

import pytest

from baton import tir
from baton._src.support.diagnostics import DiagnosticError
from baton.script import tir as T


@T.prim_func
def triangle(A: T.Buffer((8, 8), "float32")):
    for i in range(8):
        for j in range(i + 1):
            with T.block("A"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = T.float32(1)


def test_extents_that_depend_on_each_other() -> None:
    """Guards a triangle, whose rows have different lengths: its loops are no single one."""
    s = tir.Schedule(triangle)
    with pytest.raises(DiagnosticError, match="the extent of the loop over j depends on a loop"):
        s.fuse(*s.get_loops("A"))


@T.prim_func
def skewed(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("C"):
            T.reads(A[0:8, 0:8], C[0:8, 0:8])
            T.writes(C[0:8, 0:8])
            if i == 0 or j == 7:
                C[i, j] = A[i, j]
            else:
                C[i, j] = C[i - 1, j + 1] + A[i, j]


def test_loops_used_without_axes() -> None:
    """Guards the order of iterations that a block names by loops, where axes say nothing: a row reads the one above it,
    one column to the right."""
    s = tir.Schedule(skewed)
    i, j = s.get_loops("C")
    with pytest.raises(DiagnosticError, match="elements of C are stored in one iteration and may be accessed in anoth"):
        s.reorder(j, i)


def test_no_loops() -> None:
    """Guards that one loop, or none, is in order, and that nothing is fused of nothing."""
    s = tir.Schedule(triangle)
    before = s.func.script()
    s.reorder()
    s.reorder(s.get_loops("A")[1])
    assert s.func.script() == before
    with pytest.raises(DiagnosticError, match="fuse takes one loop or more"):
        s.fuse()
