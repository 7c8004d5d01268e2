"""rfactor of several values at once: choices with an index (argmin, argmax), sums side by side; what stays refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import te, tir
from baton._src.support.diagnostics import ScheduleError
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.text.parser import parse_text
from baton.script import tir as T
from tests.codegen.native_run import run_native

ROWS, COLUMNS = 5, 24


def ran(func: PrimFunc, *arrays: np.ndarray) -> list[np.ndarray]:
    assert check_prim_func(func) == []
    found, native = [a.copy() for a in arrays], [a.copy() for a in arrays]
    run_prim_func(func, found)
    assert run_native(func, *native, checked=True) is None
    for one, other in zip(found, native):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    return found


@T.prim_func
def argmax(
    index: T.Buffer((5, 24), "int32"),
    value: T.Buffer((5, 24), "float32"),
    at: T.Buffer((5,), "int32"),
    best: T.Buffer((5,), "float32"),
):
    for i, k in T.grid(5, 24):
        with T.block("best"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                at[vi] = -1
                best[vi] = T.min_value("float32")
            v_at: T.int32 = T.Select(best[vi] >= value[vi, vk], at[vi], index[vi, vk])
            v_best: T.float32 = T.Select(best[vi] >= value[vi, vk], best[vi], value[vi, vk])
            at[vi] = v_at
            best[vi] = v_best


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_an_index_and_its_value(which: int, axis: int) -> None:
    """Guards partial results of both, and their combination, over the outer and the inner part of the loop."""
    schedule = Schedule(argmax)
    parts = schedule.split(schedule.get_loops("best")[1], [None, 8])
    partial = schedule.rfactor(parts[which], axis)
    assert [w.buffer.name for w in schedule.get(partial).writes] == ["at_rf", "best_rf"]
    value = np.random.default_rng(which).permutation(ROWS * COLUMNS).reshape(ROWS, COLUMNS).astype("float32")
    index = np.tile(np.arange(COLUMNS, dtype="int32"), (ROWS, 1))
    _, _, at, best = ran(schedule.func, index, value, np.zeros(ROWS, "int32"), np.zeros(ROWS, "float32"))
    assert at.tolist() == value.argmax(1).tolist()
    assert best.tolist() == value.max(1).tolist()


def argmin_by_index(x: Any, y: Any) -> tuple[Any, Any]:
    """The smaller value, of equal ones the first."""
    keeps = tir.any(x[1] < y[1], tir.all(x[1] == y[1], x[0] < y[0]))
    return tir.Select(keeps, x[0], y[0]), tir.Select(keeps, x[1], y[1])


def argmin_by_values(x: Any, y: Any) -> tuple[Any, Any]:
    """The same, as topi writes it: for the value itself, it is enough to compare values."""
    return argmin_by_index(x, y)[0], tir.Select(x[1] < y[1], x[1], y[1])


@pytest.mark.parametrize("smaller", [argmin_by_index, argmin_by_values])
def test_ties_go_to_the_first_where_indices_are_compared(smaller: Any) -> None:
    """Guards reductions of te, and conditions on both values."""
    reduce = te.comm_reducer(smaller, lambda i, v: (tir.const(2**31 - 1, i), te.max_value(v)), "argmin")
    a = te.placeholder((ROWS, COLUMNS), "int32", "a")
    k = te.reduce_axis((0, COLUMNS), "k")
    at, least = te.compute((ROWS,), lambda i: reduce((k, a[i, k]), axis=k), name="least")
    schedule = Schedule(te.create_prim_func([a, at, least]))
    (block,) = schedule.get_child_blocks("root")
    outer, _ = schedule.split(schedule.get_loops(block)[1], [None, 4])
    schedule.rfactor(outer, 0)
    value = np.random.default_rng(0).integers(0, 3, (ROWS, COLUMNS)).astype("int32")
    _, places, values = ran(schedule.func, value, np.zeros(ROWS, "int32"), np.zeros(ROWS, "int32"))
    assert places.tolist() == value.argmin(1).tolist()
    assert values.tolist() == value.min(1).tolist()


def test_sums_side_by_side() -> None:
    """Guards several values that are reduced each by itself: a sum and an extremum."""
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], te.max(x[1], y[1])), lambda s, m: (tir.const(0, s), te.min_value(m)), "both"
    )
    a = te.placeholder((ROWS, COLUMNS), "int32", "a")
    k = te.reduce_axis((0, COLUMNS), "k")
    results = te.compute((ROWS,), lambda i: both((a[i, k], a[i, k] * 2), axis=k), name="both")
    schedule = Schedule(te.create_prim_func([a, *results]))
    (block,) = schedule.get_child_blocks("root")
    _, inner = schedule.split(schedule.get_loops(block)[1], [None, 6])
    schedule.rfactor(inner, 1)
    value = np.random.default_rng(1).integers(-9, 9, (ROWS, COLUMNS)).astype("int32")
    _, sums, largest = ran(schedule.func, value, np.zeros(ROWS, "int32"), np.zeros(ROWS, "int32"))
    assert sums.tolist() == value.sum(1).tolist()
    assert largest.tolist() == (2 * value).max(1).tolist()


@pytest.mark.parametrize("word", ["and", "or"])
@pytest.mark.parametrize("which", [0, 1])
def test_conditions_of_all_and_of_any(word: str, which: int) -> None:
    """Guards partial results of conditions: they were refused."""
    reduce = te.comm_reducer(tir.all if word == "and" else tir.any, lambda dtype: tir.const(word == "and", dtype), word)
    a = te.placeholder((ROWS, COLUMNS), "bool", "a")
    k = te.reduce_axis((0, COLUMNS), "k")
    schedule = Schedule(te.create_prim_func([a, te.compute((ROWS,), lambda i: reduce(a[i, k], axis=k), name="c")]))
    schedule.rfactor(schedule.split(schedule.get_loops("c")[1], [None, 8])[which], 0)
    held = np.random.default_rng(0).random((ROWS, COLUMNS)) < (0.95 if word == "and" else 0.05)
    found = ran(schedule.func, held, np.zeros(ROWS, "bool"))[1]
    assert found.tolist() == (held.all(1) if word == "and" else held.any(1)).tolist()


@T.prim_func
def other_value_kept(a: T.Buffer((5, 24), "int32"), at: T.Buffer((5,), "int32"), best: T.Buffer((5,), "int32")):
    for i, k in T.grid(5, 24):
        with T.block("b"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                at[vi] = 0
                best[vi] = T.min_value("int32")
            v_at: T.int32 = T.Select(best[vi] >= a[vi, vk], at[vi], vk)
            v_best: T.int32 = T.Select(best[vi] <= a[vi, vk], best[vi], a[vi, vk])
            at[vi] = v_at
            best[vi] = v_best


@T.prim_func
def last_kept(a: T.Buffer((5, 24), "int32"), at: T.Buffer((5,), "int32"), best: T.Buffer((5,), "int32")):
    for i, k in T.grid(5, 24):
        with T.block("b"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                at[vi] = 0
                best[vi] = T.min_value("int32")
            v_at: T.int32 = T.Select(best[vi] >= 7, at[vi], vk)
            v_best: T.int32 = T.Select(best[vi] >= 7, best[vi], a[vi, vk])
            at[vi] = v_at
            best[vi] = v_best


@T.prim_func
def one_after_the_other(a: T.Buffer((5, 24), "int32"), s: T.Buffer((5,), "int32"), t: T.Buffer((5,), "int32")):
    for i, k in T.grid(5, 24):
        with T.block("b"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                s[vi] = 0
                t[vi] = 0
            v_s: T.int32 = s[vi] + a[vi, vk]
            v_t: T.int32 = t[vi] + s[vi]
            s[vi] = v_s
            t[vi] = v_t


@pytest.mark.parametrize(
    ("func", "said"),
    [
        (last_kept, "does not reduce by"),
        (other_value_kept, "does not reduce by"),
        (one_after_the_other, "depends on what it has reduced before"),
    ],
)
def test_what_is_no_reduction_is_refused(func: PrimFunc, said: str) -> None:
    """Partial results of these cannot be combined."""
    schedule = Schedule(func)
    with pytest.raises(ScheduleError, match=said):
        schedule.rfactor(schedule.get_loops("b")[1], 0)


@pytest.mark.parametrize("start", ['T.min_value("float32")', "T.float32(0.25)"])
def test_maxima_begin_anywhere(start: str) -> None:
    """Guards partial maxima that begin with the number the whole does, which need not be the least one."""
    text = f"""
@T.prim_func
def kernel(A: T.Buffer(({ROWS}, {COLUMNS}), "float32"), B: T.Buffer(({ROWS},), "float32")):
    for i, k in T.grid({ROWS}, {COLUMNS}):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = {start}
            B[vi] = T.max(B[vi], A[vi, vk])
"""
    schedule = Schedule(parse_text(text))
    schedule.rfactor(schedule.split(schedule.get_loops("B")[1], [None, 7])[1], 0)
    a = np.random.default_rng(0).standard_normal((ROWS, COLUMNS)).astype("float32") - np.float32(2)
    floor = 0.25 if "0.25" in start else -np.inf
    found = ran(schedule.func, a, np.zeros(ROWS, "float32"))[1]
    np.testing.assert_array_equal(found, np.maximum(a.max(1), np.float32(floor)))
