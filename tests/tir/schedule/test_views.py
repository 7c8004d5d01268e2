"""Schedules of kernels whose blocks use buffers through views (`match_buffers`).

The random primitives are those of `test_random_schedules`: what is not refused leaves the meaning as it was.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.text.parser import parse_text
from tests.at_length import seeds_at_length
from tests.codegen.native_run import run_native
from tests.tir.schedule.test_random_schedules import Kernel, check

SUMS = """
@T.prim_func
def main(A: T.Buffer(({n}, 8), "float32"), D: T.Buffer(({n},), "float32")):
    B = T.alloc_buffer(({n}, 8), "float32")
    C = T.alloc_buffer(({n}, 8), "float32")
    for i, j in T.grid({n}, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            row = T.match_buffer(A[vi, 0:8], (8,), "float32", offset_factor=1)
            B[vi, vj] = row[vj] + T.float32(1)
    for i, j in T.grid({n}, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, vj])
            T.writes(C[vi, vj])
            b = T.match_buffer(B[vi, vj], (), "float32", offset_factor=1)
            c = T.match_buffer(C[vi, 0:8], (8,), "float32", offset_factor=1)
            c[vj] = b[()] * T.float32(2)
    for i, k in T.grid({n}, 8):
        with T.block("D"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.reads(C[vi, vk])
            T.writes(D[vi])
            c = T.match_buffer(C[vi, 0:8], (8,), "float32", offset_factor=1)
            d = T.match_buffer(D[vi], (1,), "float32", offset_factor=1)
            with T.init():
                d[0] = T.float32(0)
            d[0] = d[0] + c[vk]
"""

TILES = """
@T.prim_func
def main(A: T.Buffer(({n}, 6), "float32"), E: T.Buffer(({n}, 6), "float32")):
    B = T.alloc_buffer(({n}, 6), "float32")
    C = T.alloc_buffer(({n}, 6), "float32")
    for i, j in T.grid({n}, 6):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(3)
    for i, j in T.grid({n} // 2, 3):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi * 2:vi * 2 + 2, vj * 2:vj * 2 + 2])
            T.writes(C[vi * 2:vi * 2 + 2, vj * 2:vj * 2 + 2])
            s, t = T.int32(), T.int32()
            b = T.match_buffer(
                B[vi * 2:vi * 2 + 2, vj * 2:vj * 2 + 2], (2, 2), "float32", strides=[s, 1], offset_factor=1
            )
            c = T.match_buffer(
                C[vi * 2:vi * 2 + 2, vj * 2:vj * 2 + 2], (2, 2), "float32", strides=[t, 1], offset_factor=1
            )
            for y, x in T.grid(2, 2):
                c[y, x] = b[x, y] + b[y, x]
    for i, j in T.grid({n}, 6):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = C[vi, vj] + B[vi, vj]
"""

SCOPES = """
@T.prim_func
def main(A: T.Buffer(({n}, 8), "float32"), F: T.Buffer(({n}, 8), "float32")):
    B = T.alloc_buffer(({n}, 8), "float32")
    C = T.alloc_buffer(({n}, 8), "float32")
    for i, j in T.grid({n}, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i in range({n}):
        with T.block("outer"):
            vo = T.axis.spatial({n}, i)
            T.reads(B[vo, 0:8])
            T.writes(C[vo, 0:8])
            b = T.match_buffer(B[vo, 0:8], (8,), "float32", offset_factor=1)
            c = T.match_buffer(C[vo, 0:8], (8,), "float32", offset_factor=1)
            D = T.alloc_buffer((8,), "float32")
            for j in range(8):
                with T.block("D"):
                    vj = T.axis.spatial(8, j)
                    T.reads(b[vj])
                    T.writes(D[vj])
                    one = T.match_buffer(b[vj], (1,), "float32", offset_factor=1)
                    D[vj] = one[0] * T.float32(2)
            for j in range(8):
                with T.block("C"):
                    vj = T.axis.spatial(8, j)
                    T.reads(D[7 - vj], b[vj])
                    T.writes(c[vj])
                    c[vj] = D[7 - vj] - b[vj]
    for i, j in T.grid({n}, 8):
        with T.block("F"):
            vi, vj = T.axis.remap("SS", [i, j])
            F[vi, vj] = C[vi, vj] + T.float32(1)
"""

GAPS = """
@T.prim_func
def main(A: T.Buffer(({n}, 3), "float32"), C: T.Buffer(({n}, 6), "float32")):
    B = T.alloc_buffer(({n}, 6), "float32")
    for i, j in T.grid({n}, 6):
        with T.block("zero"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.float32(0)
    for i, j in T.grid({n}, 3):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj])
            T.writes(B[vi, vj * 2])
            b = T.match_buffer(B[vi, vj * 2:vj * 2 + 2], (2,), "float32", offset_factor=1)
            b[0] = A[vi, vj]
    for i, j in T.grid({n}, 3):
        with T.block("more"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(A[vi, vj], B[vi, vj * 2])
            T.writes(B[vi, vj * 2])
            b = T.match_buffer(B[vi, vj * 2], (1,), "float32", offset_factor=1)
            b[0] = b[0] + A[vi, 2 - vj]
    for i, j in T.grid({n}, 6):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads(B[vi, 0:6])
            T.writes(C[vi, vj])
            b = T.match_buffer(B[vi, 0:6], (6,), "float32", offset_factor=1)
            C[vi, vj] = b[vj] + b[5 - vj]
"""


def sums(_: bool) -> Kernel:
    """Elements and rows, and a reduction that starts through its view."""
    return parse_text(SUMS.format(n=6)), [(6, 8), (6,)]


def tiles(_: bool) -> Kernel:
    """Boxes at offsets that axes tell, with open strides."""
    return parse_text(TILES.format(n=8)), [(8, 6), (8, 6)]


def scopes(_: bool) -> Kernel:
    """Views for blocks inside, views of views."""
    return parse_text(SCOPES.format(n=5)), [(5, 8), (5, 8)]


def gaps(_: bool) -> Kernel:
    """Elements left out between those that a block writes, and elements added to in place."""
    return parse_text(GAPS.format(n=4)), [(4, 3), (4, 6)]


KERNELS = (sums, tiles, scopes, gaps)


@pytest.mark.parametrize("seed", range(24))
def test_random_schedules_of_views(seed: int) -> None:
    """Guards every primitive against what a block does through a view."""
    check(seed, 4, KERNELS)


@pytest.mark.fuzz
def test_many_random_schedules_of_views() -> None:
    """Others in each run; the seed stands in the failure."""
    for seed in seeds_at_length(2000):
        try:
            check(seed, 8, KERNELS)
        except Exception as error:
            raise AssertionError(f"seed {seed}, of length 8") from error


def same(func: PrimFunc, change: Callable[[Schedule], object], *shapes: tuple[int, ...]) -> Schedule:
    """Schedule and compare, by the interpreter and natively."""
    s = Schedule(func)
    change(s)
    assert check_prim_func(s.func) == []
    arrays = [np.random.default_rng(0).random(shape, np.float32) for shape in shapes]
    expected, found, native = ([a.copy() for a in arrays] for _ in range(3))
    run_prim_func(func, expected)
    run_prim_func(s.func, found)
    assert run_native(s.func, *native, checked=True) is None
    for one, other, third in zip(expected, found, native):
        np.testing.assert_allclose(other, one, rtol=1e-6)
        np.testing.assert_allclose(third, one, rtol=1e-6)
    return s


def test_what_is_taken_apart_uses_buffers_themselves() -> None:
    """Guards initialisations, partial sums and inlined values, which stand in other blocks than the views."""
    func, shapes = sums(False)
    for change in (
        lambda s: s.decompose_reduction("D", s.get_loops("D")[1]),
        lambda s: s.rfactor(s.get_loops("D")[1], 0),
        lambda s: s.blockize(s.get_loops("D")[1]),
        lambda s: s.reverse_compute_inline("C"),
        lambda s: s.reindex("C", ("read", 0)),
        lambda s: s.cache_write("D", 0, "local"),
    ):
        same(func, change, *shapes)


def test_views_move_with_their_buffer_to_another_scope() -> None:
    """Guards views that said that they are elsewhere than the buffer they show."""
    func, shapes = tiles(False)
    done = same(func, lambda s: s.set_scope("C", 0, "local"), *shapes)
    assert [v.buffer.scope() for v in done.get("C").match_buffers] == ["global", "local"]
    copied = same(func, lambda s: s.cache_read("C", 0, "shared"), *shapes)
    assert [v.buffer.scope() for v in copied.get("C").match_buffers] == ["shared", "global"]


def test_partitions_have_views_of_their_own() -> None:
    """Guards the variables of strides, which two blocks would define."""
    func, shapes = tiles(False)
    done = same(func, lambda s: s.loop_partition(s.get_loops("C")[0], [1, None]), *shapes)
    strides = [v.buffer.strides[0] for b in ("C_i0", "C_i1") for v in done.get(b).match_buffers]
    assert len(set(strides)) == 4


def test_copies_need_elements_that_a_block_writes() -> None:
    """Guards elements between those that a block writes through views, and values that it adds to."""
    func, _ = gaps(False)
    alone = parse_text("\n".join(GAPS.format(n=4).split("\n")[:15]))
    with pytest.raises(DiagnosticError, match="whole box"):
        Schedule(alone).cache_write("B", 0, "local")
    with pytest.raises(DiagnosticError, match="accumulates into B"):
        Schedule(func).cache_write("more", 0, "local")
    with pytest.raises(DiagnosticError, match="accumulates into B"):
        Schedule(func).compute_at("more", Schedule(func).get_loops("C")[0])


def test_layouts_of_views_are_those_of_their_buffers() -> None:
    """Guards a view whose accesses moved, and which itself stayed."""
    func = parse_text(SCOPES.format(n=5).replace(", offset_factor=1", ""))
    for block, text in (("outer", "a region of B is matched"), ("D", "b is a view of B")):
        with pytest.raises(DiagnosticError, match=text):
            Schedule(func).transform_layout(block, ("read", 0), lambda *i: i[::-1])


TWO_NAMES = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
    for i in range(4):
        with T.block("outer"):
            vo = T.axis.spatial(4, i)
            T.reads(A[vo, 0:8])
            T.writes(B[vo, 0:8])
            b = T.match_buffer(B[vo, 0:8], (8,), "float32", offset_factor=1)
            for j in range(8):
                with T.block("first"):
                    vj = T.axis.spatial(8, j)
                    b[vj] = A[vo, vj]
            for j in range(8):
                with T.block("second"):
                    vj = T.axis.spatial(8, j)
                    B[vo, vj] = B[vo, 7 - vj] + b[vj]
"""


def test_two_names_of_memory_that_changes() -> None:
    """Guards dependencies between blocks, which are told by names."""
    s = Schedule(parse_text(TWO_NAMES))
    with pytest.raises(DiagnosticError, match="blocks in block outer use"):
        s.merge(s.get_loops("first")[0], s.get_loops("second")[0])


POINTERS = """
@T.prim_func
def main(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8), "float32")):
    B = T.alloc_buffer((4, 8), "float32")
    for i, j in T.grid(4, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            T.reads(B[vi, 0:8])
            T.writes(C[vi, 0:8])
            {views}
            T.evaluate(T.call_extern("int32", "memcpy", {target}, {source}, 32))
"""
BY_VIEW = """b = T.match_buffer(B[vi, 0:8], (8,), "float32", offset_factor=1)
            c = T.match_buffer(C[vi, 0:8], (8,), "float32", offset_factor=1)"""
KINDS = {
    "view": {"views": BY_VIEW, "target": 'c.access_ptr("w")', "source": 'b.access_ptr("r")'},
    "buffer": {
        "views": "T.evaluate(0)",
        "target": 'C.access_ptr("w", offset=vi * 8)',
        "source": 'B.access_ptr("r", offset=vi * 8)',
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_that_pass_pointers_on(kind: str) -> None:
    """Guards what such blocks say that they access: their statements do not show it."""
    func = parse_text(POINTERS.format(**KINDS[kind]))

    def native(change: Callable[[Schedule], object]) -> Schedule:
        s = Schedule(func)
        change(s)
        assert check_prim_func(s.func) == []
        a, c = np.arange(32, dtype="float32").reshape(4, 8), np.zeros((4, 8), "float32")
        assert run_native(s.func, a, c) is None
        np.testing.assert_array_equal(c, a + 1)
        return s

    native(lambda s: None)
    native(lambda s: s.cache_read("C", 0, "local"))
    native(lambda s: s.set_scope("B", 0, "local"))
    native(lambda s: s.cache_write("B", 0, "local"))
    moved = native(lambda s: s.compute_at("B", s.get_loops("C")[0]))
    assert [loop.extent.value for loop in map(moved.get, moved.get_loops("B"))] == [4, 8]
    outer = native(lambda s: s.blockize(s.get_loops("C")[0]))
    assert [r.buffer.name for r in outer.get("C_o").reads] == ["B"]
    for refused in (
        lambda s: s.compute_inline("B"),
        lambda s: s.cache_write("C", 0, "local"),
        lambda s: s.reindex("C", ("read", 0)),
        lambda s: s.transform_layout("B", ("write", 0), lambda i, j: (j, i)),
    ):
        with pytest.raises(DiagnosticError, match=r"pointer|whole|view|matched"):
            refused(Schedule(func))
