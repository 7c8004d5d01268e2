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
