"""Schedules of modules with several functions: which one primitives work on, and whose the handles are."""

from __future__ import annotations

import pytest

from baton import tir
from baton._src.support.diagnostics import ScheduleError
from baton.script import ir as I
from baton.script import tir as T


@I.ir_module
class Pair:
    @T.prim_func
    def first(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        B = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(2)
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = B[vi] + T.float32(1)

    @T.prim_func
    def second(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("C"):
                vi = T.axis.spatial(8, i)
                C[vi] = A[vi]


def test_handles_stay_those_of_their_functions() -> None:
    """Guards handles of two functions that are used by turns, and the trace of it."""
    s = tir.Schedule(Pair)
    b, c = s.get_block("B", func_name="first"), s.get_block("C", "second")
    (loop,), (other,) = s.get_loops(b), s.get_loops(c)
    s.split(other, [None, 4])
    s.parallel(loop)
    assert s.get(loop).kind is tir.ForKind.PARALLEL
    assert [block.name for block in s.get_consumers(b)] == ["C"]
    assert s.get_consumers(c) == []
    assert s.get_sref(b).parent == s.get_sref(loop)
    s.compute_inline(b)
    assert "for i_0, i_1" in s.mod["second"].script()
    assert 'T.block("B")' not in s.mod["first"].script()
    again = tir.Schedule(Pair)
    s.trace.apply_to_schedule(again)
    assert again.mod.script() == s.mod.script()
    copy = s.copy()
    copy.unroll(copy.get_loops(c)[1])
    assert "unroll" in copy.mod["second"].script()
    assert "unroll" not in s.mod["second"].script()


def test_one_step_is_in_one_function() -> None:
    s = tir.Schedule(Pair)
    b, c = s.get_block("B", "first"), s.get_block("C", "second")
    with pytest.raises(ScheduleError, match="of several functions: first, second"):
        s.compute_at(b, s.get_loops(c)[0])


def test_a_module_that_does_not_tell_which_function() -> None:
    """Guards that blocks are not looked for in whichever function comes first."""
    s = tir.Schedule(Pair)
    assert s.func_working_on is None
    with pytest.raises(ScheduleError, match="several functions, and none is called main"):
        s.get_block("C")
    s.get_block("C", "second")
    with pytest.raises(ScheduleError, match="several functions"):
        s.parallel(s.get_loops("C")[0])
    s.work_on("second")
    assert s.func_working_on is not None
    assert s.func_working_on.name_hint == "second"
    with pytest.raises(ScheduleError, match="no block 'B'"):
        s.get_block("B")


def test_a_module_that_tells_which_function() -> None:
    """Guards the mark of entry functions, which goes before the name."""
    marked = Pair.with_function(Pair.get_global_var("first"), Pair["first"].with_attr("tir.is_entry_func", True))
    assert tir.Schedule(marked).get_block("B").name == "B"
    assert tir.Schedule(Pair["second"]).func_working_on.name_hint == "main"
