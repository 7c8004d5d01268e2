"""What would change a kernel's meaning is refused, or done so that it does not: cases that random schedules found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton import te
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import Var
from baton._src.tir.index_map import IndexMap
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.stmt import ForKind
from baton.script import from_source
from baton.script import tir as T
from tests.codegen.native_run import run_native

Change = Callable[[Schedule], object]


def matmul(symbolic: bool = False) -> PrimFunc:
    n, m, k = (te.var("n"), te.var("m"), te.var("k")) if symbolic else (7, 6, 5)
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), "k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], r), name="C")
    d = te.compute((n, m), lambda i, j: te.max(c[i, j], 0.0) + 1.0, name="D")
    return te.create_prim_func([a, b, d])


def check(before: PrimFunc, after: PrimFunc) -> None:
    """The interpreter and native code agree with the kernel as it was; its text reads back."""
    assert check_prim_func(after) == []
    assert from_source(after.script()).script() == after.script()
    draws = np.random.default_rng(0)
    arrays = [draws.random(shape, np.float32) - 0.5 for shape in ((7, 5), (5, 6), (7, 6))]
    expected, found, native = ([a.copy() for a in arrays] for _ in range(3))
    run_prim_func(before, expected)
    run_prim_func(after, found)
    assert run_native(after, *native, checked=True) is None
    np.testing.assert_allclose(found[-1], expected[-1], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(native[-1], expected[-1], rtol=1e-4, atol=1e-5)


def loop(s: Schedule, block: str, number: int) -> Any:
    return s.get_loops(s.get_block(block))[number]


def partitioned(s: Schedule, block: str, number: int = 0) -> str:
    s.loop_partition(loop(s, block, number), [2, None])
    return f"{block}_i1"


def bound(s: Schedule) -> Any:
    found = loop(s, "D", 0)
    s.bind(found, "threadIdx.x")
    return found


def annotated(s: Schedule) -> Any:
    s.annotate(loop(s, "D", 1), "pragma_x", 1)
    return s.get_loops("D")


def fused_then_decomposed(s: Schedule) -> None:
    s.fuse(*s.get_loops("C")[1:])
    s.decompose_reduction("C", loop(s, "C", 1))


def fused_then_factored(s: Schedule) -> None:
    _, j, k = s.get_loops("C")
    outer, inner = s.split(k, [5, 1])
    s.fuse(j, outer)
    s.rfactor(inner, 0)


def reduced_in_parallel(s: Schedule) -> None:
    i, j, k = s.get_loops("C")
    s.parallel(i)
    s.reorder(i, k, j)
    s.fuse(i, k)


REFUSED: dict[str, tuple[bool, Change, str]] = {
    "factors that may not cover": (True, lambda s: s.split(loop(s, "D", 0), [4, 4]), "may cover fewer iterations"),
    "factors that do not cover": (False, lambda s: s.split(loop(s, "D", 0), [3, 2]), "may cover fewer iterations"),
    "bound loops split": (False, lambda s: s.split(bound(s), [None, 2]), "is bound to threads"),
    "bound loops fused": (False, lambda s: s.fuse(bound(s), loop(s, "D", 1)), "is bound to threads"),
    "annotated loops fused": (False, lambda s: s.fuse(*annotated(s)), "is annotated"),
    "a parallel loop fused with a sum": (False, reduced_in_parallel, "carries the reduction"),
    "more partitions than iterations": (True, lambda s: partitioned(s, "D"), "may have fewer iterations"),
    "indexed copies of a part": (
        False,
        lambda s: s.reindex_cache_write(partitioned(s, "D"), 0, "local", lambda i, j: (j, i)),
        "does not start at 0",
    ),
    "a sum begun outside": (
        False,
        lambda s: (s.blockize(loop(s, "C", 2)), s.cache_write("C", 0, "local")),
        "accumulates into",
    ),
    "a start over fused axes": (False, fused_then_decomposed, "runs a reduced and another axis"),
    "partial sums over fused axes": (False, fused_then_factored, "would not begin anew"),
    "sums that would run twice": (
        False,
        lambda s: (s.decompose_reduction("C", loop(s, "C", 2)), s.compute_at("C_update", loop(s, "D", 1))),
        "it must not run twice",
    ),
    "a part padded": (False, lambda s: s.pad_einsum(partitioned(s, "C"), [4, 4, 4]), "whose loops are its axes"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_and_left_alone(name: str) -> None:
    symbolic, change, message = REFUSED[name]
    schedule = Schedule(matmul(symbolic))
    with pytest.raises(DiagnosticError, match=message):
        change(schedule)
    check(matmul(symbolic), schedule.func)


def test_partial_sums_before_others_share_their_loop() -> None:
    """The block that reads the sums would run before they are combined."""
    s = Schedule(matmul())
    s.reverse_compute_at("D", loop(s, "C", 0))
    with pytest.raises(DiagnosticError, match="hold other blocks"):
        s.rfactor(loop(s, "C", 2), 0)


def test_sums_do_not_move_under_parallel_loops_that_run_them() -> None:
    a = te.placeholder((7, 6), name="A")
    b = te.compute((7, 6), lambda i, j: a[i, j] + 1.0, name="B")
    r = te.reduce_axis((0, 6), "r")
    s = Schedule(te.create_prim_func([a, te.compute((7,), lambda i: te.sum(b[i, r], r), name="C")]))
    inner = loop(s, "B", 1)
    s.parallel(inner)
    with pytest.raises(DiagnosticError, match="carries the reduction"):
        s.reverse_compute_at("C", inner)


@pytest.mark.parametrize("parallel_first", [False, True])
def test_whole_copies_in_loops_over_elements(parallel_first: bool) -> None:
    """Guards parallel loops around cache_inplace: each iteration copies all elements, which others are storing."""
    s = Schedule(matmul())
    inner = loop(s, "C", 1)
    s.decompose_reduction("C", loop(s, "C", 2))
    steps: list[Callable[[], object]] = [lambda: s.cache_inplace("C_update", 0, "local"), lambda: s.parallel(inner)]
    first, second = reversed(steps) if parallel_first else steps
    first()
    with pytest.raises(DiagnosticError, match="may access them in another one"):
        second()
    check(matmul(), s.func)


def test_copies_of_what_another_block_goes_on_from() -> None:
    s = Schedule(matmul())
    s.loop_partition(loop(s, "C", 2), [2, None])
    with pytest.raises(DiagnosticError, match="C_k1 accumulates into"):
        s.cache_write("C_k0", 0, "local")


def test_blocks_with_more_axes_are_not_inlined_backwards() -> None:
    """One element of B is many of C: they cannot be made where B was."""
    a = te.placeholder((7,), name="A")
    b = te.compute((7,), lambda i: a[i] + 1.0, name="B")
    s = Schedule(te.create_prim_func([a, te.compute((7, 6), lambda i, j: b[i] * j, name="C")]))
    with pytest.raises(DiagnosticError, match="several elements of one, over"):
        s.reverse_compute_inline("C")
    s = Schedule(te.create_prim_func([a, te.compute((7, 1), lambda i, j: b[i] * 2.0, name="C")]))
    s.reverse_compute_inline("C")
    assert "B" not in s.func.script().split("T.block")[1]


def test_copies_of_what_a_condition_leaves_out() -> None:
    """The border would be filled with what the copy happens to hold."""
    a = te.placeholder((6,), name="A")
    inside = te.compute((8,), lambda i: te.if_then_else(te.all(i >= 1, i < 7), a[i - 1], 0.0), name="P")
    s = Schedule(te.create_prim_func([a, te.compute((8,), lambda i: inside[i] * 2.0, name="B")]))
    s.decompose_padding("P", s.split(loop(s, "P", 0), [2, 4])[0])
    with pytest.raises(DiagnosticError, match="under the condition"):
        s.cache_write("P", 0, "local")


def test_maps_with_gaps_have_no_inverse_for_unknown_sizes_either() -> None:
    gaps = IndexMap.from_func(lambda i, j: (i, j // 2, j % 2))
    with pytest.raises(DiagnosticError, match="empty"):
        gaps.inverse([Var("n", "int32"), 3])
    gaps.inverse([Var("n", "int32"), 4])


def inner_copy(s: Schedule) -> None:
    s.cache_read("C", 0, "local")
    s.compute_at("A_local", loop(s, "C", 2))


def outer_copy(s: Schedule) -> None:
    """The loop over ko reduces and holds two blocks; the loop over ki reduces below."""
    ko, _ = s.split(loop(s, "C", 2), [None, 2])
    s.read_at(ko, "C", 0, "local")


def masked_tail(s: Schedule) -> None:
    """A store that does not depend on the vectorised loop."""
    s.read_at(loop(s, "C", 1), "C", 0, "local")
    s.vectorize(loop(s, "C", 1))


def nested_vectors(s: Schedule) -> None:
    """The inner loops are vectors, or masked ones, when the outer one is looked at."""
    s.cache_read("D", 0, "local")
    s.compute_at("C_local", loop(s, "D", 0), preserve_unit_loops=True)
    s.vectorize(loop(s, "C_local", -1))
    s.vectorize(loop(s, "C_local", -2))
    s.vectorize(loop(s, "D", 1))


def relayout(s: Schedule) -> None:
    s.blockize(loop(s, "D", 1))
    s.read_at(loop(s, "D", 0), "D", 0, "local")
    s.transform_layout("C", ("write", 0), lambda i, j: (j, i))


def rebound(s: Schedule) -> None:
    s.bind(loop(s, "D", 0), "threadIdx.x")
    s.parallel(loop(s, "D", 0))


def copied_part(s: Schedule) -> None:
    s.loop_partition(loop(s, "D", 0), [2, 4, None])
    s.cache_write("D_i1", 0, "local")


def factored_part(s: Schedule) -> None:
    s.loop_partition(loop(s, "C", 0), [2, 4, None])
    s.rfactor(loop(s, "C_i1", 2), 0)


KEPT: dict[str, Change] = {
    f.__name__: f
    for f in (inner_copy, outer_copy, masked_tail, nested_vectors, relayout, rebound, copied_part, factored_part)
}


@pytest.mark.parametrize(
    ("name", "symbolic"),
    [(n, u) for n in KEPT for u in (False, True) if not (u and n in ("relayout", "copied_part", "factored_part"))],
)
def test_the_meaning_is_kept(name: str, symbolic: bool) -> None:
    """`outer_copy`: sums began anew in each iteration of the outer reduced loop."""
    schedule = Schedule(matmul(symbolic))
    KEPT[name](schedule)
    check(matmul(symbolic), schedule.func)


def test_a_loop_made_parallel_is_bound_no_longer() -> None:
    s = Schedule(matmul())
    rebound(s)
    made = s.get(loop(s, "D", 0))
    assert made.kind is ForKind.PARALLEL
    assert made.thread_binding is None


@pytest.mark.parametrize("fused", [False, True])
def test_sums_within_loops_that_do_not_vary_them_keep_their_start(fused: bool) -> None:
    """Found by make fuzz: S is computed anew for each j; with its start moved out of that loop the sums went on."""
    a, k = te.placeholder((4, 6), name="A"), te.reduce_axis((0, 6), "k")
    total = te.compute((4,), lambda i: te.sum(a[i, k], k), name="S")
    schedule = Schedule(te.create_prim_func([a, te.compute((4, 6), lambda i, j: a[i, j] - total[i], name="D")]))
    schedule.compute_at("S", loop(schedule, "D", 1))
    if fused:
        schedule.fuse(*schedule.get_loops("S")[:2])
    with pytest.raises(DiagnosticError, match="more than once for the same axes"):
        schedule.decompose_reduction("S", loop(schedule, "S", 0))
    if not fused:
        schedule.decompose_reduction("S", loop(schedule, "S", 2))


def test_results_are_not_computed_in_part() -> None:
    """Guards results that are read, too: moved to their reader, elements that it does not need were missing."""

    @T.prim_func
    def part(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(8):
            with T.block("B"):
                v = T.axis.spatial(8, i)
                B[v] = A[v]
        for i in range(4):
            with T.block("C"):
                v = T.axis.spatial(4, i)
                C[v] = B[v]

    s = Schedule(part)
    with pytest.raises(DiagnosticError, match="block B writes B, a result of the function"):
        s.compute_at("B", s.get_loops("C")[0])
