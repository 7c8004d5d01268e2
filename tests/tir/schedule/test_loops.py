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


def test_no_loops() -> None:
    """Guards that one loop, or none, is in order, and that nothing is fused of nothing."""
    s = tir.Schedule(triangle)
    before = s.func.script()
    s.reorder()
    s.reorder(s.get_loops("A")[1])
    assert s.func.script() == before
    with pytest.raises(DiagnosticError, match="fuse takes one loop or more"):
        s.fuse()
