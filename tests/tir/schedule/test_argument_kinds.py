"""Every primitive of a schedule says in words what it takes, whatever it is given."""

from __future__ import annotations

import inspect
from contextlib import suppress
from typing import Any

import pytest

from baton import te
from baton._src.support.diagnostics import DiagnosticError, ScheduleError
from baton._src.tir.schedule.schedule import Schedule

PRIMITIVES = [n for n in dir(Schedule) if getattr(getattr(Schedule, n), "is_primitive", False)]
WRONG = ("a block", "a loop", "i", 3, None, 2.5, [1], object())


def schedule() -> Schedule:
    a = te.placeholder((8, 8), name="A")
    return Schedule(te.create_prim_func([a, te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="C")]))


def _fitting(annotation: str, loop: Any, block: Any) -> Any:
    """An argument of the declared kind."""
    if "BlockRV" in annotation:
        return block
    kinds = {"LoopRV": loop, "int": 0, "str": "local"}
    return [2] if annotation.startswith("Sequence") else kinds.get(annotation, lambda *indices: indices)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_wrong_kinds_are_refused_in_words(name: str) -> None:
    """Guards that no slip in an argument ends in an error of Python's inside of the schedule."""
    declared = list(inspect.signature(getattr(Schedule, name)).parameters.values())[1:]
    needed = [p for p in declared if p.default is inspect.Parameter.empty]
    for place in range(len(needed)):
        for wrong in WRONG:
            sch = schedule()
            block = sch.get_block("C")
            loop = sch.get_loops(block)[0]
            given = [_fitting(str(p.annotation), loop, block) for p in needed]
            given[place] = {"a block": block, "a loop": loop}.get(str(wrong), wrong)
            with suppress(DiagnosticError):
                getattr(sch, name)(*given)


def test_what_is_said() -> None:
    """Guards that the primitive, the parameter and what was given are named."""
    sch = schedule()
    block = sch.get_block("C")
    with pytest.raises(ScheduleError, match="vectorize takes a loop as `loop`, not the block 'C'"):
        sch.vectorize(block)
    with pytest.raises(ScheduleError, match="fuse takes a loop as `loops`, not the block 'C'"):
        sch.fuse(sch.get_loops(block)[0], block)
    with pytest.raises(ScheduleError, match="unroll takes a loop as `loop`, not 'i'"):
        sch.unroll("i")
    with pytest.raises(ScheduleError, match="split takes several as `factors`, not 4"):
        sch.split(sch.get_loops(block)[0], 4)
    with pytest.raises(ScheduleError, match="compute_inline takes a block as `block`, not the loop over i"):
        sch.compute_inline(sch.get_loops(block)[0])


def test_what_is_said_of_factors_and_of_loops_of_other_blocks() -> None:
    """Guards against factors that were rounded, and against messages that name neither block nor loop."""
    a = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    total = te.compute((8,), lambda i: te.sum(a[i, k], axis=k), name="C")
    sch = Schedule(te.create_prim_func([a, te.compute((8,), lambda n: total[n] + 1.0, name="D")]))
    (other,), (outer, _) = sch.get_loops("D"), sch.get_loops("C")
    for step in (sch.split, sch.loop_partition):
        with pytest.raises(ScheduleError, match=r"extents of loops are whole numbers or None, not 2\.5"):
            step(outer, [2.5, None])
    with pytest.raises(ScheduleError, match="A has 2 axes, and the map is of 1"):
        sch.transform_layout("C", "A", lambda i: (i // 2, i % 2))
    with pytest.raises(ScheduleError, match="block D has 1 axes, and the map is of 2"):
        sch.transform_block_layout("D", lambda i, j: (j, i))
    with pytest.raises(ScheduleError, match="the loop over n is not around block C"):
        sch.decompose_reduction("C", other)
