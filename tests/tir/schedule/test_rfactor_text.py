"""What `rfactor` makes, by its text: axes, loops, conditions; and which loops its handles mean afterwards."""

from __future__ import annotations

import numpy as np
import pytest

from baton import te
from baton._src.ir.structural import structural_equal
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.handles import LoopRV
from baton._src.tir.schedule.schedule import Schedule
from baton.script import from_source


def sums() -> PrimFunc:
    a = te.placeholder((6, 10, 3), name="A")
    k, q = te.reduce_axis((0, 10), "k"), te.reduce_axis((0, 3), "q")
    made: PrimFunc = te.create_prim_func([a, te.compute((6,), lambda i: te.sum(a[i, k, q], [k, q]), name="C")])
    return made


def check(s: Schedule) -> None:
    arrays = [np.random.default_rng(0).random((6, 10, 3), np.float32), np.zeros(6, np.float32)]
    run_prim_func(s.func, arrays)
    np.testing.assert_allclose(arrays[1], arrays[0].sum((1, 2)), rtol=1e-5)


def factored(factor: int) -> tuple[Schedule, list[LoopRV]]:
    s = Schedule(sums())
    i, k, q = s.get_loops("C")
    outer, inner = s.split(k, [None, factor])
    s.reorder(inner, i, outer, q)
    assert s.rfactor(inner, 0).name == "C_rf"
    check(s)
    return s, [i, inner, outer, q]


def test_text() -> None:
    """Guards the factored loop as first axis, the loops of its axis as axes, other axes as they were."""
    s, _ = factored(4)
    text = "\n".join(line.strip() for line in s.func.script().splitlines())
    assert (
        """
for k_1, i, k_0, q in T.grid(4, 6, 3, 3):
with T.block("C_rf"):
vk_1, v_i, vk_0, v_q = T.axis.remap("SSRR", [k_1, i, k_0, q])
T.where(k_0 * 4 + k_1 < 10)
T.reads(A[v_i, vk_0 * 4 + vk_1, v_q])
T.writes(C_rf[vk_1, v_i])
"""
        in text
    )
    assert (
        """
for k_1, i in T.grid(4, 6):
with T.block("C"):
vk_1, v_i = T.axis.remap("RS", [k_1, i])
T.reads(C_rf[vk_1, v_i])
T.writes(C[v_i])
"""
        in text
    )


def test_handles_mean_the_combination() -> None:
    """Guards that loops keep their handles around the block whose name is kept; those of the reduction are gone."""
    s, (i, inner, outer, _) = factored(5)
    assert [loop.var for loop in s.get_loops("C")] == [inner.var, i.var]
    assert not {loop.var for loop in s.get_loops("C_rf")} & {inner.var, i.var}
    s.reorder(i, inner)
    s.parallel(i)
    check(s)
    with pytest.raises(DiagnosticError, match="is gone"):
        s.unroll(outer)


def test_partial_results_that_take_nothing_in_start() -> None:
    """Guards parts beyond the end: no iteration of theirs fits, and still they are 0 when combined."""
    s = Schedule(sums())
    k = s.get_loops("C")[1]
    _, inner = s.split(k, [None, 16])
    s.rfactor(inner, 1)
    assert "T.where" not in s.func.script()
    check(s)


def test_conditions_on_other_axes_stay_with_the_combination() -> None:
    s = Schedule(sums())
    i, k, _ = s.get_loops("C")
    s.split(i, [None, 4])
    s.rfactor(k, 0)
    assert s.func.script().count("T.where(i_0 * 4 + i_1 < 6)") == 2
    check(s)


def test_only_serial_loops() -> None:
    s = Schedule(sums())
    k = s.get_loops("C")[1]
    s.unroll(k)
    with pytest.raises(DiagnosticError, match="the loop over k is unrolled: rfactor takes serial loops"):
        s.rfactor(k, 0)


def test_partial_results_are_moved_with_their_condition() -> None:
    """Guards `compute_at` of a block under a condition: on its own axes it goes with it, on their domains it is new."""
    s, _ = factored(4)
    i = s.get_loops("C")[0]
    s.compute_at("C_rf", i)
    assert "T.where(ax1 * 4 + k_1 < 10)" in s.func.script()
    check(s)


def test_unevenly_split_blocks_are_moved() -> None:
    """Guards conditions that keep axes in their domains: the loops that needed them are gone."""
    a = te.placeholder((10, 7), name="A")
    b = te.compute((10, 7), lambda i, j: a[i, j] * 2.0, name="B")
    s = Schedule(te.create_prim_func([a, te.compute((10, 7), lambda i, j: b[i, j] + 1.0, name="C")]))
    s.split(s.fuse(*s.get_loops("B")), [None, 16])
    s.compute_at("B", s.get_loops("C")[0])
    assert "T.where" not in s.func.script()
    arrays = [np.random.default_rng(0).random((10, 7), np.float32), np.zeros((10, 7), np.float32)]
    run_prim_func(s.func, arrays)
    np.testing.assert_allclose(arrays[1], arrays[0] * 2 + 1, rtol=1e-6)


def test_loops_of_threads_are_of_their_own() -> None:
    """Guards that copies of a loop bound to threads have a variable of threads each (the text did not read back as the
    same program), and that the text declares none of them: the loops' lines name them."""
    s = Schedule(sums())
    i, k, _ = s.get_loops("C")
    s.bind(i, "blockIdx.x")
    s.rfactor(k, 0)
    check(s)
    text = s.func.script()
    assert text.count('thread="blockIdx.x"') == 2
    assert "T.int32()" not in text
    back = from_source(text)
    assert structural_equal(back, s.func.with_fields(attrs=back.attrs))
