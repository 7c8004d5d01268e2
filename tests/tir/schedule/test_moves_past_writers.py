"""Blocks are not moved past others that write what they read or write; the message shows which were meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton import tir
from baton._src.support.diagnostics import ScheduleError
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton.script import from_source
from baton.script import tir as T


@T.prim_func
def in_place(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    """C is twice what A was, plus what A is afterwards."""
    B = T.alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 8):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = T.float32(0)
    for i, j in T.grid(8, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + A[vi, vj]


@T.prim_func
def padded(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    """B is filled twice: with zeros everywhere, then with A in its middle."""
    B = T.alloc_buffer((10,))
    for i in range(10):
        with T.block("zeros"):
            vi = T.axis.spatial(10, i)
            B[vi] = T.float32(0)
    for i in range(8):
        with T.block("middle"):
            vi = T.axis.spatial(8, i)
            B[vi + 1] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + B[vi + 2]


@T.prim_func
def used_before(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    """D is what C was; then C is made of A."""
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = C[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + T.float32(1)


@T.prim_func
def accumulated(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("sum"):
            vi = T.axis.spatial(8, i)
            C[vi] = C[vi] + A[vi]


def outer(sch: Any, block: str) -> Any:
    return sch.get_loops(block)[0]


REFUSED: dict[str, tuple[Any, Callable[[Any], None], str]] = {
    "inlined past the writer of its source": (
        in_place,
        lambda s: s.compute_inline("B"),
        "past block A, which writes A",
    ),
    "computed behind the writer of its source": (
        in_place,
        lambda s: s.compute_at("B", outer(s, "C")),
        "what B reads is written anew by A",
    ),
    "the first of two writers moved behind the second": (
        padded,
        lambda s: s.compute_at("zeros", outer(s, "C")),
        "zeros and middle both write B",
    ),
    "the second of two writers": (
        padded,
        lambda s: s.compute_at("middle", outer(s, "C")),
        "middle and zeros both write B",
    ),
    "a reader moved before what it reads besides is made": (
        in_place,
        lambda s: s.reverse_compute_inline("C"),
        "reads the results of 2 blocks",
    ),
    "moved before who reads the old values": (
        used_before,
        lambda s: s.reverse_compute_inline("C"),
        "past block D, which reads what it writes",
    ),
    "a copy of what the block goes on from": (
        accumulated,
        lambda s: s.reindex(s.get_block("sum"), ("read", 0)),
        "accumulates into C",
    ),
    "computed before who reads the old values": (
        used_before,
        lambda s: s.reverse_compute_at("C", outer(s, "B")),
        "D reads what is there before C runs",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_moves_that_would_change_the_meaning_are_refused(case: str) -> None:
    """Guards the order of reads and writes; random schedules found a padding that erased what it should surround."""
    func, step, reason = REFUSED[case]
    sch = tir.Schedule(func)
    before = sch.func
    with pytest.raises(ScheduleError, match=reason):
        step(sch)
    assert sch.func is before


def test_errors_show_the_program_with_the_loop_underlined() -> None:
    """Guards what people see: which of the loops was meant."""
    sch = tir.Schedule(in_place)
    i, j = sch.get_loops("C")
    with pytest.raises(ScheduleError) as raised:
        sch.reverse_compute_at("B", j)
    lines = str(raised.value).splitlines()
    assert "reverse_compute_at was refused in" in lines
    at = next(n for n, line in enumerate(lines) if 'with T.block("C")' in line)
    assert lines[at - 2] == "    for i, j in T.grid(8, 8):"
    assert lines[at - 1] == "           ^"
    head = next(n for n, line in enumerate(lines) if 'with T.block("B")' in line)
    assert lines[head + 1] == "        ^^^^^^^^^^^^^^^^^^"
    sch.parallel(i)
    with pytest.raises(ScheduleError) as raised:
        sch.reverse_compute_at("B", i)
    assert "    for i in T.parallel(8):\n    ^^^^^^^^^^^^^^^^^^^^^^^\n" in str(raised.value)


def test_errors_show_no_program_where_nothing_is_meant_or_wanted() -> None:
    """Guards the short forms: error_render_level, and names that are not there."""
    with pytest.raises(ScheduleError) as raised:
        tir.Schedule(in_place).get_block("X")
    assert "T.grid" not in str(raised.value)
    quiet = tir.Schedule(in_place, error_render_level="none").copy()
    with pytest.raises(ScheduleError) as raised:
        quiet.compute_inline("C")
    assert "T.grid" not in str(raised.value)
    with pytest.raises(ValueError, match="one of detail, fast, none"):
        tir.Schedule(in_place, error_render_level="loud")


@T.prim_func
def centred(A: T.Buffer((3, 4), "float32"), D: T.Buffer((3, 4), "float32")):
    """D is A less twice its sums along rows; with the copy B, and the sums doubled in E."""
    B, C, E = T.alloc_buffer((3, 4)), T.alloc_buffer((3,)), T.alloc_buffer((3,))
    for i, j in T.grid(3, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + B[vi, vj]
    for i in range(3):
        with T.block("E"):
            vi = T.axis.spatial(3, i)
            E[vi] = C[vi] * T.float32(2)
    for i, j in T.grid(3, 4):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] - E[vi]


def test_sums_are_finished_where_they_are_used_last() -> None:
    """Found by random schedules: D moved to its column of B, where the sum had begun only."""
    sch = tir.Schedule(centred)
    i, j = sch.get_loops("C")
    sch.reverse_compute_at("E", j)  # runs for each j, with the whole sum at last
    with pytest.raises(ScheduleError, match="sums of C that are not finished"):
        sch.reverse_compute_at("D", j)
    sch.reverse_compute_at("D", i)
    a, expected = np.arange(12, dtype="float32").reshape(3, 4), np.zeros((3, 4), "float32")
    run_prim_func(centred, [a, expected])
    found = np.zeros((3, 4), "float32")
    run_prim_func(sch.func, [a, found])
    assert found.tolist() == expected.tolist() == (a - 2 * a.sum(1, keepdims=True)).tolist()


@pytest.mark.parametrize(
    "move",
    [
        lambda s: s.compute_inline("B"),
        lambda s: s.reverse_compute_inline("C"),
        lambda s: s.compute_at("B", s.get_loops("C")[0]),
        lambda s: s.reverse_compute_at("C", s.get_loops("B")[0]),
    ],
)
@pytest.mark.parametrize("between", ["B[k % 3] = B[k % 3] * 2", "A[k] = 0", "C[k] = B[k]"])
def test_statements_outside_of_blocks_are_not_passed(move: Any, between: str) -> None:
    """Found by random kernels: what a loop without a block did to a buffer was lost when its block was inlined."""
    func = from_source(f"""
@T.prim_func
def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((8,), "int32")
    for i in range(8):
        with T.block("B"):
            v = T.axis.spatial(8, i)
            B[v] = A[v] + 1
    for k in range(8):
        {between}
    for i in range(8):
        with T.block("C"):
            v = T.axis.spatial(8, i)
            C[v] = B[v] * 3
""")
    s = tir.Schedule(func)
    try:
        move(s)
    except ScheduleError:
        return
    results = []
    for program in (func, s.mod["main"]):
        results.append([np.arange(8, dtype="int32"), np.zeros(8, "int32")])
        run_prim_func(program, results[-1])
    np.testing.assert_array_equal(*results)
