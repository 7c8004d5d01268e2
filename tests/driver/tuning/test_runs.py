"""Running one variant of a kernel: real schedules, wrong ones, and kernels nobody knows arguments for."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from baton import te, tir
from baton._src.driver.tuning.answer_run import References, ran
from baton._src.driver.tuning.runs import Run, Runner, Timing
from baton._src.ir.target import Target
from baton._src.support.diagnostics import DiagnosticError
from baton.script import from_source

TARGET = Target("llvm -num-cores=1")


def increment(by: float = 1.0) -> tir.PrimFunc:
    a = te.placeholder((12,), name="a")
    return te.create_prim_func([a, te.compute((12,), lambda i: a[i] + by, "b")])


def halves(kernel: tir.PrimFunc) -> tir.PrimFunc:
    sch = tir.Schedule(kernel)
    sch.split(sch.get_loops(sch.get_block("b"))[0], [2, None])
    return sch.func


def run(variant: tir.PrimFunc, from_memory: bool = False, constant: bool = False) -> Run:
    return Run.of(increment(), variant, TARGET, Timing(number=1, repeat=3, from_memory=from_memory), constant)


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    with Runner(time_out=300.0) as made:
        yield made


def test_a_process_runs_ways(runner: Runner) -> None:
    """Guards the way of schedules as text; what fails there is an answer, and the process goes on."""
    for request in (
        run(halves(increment())),
        run(halves(increment()), from_memory=True),
        run(halves(increment()), constant=True),
    ):
        assert len(runner.run(request).seconds) == 3
    wrong = runner.run(run(halves(increment(2.0))))
    assert "tuning-results" in wrong.error
    assert math.isinf(wrong.mean)
    assert runner.run(run(increment())).mean < math.inf


def test_other_machines_are_refused() -> None:
    one = run(increment())
    with pytest.raises(DiagnosticError, match="tuning-machine"):
        ran(Run(**{**vars(one), "place": "another machine"}), References())


def test_kernels_of_open_sizes_are_refused() -> None:
    kernel = from_source(
        "@T.prim_func\ndef f(a: T.handle):\n    n = T.int64()\n"
        "    A = T.match_buffer(a, (n,))\n    A[0] = T.float32(1)\n"
    )
    with pytest.raises(DiagnosticError, match="tuning-kernel"):
        Run.of(kernel, kernel, TARGET, Timing())


def test_answers_to_what_rules_leave_open() -> None:
    """Guards the primitive: it is in the trace, is taken again from JSON, and takes only kernels as written."""
    sch = tir.Schedule(increment())
    sch.schedule_by_rule(decision={"unroll_k": 2})
    again = tir.Schedule(increment())
    tir.schedule.Trace.apply_json_to_schedule(sch.trace.simplified().as_json(), again)
    assert again.func.attrs["baton.choices"] == {"unroll_k": 2}
    with pytest.raises(DiagnosticError, match="numbers by name"):
        sch.schedule_by_rule(decision={"unroll_k": 2.5})
    with pytest.raises(DiagnosticError, match="changed already"):
        tir.Schedule(halves(increment())).schedule_by_rule()
