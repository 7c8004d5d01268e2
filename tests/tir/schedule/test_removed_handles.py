"""Handles that a schedule was told to forget: refused wherever they are given, others of the same block are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from baton import te
from baton._src.support.diagnostics import ScheduleError
from baton._src.tir.schedule.schedule import Schedule


def schedule() -> Schedule:
    a = te.placeholder((8, 8), name="A")
    return Schedule(te.create_prim_func([a, te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="C")]), seed=0)


USES: list[Callable[[Schedule, Any, Any], object]] = [
    lambda s, block, loop: s.get_loops(block),
    lambda s, block, loop: s.get(block),
    lambda s, block, loop: s.get_sref(block),
    lambda s, block, loop: s.realize(block),
    lambda s, block, loop: s.cache_read(block, 0, "local"),
    lambda s, block, loop: s.split(loop, [None, 2]),
    lambda s, block, loop: s.split(loop, factors=[None, 2]),
    lambda s, block, loop: s.fuse(s.get_loops("C")[0], loop),
    lambda s, block, loop: s.get(loop),
    lambda s, block, loop: (s.remove_rv(block), s.remove_rv(loop)),
    lambda s, block, loop: s.copy().get(block),
]


@pytest.mark.parametrize("use", USES)
def test_removed_handles_are_refused(use: Callable[[Schedule, Any, Any], object]) -> None:
    """Guards remove_rv: it left them as they were."""
    s = schedule()
    block = s.get_block("C")
    loop = s.get_loops(block)[1]
    s.remove_rv(block)
    s.remove_rv(loop)
    before = s.func
    with pytest.raises(ScheduleError, match=r"the handle of (block C|the loop over j), which remove_rv has removed"):
        use(s, block, loop)
    assert s.func is before
    again = s.get_loops(s.get_block("C"))
    s.fuse(*again)


def test_numbers_that_were_chosen_are_removed_too() -> None:
    """Guards equal numbers: only the one given is removed, and only what a schedule gives is."""
    s = schedule()
    rows, columns = s.get_loops("C")
    factors = s.sample_perfect_tile(rows, 2)
    s.remove_rv(factors[0])
    with pytest.raises(ScheduleError, match="split was given the number"):
        s.split(rows, factors)
    s.split(rows, [int(factor) for factor in factors])
    for wrong in (8, "C", None):
        with pytest.raises(ScheduleError, match="remove_rv takes a block, loop or number that the schedule gave"):
            s.remove_rv(wrong)  # type: ignore[arg-type]
    s.vectorize(columns)
