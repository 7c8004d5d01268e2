"""What schedules tell of programs: neighbours of blocks, what handles stand for, the program and its trace as text."""

from __future__ import annotations

import pytest

from baton import tir
from baton._src.support.diagnostics import ScheduleError
from baton.script import tir as T


@T.prim_func
def rewritten(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,), "float32")
    for i in range(8):
        with T.block("start"):
            vi = T.axis.spatial(8, i)
            B[vi] = T.float32(0)
    for i in range(8):
        with T.block("fill"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("read"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi]
    for i in range(8):
        with T.block("spoil"):
            vi = T.axis.spatial(8, i)
            B[vi] = C[vi]


def test_neighbours_are_told_by_their_order() -> None:
    """Guards that a producer is before and a consumer behind, and that writing the same counts, as in TVM."""
    s = tir.Schedule(rewritten)
    producers = {name: [b.name for b in s.get_producers(name)] for name in ("start", "fill", "read", "spoil")}
    consumers = {name: [b.name for b in s.get_consumers(name)] for name in ("start", "fill", "read", "spoil")}
    assert producers == {"start": [], "fill": ["start"], "read": ["start", "fill"], "spoil": ["start", "fill", "read"]}
    assert consumers == {"start": ["fill", "read", "spoil"], "fill": ["read", "spoil"], "read": ["spoil"], "spoil": []}


def test_what_handles_stand_for() -> None:
    """Guards numbers, which are Python's, and references."""
    s = tir.Schedule(rewritten)
    block = s.get_block("fill")
    assert s.get(s.get_sref(block)) is s.get(block)
    found = s.get(s.sample_categorical([4, 8], [0.5, 0.5], decision=1))
    assert (type(found), found) == (int, 8)


def test_references_of_a_state() -> None:
    """Guards states made of a function, and statements that are not part of it."""
    state = tir.schedule.ScheduleState(rewritten, debug_mask="all")
    s = tir.Schedule(rewritten)
    assert state.get_sref(s.get("read")).seq_index == -1
    assert state.get_sref(s.get("read")).parent.seq_index == 2
    s.split(s.get_loops("read")[0], [2, 4])
    gone = s.get(s.get_loops("read")[0])
    assert state.get_sref(gone) is None
    with pytest.raises(ScheduleError, match="not part of the program"):
        s.get_sref(state.mod["main"].body.block)


def test_children_are_asked_for_as_tvm_writes_it() -> None:
    s = tir.Schedule(rewritten)
    s.get_child_blocks(s.get_block("root"))
    assert s.trace.as_python()[-1] == "b1, b2, b3, b4 = sch.get_child_blocks(b0)"


def test_the_trace_is_shown_behind_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    s = tir.Schedule(rewritten)
    s.unroll(s.get_loops("read")[0])
    s.show()
    shown = capsys.readouterr().out
    assert shown.index("T.unroll(8)") < shown.index("sch.unroll(loop=l1)")


@T.prim_func
def sums_of_rows(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32")):
    for i, k in T.grid(4, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]


def test_new_blocks_take_no_names_of_others() -> None:
    """Guards handles where two primitives make blocks of one name: a new one took the name of a block whose handle was
    given out, or its own handle was of the block before.
    """

    s = tir.Schedule(sums_of_rows)
    copied = s.cache_read("C", 0, "shared")
    in_front = s.cache_read(copied, 0, "shared")
    assert s.get(copied).reads[0].buffer is s.get(in_front).writes[0].buffer
    s.split(s.get_loops("C")[1], [2, 2, 4])
    first = s.rfactor(s.get_loops("C")[2], 0)
    second = s.rfactor(s.get_loops("C")[1], 0)
    assert s.get(second).reads[0].buffer is s.get(first).writes[0].buffer
    start = s.decompose_reduction("C", s.get_loops("C")[0])
    assert s.get(start).writes[0].buffer.name == "C"


def test_partial_results_have_the_scope_of_the_whole() -> None:
    s = tir.Schedule(sums_of_rows)
    s.cache_write("C", 0, "local")
    block = s.get(s.rfactor(s.get_loops("C")[1], 0))
    assert [region.buffer.scope() for region in block.writes] == ["local"]
