"""Stages placed together, and primitives of te that change no result."""

from __future__ import annotations

import numpy as np
import pytest

import baton
from baton import te
from baton._src.support.diagnostics import DiagnosticError


def chain() -> tuple[te.Tensor, ...]:
    """A, A + 1, (A + 1) * 2, (A + 1) * 2 - 3"""
    a = te.placeholder((8, 4), "float32", "A")
    b = te.compute((8, 4), lambda i, j: a[i, j] + 1.0, "B")
    c = te.compute((8, 4), lambda i, j: b[i, j] * 2.0, "C")
    return a, b, c, te.compute((8, 4), lambda i, j: c[i, j] - 3.0, "D")


def check(schedule: te.Schedule, a: te.Tensor, d: te.Tensor) -> str:
    """The kernel's text; it computes the chain."""
    given, found = np.arange(32, dtype="float32").reshape(8, 4), baton.nd.empty((8, 4))
    baton.build(schedule, [a, d])(baton.nd.array(given), found)
    np.testing.assert_array_equal(found.numpy(), (given + 1) * 2 - 3)
    return baton.lower(schedule, [a, d]).script()


def test_what_lies_between_moves_together() -> None:
    """B and C are computed in one loop over D's rows; the input only where it is asked for."""
    a, b, c, d = chain()
    schedule = te.create_schedule(d.op)
    group = schedule.create_group(outputs=c, inputs=a)
    assert [stage.op for stage in group.stages] == [b.op, c.op]
    assert len(schedule.create_group(c, [a], include_inputs=True).stages) == 3
    assert [stage.op for stage in schedule.create_group([d], [b]).stages] == [c.op, d.op]
    group.compute_at(schedule[d], d.op.axis[0])
    assert check(schedule, a, d).count("range(8)") == 1
    group.compute_root()
    assert check(schedule, a, d).count("T.grid(8, 4)") == 3
    with pytest.raises(DiagnosticError, match="no stage between"):
        schedule.create_group(b, [d])


def test_hints_change_no_result() -> None:
    """A rolling buffer, and a promise that factors divide; where they do not, the rest is still guarded."""
    a, _, c, d = chain()
    schedule = te.create_schedule(d.op)
    outer, _ = schedule[d].split(d.op.axis[0], factor=3, disable_predication=True)
    schedule[c].compute_at(schedule[d], outer)
    schedule[c].rolling_buffer()
    check(schedule, a, d)


def test_threads_of_gpus_are_refused() -> None:
    """A script for GPUs is told what CPUs do not have."""
    d = chain()[-1]
    stage = te.create_schedule(d.op)[d]
    for primitive in (stage.env_threads, stage.set_store_predicate):
        with pytest.raises(DiagnosticError, match="baton compiles for CPUs"):
            primitive(te.thread_axis("threadIdx.x"))
