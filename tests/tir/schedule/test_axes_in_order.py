"""Loops that carry axes which go on from their earlier values keep their order."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.ir.structural import assert_structural_equal
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.text.parser import parse_text

SCAN = """
def main(X: T.Buffer((8, 4), "float32"), Y: T.Buffer((8, 4), "float32")):
    for t, j in T.grid(8, 4):
        with T.block("Y"):
            vt = T.axis.opaque(8, t)
            vj = T.axis.spatial(4, j)
            T.reads(Y[T.max(vt - 1, 0), {read}], X[vt, vj])
            T.writes(Y[vt, vj])
            Y[vt, vj] = T.if_then_else(vt > 0, Y[T.max(vt - 1, 0), {read}], T.float32(0)) * T.float32(0.5) + X[vt, vj]
"""


def outcome(func: object) -> np.ndarray:
    x, y = np.arange(32, dtype="float32").reshape(8, 4), np.zeros((8, 4), "float32")
    run_prim_func(func, [x, y])
    return y


def test_independent_loops_change_places_with_a_scan() -> None:
    """Guards what stays possible: rows that do not need each other, whole scans in parallel."""
    func = parse_text(SCAN.format(read="vj"))
    s = Schedule(func)
    t, j = s.get_loops("Y")
    s.reorder(j, t)
    s.parallel(j)
    np.testing.assert_array_equal(outcome(s.func), outcome(func))


def test_parts_of_a_scan_keep_their_order() -> None:
    """Guards loops split from one axis: the scan took its values in another order."""
    s = Schedule(parse_text(SCAN.format(read="vj")))
    t, j = s.get_loops("Y")
    outer, inner = s.split(t, [2, 4])
    with pytest.raises(DiagnosticError, match="their order is that of the values"):
        s.reorder(inner, outer)
    s.reorder(j, outer, inner)


def test_iterations_that_read_their_neighbours_keep_their_order() -> None:
    """Guards a scan whose elements go on from those of other rows, in other iterations of the loop moved outside."""
    s = Schedule(parse_text(SCAN.format(read="T.min(vj + 1, 3)")))
    t, j = s.get_loops("Y")
    with pytest.raises(DiagnosticError):
        s.reorder(j, t)


def test_lists_of_one_are_unpacked_in_traces() -> None:
    """Guards the text of a trace, which gave a list to primitives that take a loop."""
    func = parse_text(
        'def main(A: T.Buffer((8,), "float32")):\n'
        "    for i in range(8):\n"
        '        with T.block("A"):\n'
        "            vi = T.axis.spatial(8, i)\n"
        "            A[vi] = T.float32(1)"
    )
    s = Schedule(func)
    (loop,) = s.get_loops(s.get_block("A"))
    s.split(loop, [2, None])
    text = str(s.trace)
    assert "l1, = sch.get_loops(block=b0)" in text
    again, names = Schedule(func), {}
    exec(text.replace("from tvm import tir", "").replace("sch: tir.Schedule", "sch"), names)
    names["apply_trace"](again)
    assert_structural_equal(s.mod, again.mod)
