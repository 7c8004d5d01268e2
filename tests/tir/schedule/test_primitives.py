"""Schedule primitives keep the meaning: interpreter and native code agree with the function they started from."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.passes.tir.storage_alignment import with_aligned_buffers
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators as ops
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc, as_scheduled
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.schedule.traces.trace import Trace
from baton._src.tir.text.printer import script
from tests.codegen.native_run import random_array, run_native


def chain(n: Any = 13, m: Any = 10) -> PrimFunc:
    """B = A + 1, C = B * 2, D = relu(C)"""
    a = placeholder((n, m), "float32", "A")
    b = compute((n, m), lambda i, j: a[i, j] + 1.0, "B")
    c = compute((n, m), lambda i, j: b[i, j] * 2.0, "C")
    return create_prim_func([a, compute((n, m), lambda i, j: ops.max(c[i, j], 0.0), "D")])


def matmul(m: Any = 13, n: int = 9, k: int = 7) -> PrimFunc:
    """C = A B, D = C + 1"""
    a, b = placeholder((m, k), "float32", "A"), placeholder((k, n), "float32", "B")
    r = reduce_axis((0, k), "r")
    c = compute((m, n), lambda i, j: reduction.sum(a[i, r] * b[r, j], r), "C")
    return create_prim_func([a, b, compute((m, n), lambda i, j: c[i, j] + 1.0, "D")])


def same(func: PrimFunc, change: Callable[[Schedule], None], *shapes: tuple[int, ...]) -> Schedule:
    """Apply, and run before and after every way."""
    schedule = Schedule(func)
    change(schedule)
    arrays = [random_array(s, "float32", i) for i, s in enumerate(shapes)]
    before, after, native = ([a.copy() for a in arrays] for _ in range(3))
    run_prim_func(func, before)
    run_prim_func(schedule.func, after)
    assert run_native(schedule.func, *native, checked=True) is None
    np.testing.assert_allclose(after[-1], before[-1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(native[-1], before[-1], rtol=1e-5, atol=1e-6)
    return schedule


CHAIN = ((13, 10), (13, 10))
MATMUL = ((13, 7), (7, 9), (13, 9))


@pytest.mark.parametrize("factors", [[None, 4], [4, None], [13, 1], [2, None, 3], [5, 3]])
def test_split(factors: list[int | None]) -> None:
    """Guards factors that divide and factors that do not."""

    def change(s: Schedule) -> None:
        s.split(s.get_loops(s.get_block("D"))[0], factors)

    same(chain(), change, *CHAIN)
    same(chain(Var("n", "int64")), change, *CHAIN) if factors != [13, 1] and factors != [5, 3] else None


def test_split_too_small() -> None:
    """Guards factors that would drop iterations."""
    s = Schedule(chain())
    with pytest.raises(DiagnosticError, match="fewer iterations"):
        s.split(s.get_loops(s.get_block("D"))[0], [2, 3])


def test_fuse_reorder_and_kinds() -> None:
    """Guards loops as a whole."""

    def change(s: Schedule) -> None:
        i, j = s.get_loops(s.get_block("B"))
        s.parallel(s.fuse(i, j))
        i, j = s.get_loops(s.get_block("C"))
        s.reorder(j, i)
        s.vectorize(i)
        i, j = s.get_loops(s.get_block("D"))
        s.unroll(s.split(j, [None, 5])[1])

    same(chain(), change, *CHAIN)


def test_reductions_are_not_shared() -> None:
    """Guards the check of parallel and vectorize."""
    s = Schedule(matmul())
    r = s.get_loops(s.get_block("C"))[2]
    for primitive in (s.parallel, s.vectorize):
        with pytest.raises(DiagnosticError, match="carries the reduction"):
            primitive(r)
    s.unroll(r)


def test_inlining() -> None:
    """Guards both directions, and what must not be inlined."""

    def forward(s: Schedule) -> None:
        s.compute_inline(s.get_block("B"))
        s.compute_inline(s.get_block("C"))

    def backward(s: Schedule) -> None:
        s.reverse_compute_inline(s.get_block("C"))
        s.reverse_compute_inline(s.get_block("D"))

    for change, left in ((forward, "D"), (backward, "B")):
        done = same(chain(), change, *CHAIN)
        assert [b.name for b in done.get_child_blocks(done.get_block("root"))] == [left]
    s = Schedule(matmul())
    for name in ("C", "D"):
        with pytest.raises(DiagnosticError):
            s.compute_inline(s.get_block(name))


@pytest.mark.parametrize("depth", [0, 1])
def test_compute_at(depth: int) -> None:
    """Guards the region that is computed inside a loop."""

    def change(s: Schedule) -> None:
        s.compute_at(s.get_block("C"), s.get_loops(s.get_block("D"))[depth])
        s.compute_at(s.get_block("B"), s.get_loops(s.get_block("C"))[0])

    same(chain(), change, *CHAIN)

    def reduced(s: Schedule) -> None:
        i, _ = s.get_loops(s.get_block("D"))
        outer, inner = s.split(i, [None, 4])
        s.compute_at(s.get_block("C"), outer if depth == 0 else inner)

    same(matmul(), reduced, *MATMUL)


def test_reverse_compute_at() -> None:
    """Guards an epilogue moved into the tiles of a product."""

    def change(s: Schedule) -> None:
        i, j, r = s.get_loops(s.get_block("C"))
        outer, inner = s.split(i, [None, 4])
        left, right = s.split(j, [None, 3])
        s.reorder(outer, left, r, inner, right)
        s.reverse_compute_at(s.get_block("D"), left)

    same(matmul(), change, *MATMUL)


def test_caches() -> None:
    """Guards copies in front and behind, and moving them."""

    def change(s: Schedule) -> None:
        block = s.get_block("C")
        copy = s.cache_read(block, 0, "local")
        s.cache_write(block, 0, "local")
        s.compute_at(copy, s.get_loops(block)[0])
        s.set_scope(block, 0, "global")

    same(matmul(), change, *MATMUL)


def test_decompose_reduction() -> None:
    """Guards the initialisation as a block of its own, with loops in any order."""

    def change(s: Schedule) -> None:
        block = s.get_block("C")
        i, j, r = s.get_loops(block)
        outer, inner = s.split(j, [None, 4])
        s.reorder(i, outer, r, inner)
        s.decompose_reduction(block, r)
        s.vectorize(inner)

    same(matmul(), change, *MATMUL)
    s = Schedule(matmul())
    i, j, r = s.get_loops(s.get_block("C"))
    s.reorder(r, i, j)
    with pytest.raises(DiagnosticError, match="more than once"):
        s.decompose_reduction(s.get_block("C"), i)


@pytest.mark.parametrize("factor_axis", [0, 1, 2, -1])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("factor", [4, 16, 3])
def test_rfactor(factor_axis: int, which: int, factor: int) -> None:
    """Guards partial results: of the outer and the inner loop, with factors that do not divide or are too large."""

    def change(s: Schedule) -> None:
        block = s.get_block("C")
        _i, j, r = s.get_loops(block)
        s.split(j, [None, 4])
        parts = s.split(r, [None, factor])
        partial = s.rfactor(parts[which], factor_axis)
        s.parallel(s.get_loops(partial)[0])
        s.reverse_compute_at(s.get_block("D"), s.get_loops(block)[0])

    same(matmul(), change, *MATMUL)
    s = Schedule(matmul())
    for loop, axis in ((s.get_loops("C")[0], 0), (s.get_loops("C")[2], 7)):
        with pytest.raises(DiagnosticError):
            s.rfactor(loop, axis)


def test_blockize() -> None:
    """Guards a tile as a block, of elementwise computations and of reductions with their start."""

    def change(s: Schedule) -> None:
        i, j = s.get_loops("B")
        io, ii = s.split(i, [None, 13])
        jo, ji = s.split(j, [None, 5])
        s.reorder(io, jo, ii, ji)
        outer = s.blockize(ii)
        assert len(s.get_loops(outer)) == 2
        s.parallel(s.get_loops(outer)[1])

    same(chain(), change, *CHAIN)

    def reduced(s: Schedule) -> None:
        i, j, r = s.get_loops("C")
        jo, ji = s.split(j, [None, 3])
        s.reorder(i, jo, r, ji)
        s.blockize(r)

    same(matmul(), reduced, *MATMUL)
    s = Schedule(chain())
    inner = s.split(s.get_loops("B")[1], [None, 3])[1]
    with pytest.raises(DiagnosticError, match="a condition on loops inside and outside"):
        s.blockize(inner)


def padded() -> PrimFunc:
    """B = A with one element of 7 around, C = B + 1"""
    a = placeholder((4, 5), "float32", "A")

    def at(i: Any, j: Any) -> Any:
        inside = ops.logical_and(ops.logical_and(i >= 1, i < 5), ops.logical_and(j >= 1, j < 6))
        return if_then_else(inside, a[i - 1, j - 1], ops.const(7.0, "float32"))

    b = compute((6, 7), at, "B")
    return create_prim_func([a, compute((6, 7), lambda i, j: b[i, j] + 1.0, "C")])


@pytest.mark.parametrize("depth", [0, 1])
def test_decompose_padding(depth: int) -> None:
    """Guards the pad value and the data as two blocks."""

    def change(s: Schedule) -> None:
        made = s.decompose_padding("B", s.get_loops("B")[depth])
        assert s.get(made).name_hint == "B_pad_const"

    done = same(padded(), change, (4, 5), (6, 7))
    assert [done.get(loop).extent.value for loop in done.get_loops("B")] == [[4, 5], [6, 5]][depth]
    assert ("T.where" in script(done.func)) == (depth == 1)

    def copied(s: Schedule) -> None:
        change(s)
        s.cache_write("B", 0, "local")

    if depth == 0:  # the copy is of the data, too: the border stays as it is
        same(padded(), copied, (4, 5), (6, 7))
    s = Schedule(padded())
    loop = s.get_loops("C")[0]
    with pytest.raises(DiagnosticError, match="does not pad"):
        s.decompose_padding("C", loop)


@pytest.mark.parametrize("block", ["B", "C"])
def test_layouts(block: str) -> None:
    """Guards a buffer inside laid out anew, exactly and with padding, and what its readers then read."""

    def change(s: Schedule) -> None:
        with pytest.raises(DiagnosticError, match="the layout has padding"):
            s.transform_layout(block, ("write", 0), lambda i, j: (j // 4, i, j % 4))
        s.transform_layout(block, ("write", 0), lambda i, j: (j // 4, i, j % 4), assume_injective_transform=True)
        s.transform_layout(block, ("write", 0), lambda a, b, c: (b, c, a))

    same(chain(), change, *CHAIN)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_storage_align(axis: int) -> None:
    """Guards buffers with gaps between their rows, which passes and code generation read off the block, as in TVM."""

    def change(s: Schedule) -> None:
        s.storage_align("B", 0, axis, 16, 1)
        s.storage_align("B", 0, axis, 8, 3)
        assert s.get("B").annotations == {"buffer_dim_align": [[0, axis % 2, 8, 3]]}
        (buffer,) = (b for b in with_aligned_buffers(s.func.body).block.alloc_buffers if b.name == "B")
        assert buffer.strides[axis].value % 8 == 3

    same(chain(), change, *CHAIN)
    s = Schedule(chain())
    for wrong in (("D", 0, 0, 8, 0), ("B", 0, 5, 8, 0), ("B", 0, 0, 8, 9), ("B", 1, 0, 8, 0)):
        with pytest.raises(DiagnosticError):
            s.storage_align(*wrong)


def test_reindex() -> None:
    """Guards copies in the order of the block's axes, of what is read and written."""

    def change(s: Schedule) -> None:
        for which in (("read", 0), ("read", 1), ("write", 0)):
            s.reindex("C", which)
        s.add_unit_loop("C")
        s.add_unit_loop(s.get_loops("C")[0])

    done = same(matmul(), change, *MATMUL)
    assert {b.name for b in done.get_child_blocks("root")} >= {"A_reindex", "B_reindex", "C_reindex"}


