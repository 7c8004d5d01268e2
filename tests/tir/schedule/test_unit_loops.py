"""Loops of one iteration in what axes are bound to, and loops that are split anew."""

from __future__ import annotations

import numpy as np
import pytest

from baton import te
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import DiagnosticError, ScheduleError
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.stmt import BlockRealize


def row() -> Schedule:
    a = te.placeholder((1, 12), name="A")
    return Schedule(te.create_prim_func([a, te.compute((1, 12), lambda i, j: a[i, j] * 2.0, name="C")]))


def bindings(s: Schedule) -> list[str]:
    return [str(value) for value in s.realize("C").iter_values]


@pytest.mark.parametrize("keep", [True, False])
def test_split(keep: bool) -> None:
    """Guards `preserve_unit_iters`: other primitives find such loops in the sums, or there are none."""
    s = row()
    s.split(s.get_loops("C")[1], [1, 12, 1], preserve_unit_iters=keep)
    assert bindings(s) == (["i", "j_0 * 12 + j_1 + j_2"] if keep else ["0", "j_1"])


@pytest.mark.parametrize("keep", [True, False])
def test_fuse(keep: bool) -> None:
    s = row()
    s.fuse(*s.get_loops("C"), preserve_unit_iters=keep)
    assert bindings(s) == ["0", "i_j_fused"]


@pytest.mark.parametrize("keep", [True, False])
def test_loop_partition(keep: bool) -> None:
    """Guards parts of one iteration, of sums too: the second part must not begin the sum anew."""
    s = row()
    s.loop_partition(s.get_loops("C")[1], [1, None], preserve_unit_iters=keep)
    found = [n for n in post_order(s.func.body) if isinstance(n, BlockRealize) and n.iter_values]
    assert [str(n.iter_values[1]) for n in found] == ["j0" if keep else "0", "j1"]
    a = te.placeholder((3, 4), name="A")
    k = te.reduce_axis((0, 4), "k")
    s = Schedule(te.create_prim_func([a, te.compute((3,), lambda i: te.sum(a[i, k], k), name="C")]))
    s.loop_partition(s.get_loops("C")[1], [2, 1, None], preserve_unit_iters=keep)
    values, found = np.arange(12, dtype="float32").reshape(3, 4), np.zeros(3, "float32")
    run_prim_func(s.func, [values, found])
    np.testing.assert_array_equal(found, values.sum(1))


def test_parts_of_marked_loops() -> None:
    """Guards that parts are serial, which of them runs in parallel is said anew; annotated loops are not split."""
    s = row()
    j = s.get_loops("C")[1]
    s.parallel(j)
    outer, inner = s.split(j, [None, 4])
    assert [s.get(loop).kind.name for loop in (outer, inner)] == ["SERIAL", "SERIAL"]
    s.annotate(inner, "pragma_x", 1)
    with pytest.raises(DiagnosticError, match="the loop over j_1 is annotated"):
        s.split(inner, [2, 2])


def test_slips() -> None:
    """Guards factors that are none (-1 gave loops of no iterations), a loop named twice, annotations nobody made."""
    s = row()
    i, j = s.get_loops("C")
    before = s.func
    for factors in ([-1, None], [0, None], [3, 0]):
        with pytest.raises(ScheduleError, match="factors are 1 or more"):
            s.split(j, factors)
    with pytest.raises(ScheduleError, match="reorder takes each loop once, not j, i, j"):
        s.reorder(j, i, s.get_loops("C")[1])
    for place in ("C", j):
        with pytest.raises(ScheduleError, match="no annotation 'pragma_x' to remove"):
            s.unannotate(place, "pragma_x")
    assert s.func is before
