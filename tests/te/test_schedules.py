"""te schedules are applied: the kernel has the loops that were asked for, and computes what it did without."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te import reduction
from baton._src.te.apply_schedule import scheduled_prim_func
from baton._src.te.computation import compute, placeholder, reduce_axis, var
from baton._src.te.prim_func import create_prim_func
from baton._src.te.schedule import create_schedule
from baton._src.tir import dtype_limits, stmt
from baton._src.tir import operators as ops
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import Select
from baton._src.tir.text.printer import script
from tests.at_length import at_length
from tests.codegen.native_run import random_array, run_native

SHAPES = ((13, 10), (10, 9), (13, 9))
Graph = dict[str, Any]


def graph() -> Graph:
    """A2 = A + 1, C = A2 B, D = relu(C) * 2"""
    a, b = placeholder((13, 10), "float32", "A"), placeholder((10, 9), "float32", "B")
    a2 = compute((13, 10), lambda i, j: a[i, j] + 1.0, "A2")
    k = reduce_axis((0, 10), "k")
    c = compute((13, 9), lambda i, j: reduction.sum(a2[i, k] * b[k, j], k), "C")
    d = compute((13, 9), lambda i, j: ops.max(c[i, j], 0.0) * 2.0, "D")
    return {"A": a, "B": b, "A2": a2, "C": c, "D": d}


def applied(change: Callable[[Any, Graph], None]) -> str:
    """The kernel's text; it has run before and after, interpreted and natively with bounds checks."""
    tensors = graph()
    schedule = create_schedule(tensors["D"].op)
    change(schedule, tensors)
    args = [tensors["A"], tensors["B"], tensors["D"]]
    before, after = create_prim_func(args), scheduled_prim_func(schedule, args)
    assert check_prim_func(after) == []
    arrays = [random_array(s, "float32", i) for i, s in enumerate(SHAPES)]
    expected, found, native = ([a.copy() for a in arrays] for _ in range(3))
    run_prim_func(before, expected)
    run_prim_func(after, found)
    assert run_native(after, *native, checked=True) is None
    np.testing.assert_allclose(found[-1], expected[-1], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(native[-1], expected[-1], rtol=1e-5, atol=1e-5)
    return script(after)


def tiled(s: Any, t: Graph) -> None:
    d, c = t["D"], t["C"]
    xo, yo, _, yi = s[d].tile(*d.op.axis, 4, 4)
    s[d].vectorize(yi)
    s[d].parallel(xo)
    s[c].compute_at(s[d], yo)
    ko, ki = s[c].split(c.op.reduce_axis[0], factor=4)
    s[c].reorder(ko, c.op.axis[0], ki, c.op.axis[1])
    s[c].unroll(ki)
    s[t["A2"]].compute_at(s[c], ko)


def cached(s: Any, t: Graph) -> None:
    c = t["C"]
    s[t["A2"]].compute_inline()
    written = s.cache_write(c, "local")
    read = s.cache_read(t["B"], "local", [written])
    outer, inner = s[c].split(c.op.axis[0], nparts=3)
    s[written].compute_at(s[c], outer)
    s[read].compute_at(s[written], s[written].op.reduce_axis[0])
    s[c].pragma(inner, "auto_unroll_max_step", 16)
    fused = s[t["D"]].fuse(*t["D"].op.axis)
    s[t["D"]].parallel(fused)


def factored(s: Any, t: Graph) -> None:
    c = t["C"]
    _ko, ki = s[c].split(c.op.reduce_axis[0], factor=4)
    partial = s.rfactor(c, ki, 1)
    assert len(partial.shape) == 3
    s[partial].compute_at(s[c], s[c].op.axis[0])
    s[partial].unroll(s[partial].op.reduce_axis[0])
    s[c].reorder(s[c].op.reduce_axis[0], s[c].op.axis[1])


def shared_read(s: Any, t: Graph) -> None:
    read = s.cache_read(t["A"], "global", [t["A2"]])
    s[read].vectorize(s[read].split(s[read].op.axis[1], 8)[1])
    s[t["C"]].reorder(*t["C"].op.reduce_axis, *t["C"].op.axis)
    s[t["A2"]].set_scope("local")


@pytest.mark.parametrize(
    ("change", "shows"),
    [
        (tiled, ["T.parallel(4)", "T.vectorized(4)", "T.unroll(4)", 'T.block("C_init")']),
        (cached, ["pragma_auto_unroll_max_step", "C_local", "B_local", "T.parallel(117)"]),
        (factored, ["C_rf", "T.unroll(3)"]),
        (shared_read, ["A_global", "T.vectorized(8)", 'scope="local"']),
    ],
)
def test_primitives_are_applied(change: Callable[[Any, Graph], None], shows: list[str]) -> None:
    """Guards each primitive: the loops and buffers show in the kernel, which computes the same."""
    text = applied(change).replace("T.int64(", "(").replace("((", "(")
    for piece in shows:
        assert piece in text, text


def test_a_schedule_that_asks_for_nothing_leaves_the_kernel_to_the_rules() -> None:
    tensors = graph()
    args = [tensors["A"], tensors["D"], tensors["B"]]
    assert "tir.is_scheduled" not in scheduled_prim_func(create_schedule(tensors["D"].op), args).attrs


@pytest.mark.parametrize(
    "wrong",
    [
        lambda s, t: s[t["D"]].compute_inline(),
        lambda s, t: s[t["C"]].fuse(t["C"].op.axis[1], t["C"].op.reduce_axis[0]),
        lambda s, t: s[t["D"]].compute_at(s[t["C"]], t["C"].op.axis[0]),
        lambda s, t: s.rfactor(t["C"], t["C"].op.axis[0]),
        lambda s, t: (s[t["C"]].split(t["C"].op.axis[0], 2), s.cache_write(t["C"], "local")),
        lambda s, t: s.cache_write(t["A"], "local"),
        lambda s, t: s[t["C"]].storage_align(t["D"].op.axis[0], 2, 0),
        lambda s, t: s[t["C"]].split(t["C"].op.axis[0], 0),
        lambda s, t: s[t["C"]].split(t["C"].op.axis[0], nparts=2.5),
        lambda s, t: s.cache_read(t["A"], "local", []),
        lambda s, t: (s.cache_write(t["C"], "local"), s.cache_write(t["C"], "local")),
    ],
)
def test_what_cannot_be_is_refused(wrong: Callable[[Any, Graph], None]) -> None:
    """When it is asked for, or when it is applied."""
    with pytest.raises(DiagnosticError):
        applied(wrong)


class _Random:
    """Random primitives on random stages, as hypothesis draws them."""

    def __init__(self, draw: Callable[..., Any], schedule: Any, tensors: Graph) -> None:
        self.draw, self.s, self.t = draw, schedule, tensors

    def loops(self, tensor: Any) -> None:
        """Splits, fusions, orders and kinds of one stage."""
        stage = self.s[tensor]
        for _ in range(self.draw(st.integers(0, 3))):
            axis = self.draw(st.sampled_from(stage.leaf_iter_vars))
            size = self.draw(st.sampled_from([1, 2, 3, 4, 16]))
            match self.draw(st.integers(0, 3)):
                case 0:
                    stage.split(axis, factor=size)
                case 1:
                    stage.split(axis, nparts=size)
                case 2:
                    stage.reorder(*self.draw(st.permutations(stage.leaf_iter_vars)))
                case _:
                    place = stage.leaf_iter_vars.index(axis)
                    pair = stage.leaf_iter_vars[place : place + 2]
                    if len({a.iter_type for a in pair}) == 1:
                        stage.fuse(*pair)
        for axis in stage.leaf_iter_vars:
            if axis.iter_type != "reduce" and self.draw(st.booleans()):
                getattr(stage, self.draw(st.sampled_from(["parallel", "unroll"])))(axis)

    def whole(self) -> None:
        s, t = self.s, self.t

        def flag() -> bool:
            return bool(self.draw(st.booleans()))

        made = s.cache_write(t["C"], "local") if flag() else t["C"]
        if flag():
            self.loops(s.cache_read(t["B"], "local", [made]))
        self.loops(t["D"])
        if flag():
            s[t["C"]].compute_at(s[t["D"]], self.draw(st.sampled_from(s[t["D"]].leaf_iter_vars)))
        self.loops(t["C"])
        if made is not t["C"]:
            if flag():
                s[made].compute_at(s[t["C"]], self.draw(st.sampled_from(s[t["C"]].leaf_iter_vars)))
            self.loops(made)
        if flag():
            s[t["A2"]].compute_inline()
        elif flag():
            s[t["A2"]].compute_at(s[made], self.draw(st.sampled_from(s[made].leaf_iter_vars)))


@given(st.data())
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_random_schedules_compute_the_same(data: st.DataObject) -> None:
    """Guards combinations: conditions of uneven splits inside placed stages, orders of reductions, copies."""
    applied(lambda s, t: _Random(data.draw, s, t).whole())


@pytest.mark.fuzz
@given(st.data())
@settings(max_examples=at_length(500), suppress_health_check=list(HealthCheck))
def test_many_random_schedules_compute_the_same(data: st.DataObject) -> None:
    applied(lambda s, t: _Random(data.draw, s, t).whole())


def test_kinds_of_loops_survive() -> None:
    """Guards that what is lowered has the kinds asked for, not serial loops."""
    tensors = graph()
    schedule = create_schedule(tensors["D"].op)
    tiled(schedule, tensors)
    func = scheduled_prim_func(schedule, [tensors["A"], tensors["B"], tensors["D"]])
    kinds = {n.kind for n in post_order(func.body) if isinstance(n, stmt.For)}
    assert {stmt.ForKind.PARALLEL, stmt.ForKind.VECTORIZED, stmt.ForKind.UNROLLED} <= kinds


def test_sums_of_open_sizes_begin_before_their_loops() -> None:
    """Guards reductions over split axes whose number of rows only a run tells: their start was refused."""
    n, m = var("n"), var("m")
    a = placeholder((n, m), name="A")
    k = reduce_axis((0, m), "k")
    b = compute((n,), lambda i: reduction.sum(a[i, k], k), "B")
    x = random_array((5, 37), "float32", 0)
    for change in (
        lambda s: s[b].split(k, factor=16),
        lambda s: s.rfactor(b, s[b].split(k, factor=16)[1]),
        lambda s: (s[b].parallel(b.op.axis[0]), s[b].split(k, nparts=4)),
    ):
        schedule = create_schedule(b.op)
        change(schedule)
        func = scheduled_prim_func(schedule, [a, b])
        found = np.zeros(5, "float32")
        assert run_native(func, x, found, checked=True) is None
        np.testing.assert_allclose(found, x.sum(1), rtol=1e-4, atol=1e-5)


def test_partial_results_of_several_results_are_several_tensors() -> None:
    """Guards `indices, values = s.rfactor(...)` of argmax, as TVM gives them: there was one tensor, of the indices."""
    a = placeholder((6, 20), name="A")
    k = reduce_axis((0, 20), "k")
    argmax = reduction.comm_reducer(
        lambda x, y: tuple(Select(x[1] >= y[1], x[n], y[n]) for n in (0, 1)),
        lambda index, value: (ops.const(-1, index), dtype_limits.lowest(value)),
        "argmax",
    )
    index, value = compute((6,), lambda i: argmax((k, a[i, k]), k), "argmax")
    schedule = create_schedule(index.op)
    inner = schedule[index].split(k, factor=4)[1]
    partial = schedule.rfactor(index, inner)
    assert [(len(t.shape), str(t.dtype)) for t in partial] == [(2, "int32"), (2, "float32")]
    schedule[partial[1]].compute_at(schedule[value], value.op.axis[0])
    x, places, found = random_array((6, 20), "float32", 0), np.zeros(6, "int32"), np.zeros(6, "float32")
    assert run_native(scheduled_prim_func(schedule, [a, index, value]), x, places, found, checked=True) is None
    np.testing.assert_array_equal(places, x.argmax(1))
    np.testing.assert_array_equal(found, x.max(1))


def test_an_inlined_stage_that_is_a_parameter_is_computed() -> None:
    """The parameter is written, as it is without a schedule: it was refused."""
    a = placeholder((9,), name="A")
    b = compute((9,), lambda i: a[i] + 1.0, "B")
    c = compute((9,), lambda i: b[i] * 2.0, "C")
    schedule = create_schedule(c.op)
    schedule[b].compute_inline()
    func = scheduled_prim_func(schedule, [a, b, c])
    x, found, twice = np.arange(9, dtype="float32"), np.zeros(9, "float32"), np.zeros(9, "float32")
    run_prim_func(func, [x, found, twice])
    assert found.tolist() == (x + 1).tolist()
    assert twice.tolist() == (2 * x + 2).tolist()


def test_a_stage_of_several_results_is_scheduled() -> None:
    """Guards its loops, and the place of its computation: one block makes all of its results."""
    a = placeholder((9, 7), name="A")
    first, second = compute((9, 7), lambda i, j: (a[i, j] + 1.0, a[i, j] * 3.0), "B")
    c = compute((9, 7), lambda i, j: first[i, j] + second[i, j], "C")
    x = random_array((9, 7), "float32", 1)
    for change in (
        lambda s: s[first].compute_at(s[c], c.op.axis[0]),
        lambda s: s[first].compute_inline(),
        lambda s: s[second].vectorize(s[first].split(first.op.axis[1], 4)[1]),
    ):
        schedule = create_schedule(c.op)
        change(schedule)
        func = scheduled_prim_func(schedule, [a, c])
        assert check_prim_func(func) == []
        found, native = np.zeros_like(x), np.zeros_like(x)
        run_prim_func(func, [x, found])
        assert run_native(func, x, native, checked=True) is None
        for result in (found, native):
            np.testing.assert_allclose(result, x + 1 + x * 3, rtol=1e-5)


def test_copies_of_one_result_of_several() -> None:
    """Guards which result is copied: it was the first, whichever was meant; both at once are refused in words."""
    a = placeholder((4,), name="A")
    first, second = compute((4,), lambda i: (a[i] + 1.0, a[i] * 3.0), "B")
    c = compute((4,), lambda i: first[i] + second[i], "C")
    schedule = create_schedule(c.op)
    schedule.cache_read(second, "local", [c])
    text = script(scheduled_prim_func(schedule, [a, c]))
    assert "B_v1_local[v0] = B_v1[v0]" in text
    with pytest.raises(DiagnosticError, match="cache one of them"):
        create_schedule(c.op).cache_write([first, second], "local")


def test_aligned_results() -> None:
    """Guards that rows of a result may be said to be aligned: it is a hint, the memory is the caller's."""
    text = applied(lambda s, t: s[t["D"]].storage_align(t["D"].op.axis[0], 8, 1))
    assert "buffer_dim_align" not in text


def test_axis_that_is_gone() -> None:
    """Guards the error of a stage placed at an axis that was split after that: it names the axes there are."""

    def change(s: Any, t: Graph) -> None:
        s[t["C"]].compute_at(s[t["D"]], t["D"].op.axis[0])
        s[t["D"]].split(t["D"].op.axis[0], 4)

    with pytest.raises(DiagnosticError, match=r"i is not an axis of stage D \(any more\)"):
        applied(change)


def test_copies_are_computations() -> None:
    """Guards what stages of copies and partial results tell: their tensors, and what they read."""
    tensors = graph()
    schedule = create_schedule(tensors["D"].op)
    copy = schedule.cache_read(tensors["A2"], "local", [tensors["C"].op])
    assert copy.op.output(0).dtype == "float32"
    assert copy.op.input_tensors == (tensors["A2"],)
    partial = schedule.rfactor(tensors["C"], tensors["C"].op.reduce_axis[0])
    assert partial.op.output(0) == partial
    assert set(partial.op.input_tensors) == {tensors["A2"], tensors["B"]}