def test_samples_and_traces() -> None:
    """Guards decisions, and a trace applied to another schedule of the function: the same kernel."""

    def change(s: Schedule) -> None:
        block = s.get_block("C")
        i, j, r = s.get_loops(block)
        factors = s.sample_perfect_tile(j, 3, max_innermost_factor=3)
        a, b, c = s.split(j, factors)
        s.reorder(a, r, b, c)
        s.unroll(c)
        width = s.sample_categorical([1, 2, 4], [0.25, 0.5, 0.25])
        s.split(i, [None, width])
        s.compute_at(s.get_block("C"), s.sample_compute_location("C"))
        s.enter_postproc()

    for seed in range(8):
        func = matmul()
        first = Schedule(func, seed=seed)
        change(first)
        second = Schedule(func)
        first.trace.apply_to_schedule(second)
        assert script(first.func) == script(second.func)
        assert str(first.trace) == str(second.trace)
        assert len(first.trace.decisions) == 3
    same(matmul(), change, *MATMUL)


def test_tiles_in_two_parts() -> None:
    """Guards the product of the second part, factors without one, and decisions taken again."""

    def change(s: Schedule) -> None:
        j = s.get_loops("C")[1]
        factors = s.sample_partitioned_tile(j, 4, partition_pos=2, innerpart_factor=3)
        assert math.prod(factors[2:]) == 3
        s.split(j, factors)

    same(matmul(), change, *MATMUL)
    first = Schedule(matmul(), seed=2)
    change(first)
    second = Schedule(matmul())
    first.trace.apply_to_schedule(second)
    assert script(first.func) == script(second.func)
    j = second.get_loops("C")[0]
    assert math.prod(second.sample_partitioned_tile(j, 2, 1, 5)) == 13
    with pytest.raises(DiagnosticError, match="not parted at 3"):
        second.sample_partitioned_tile(j, 2, 3, 1)


