"""`tvm.dlight`: a script's rules schedule kernels, TVM's leave them to baton."""

from __future__ import annotations

import numpy as np
import pytest

import baton
from baton import dlight, te
from baton.target import Target


def kernel() -> baton.IRModule:
    data = te.placeholder((32, 64), name="data")
    more = te.compute((32, 64), lambda i, j: data[i, j] + 1.0, name="more")
    return baton.IRModule({"more": te.create_prim_func([data, more])})


@dlight.ScheduleRule.from_callable("vectorised")
def vectorised(func: baton.tir.PrimFunc, target: Target, tunable: bool) -> baton.tir.Schedule:
    assert (target.kind.name, tunable) == ("llvm", False)
    schedule = baton.tir.Schedule(func)
    rows, columns = schedule.get_loops(schedule.get_block("more"))
    schedule.parallel(rows)
    schedule.vectorize(columns)
    return schedule


class Declining(dlight.ScheduleRule):
    def apply(self, func: baton.tir.PrimFunc, target: Target, tunable: bool) -> None:
        return None


def test_the_first_rule_that_applies_schedules() -> None:
    gpu = dlight.gpu
    module = kernel()
    with Target("llvm"):
        rules = (gpu.Matmul(), gpu.GEMV(), gpu.Reduction(), gpu.GeneralReduction(), gpu.Fallback(), dlight.cpu.GEMV())
        assert dlight.ApplyDefaultSchedule(*rules, Declining())(module) is module
        scheduled = dlight.ApplyDefaultSchedule(Declining(), vectorised, gpu.Fallback())(module)
        assert dlight.ApplyDefaultSchedule(vectorised)(scheduled) is scheduled
    assert scheduled["more"].attrs["tir.is_scheduled"] == 1
    assert "T.parallel(32)" in scheduled.script()
    data, found = np.ones((32, 64), "float32"), baton.nd.empty((32, 64))
    baton.driver.build(scheduled, target="llvm")["more"](baton.nd.array(data), found)
    np.testing.assert_array_equal(found.numpy(), data + 1)


def test_several_schedules_are_for_tuning() -> None:
    @dlight.ScheduleRule.from_callable("both")
    def both(func: baton.tir.PrimFunc, target: Target, tunable: bool) -> list[baton.tir.Schedule]:
        return [baton.tir.Schedule(func)] * 2

    with Target("llvm"), pytest.raises(baton.error.TVMError, match="both gave 2 schedules for one kernel"):
        dlight.ApplyDefaultSchedule(both)(kernel())


def test_gpus_are_refused() -> None:
    with Target("cuda"), pytest.raises(baton.error.TVMError, match="cannot compile for cuda"):
        dlight.ApplyDefaultSchedule(dlight.gpu.Fallback())(kernel())


def chain(rows: int) -> baton.tir.PrimFunc:
    """A sum over the columns of exp(2 * data), plus one."""
    data = te.placeholder((1, rows, 64), name="data")
    twice = te.compute(data.shape, lambda *i: data(*i) * 2.0, name="twice")
    powers = te.compute(data.shape, lambda *i: te.exp(twice(*i)), name="powers")
    k = te.reduce_axis((0, 64), name="k")
    total = te.compute((1, rows), lambda i, j: te.sum(powers[i, j, k], axis=k), name="total")
    out = te.compute((1, rows), lambda i, j: total[i, j] + 1.0, name="out")
    return te.create_prim_func([data, out])


@pytest.mark.parametrize(("rows", "kinds"), [(8, ["SS", "SS", "SR", "S"]), (1, ["S", "S", "SR", "S"])])
def test_rules_look_at_blocks_in_normal_form(rows: int, kinds: list[str]) -> None:
    """Axes of one value are gone, but for one in front of what is reduced only; the others have a loop each."""
    schedule = baton.tir.Schedule(chain(rows))
    blocks = dlight.normalize_prim_func(schedule)
    assert blocks is not None
    assert [block.dom_kind() for block in blocks] == kinds
    assert [block.is_reduction() for block in blocks] == [False, False, True, False]
    assert blocks[2].dom() == [rows, 64]
    assert str(blocks[2]) == f'BlockInfo("total", "SR", [{rows}, 64])'
    assert [len(schedule.get_loops(block.block_rv)) for block in blocks] == [len(block.iters) for block in blocks]
    left = dlight.try_inline_contiguous_spatial(schedule, blocks)
    assert left is not None
    assert [block.name for block in left] == ["total", "out"]
    assert [block.name for block in dlight.try_inline(schedule, left)] == ["total", "out"]
    schedule.parallel(left[0].iters[0].loop_rv)
    data, found = np.random.default_rng(0).random((1, rows, 64), "float32"), baton.nd.empty((1, rows))
    baton.build(schedule.mod, target="llvm")(baton.nd.array(data), found)
    np.testing.assert_allclose(found.numpy(), np.exp(2 * data).sum(2) + 1, rtol=1e-5)


def test_a_sum_of_everything_has_an_axis_that_is_not_reduced() -> None:
    data = te.placeholder((64,), name="data")
    k = te.reduce_axis((0, 64), name="k")
    func = te.create_prim_func([data, te.compute((), lambda: te.sum(data[k], axis=k), name="total")])
    blocks = dlight.normalize_prim_func(baton.tir.Schedule(func))
    assert blocks is not None
    assert [(block.dom_kind(), block.dom(), block.is_reduction()) for block in blocks] == [("SR", [1, 64], True)]


def test_loops_that_are_no_axes_are_not_normal() -> None:
    schedule = baton.tir.Schedule(chain(8))
    schedule.split(schedule.get_loops("powers")[2], [4, 16])
    assert dlight.normalize_prim_func(schedule) is None