def test_other_decisions() -> None:
    """Guards a trace with a choice replaced, and steps nobody needs dropped."""
    func = matmul()
    s = Schedule(func)
    s.get_block("D")
    j = s.get_loops("C")[1]
    s.split(j, s.sample_perfect_tile(j, 2))
    (sampled,) = s.trace.decisions
    other = Schedule(func)
    s.trace.with_decision(sampled, [3, 3]).simplified().apply_to_schedule(other)
    extents = [other.get(loop).extent.value for loop in other.get_loops("C")]
    assert extents == [13, 3, 3, 7]
    kept = [i.kind.name for i in s.trace.simplified().insts]
    assert kept == ["GetBlock", "GetLoops", "SamplePerfectTile", "Split"]


def test_what_was_scheduled_by_hand_is_compiled_as_it_stands() -> None:
    """Guards loops that the user chose from the rules; inlining alone leaves the loops to them."""
    s = Schedule(chain())
    s.compute_inline("B")
    assert "tir.is_scheduled" not in s.func.attrs
    s.unroll(s.get_loops("C")[1])
    assert "tir.is_scheduled" not in s.func.attrs  # what was done to loops is no part of what the function says
    decided = decide(as_scheduled(s.func), Target("llvm")).func
    chosen, compiled = ([s.get(loop) for b in "CD" for loop in s.get_loops(b)] for s in (s, Schedule(decided)))
    assert [(loop.extent, loop.kind) for loop in chosen] == [(loop.extent, loop.kind) for loop in compiled]


def test_unknown_names() -> None:
    """Guards the messages."""
    s = Schedule(chain())
    with pytest.raises(DiagnosticError, match="no block 'X'"):
        s.get_block("X")
    loop = s.get_loops(s.get_block("D"))[0]
    s.split(loop, [None, 2])
    with pytest.raises(DiagnosticError, match="is gone"):
        s.split(loop, [None, 2])


def test_sampled_places() -> None:
    """Guards TVM's numbers of decisions (-2 inline, -1 where it is, else loops around the first reader), that each is
    carried out, and that a trace repeats it."""
    for decision, blocks in ((-2, {"C", "D"}), (-1, {"B", "C", "D"}), (0, {"B", "C", "D"})):
        s = Schedule(chain())
        s.compute_at("B", s.sample_compute_location("B", decision=decision))
        assert {block.name for block in s.get_child_blocks("root")} == blocks
        if decision == 0:
            assert s.get_loops("B")[0].var is s.get_loops("C")[0].var
        again = Schedule(chain())
        s.trace.apply_to_schedule(again)
        assert script(again.func) == script(s.func)
        from_json = Schedule(chain())
        Trace.apply_json_to_schedule(s.trace.as_json(), from_json)
        assert script(from_json.func) == script(s.func)
