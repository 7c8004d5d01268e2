"""What primitives demand of the values that axes take: all of them, none twice, in their order."""

from __future__ import annotations

import numpy as np
import pytest

from baton import tir
from baton._src.ir.structural import assert_structural_equal
from baton._src.support.diagnostics import ScheduleError
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton.script import from_source
from baton.script import tir as T


@T.prim_func
def every_second(A: T.Buffer((3, 8, 16), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((3, 8), "float32")):
    for t in range(3):
        for i, k in T.grid(4, 16):
            with T.block("C"):
                vt = T.axis.opaque(3, t)
                vi = T.axis.spatial(8, i * 2)
                vk = T.axis.reduce(16, k)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vt, vi, vk]
        for i in range(8):
            with T.block("D"):
                vt = T.axis.opaque(3, t)
                vi = T.axis.spatial(8, i)
                D[vt, vi] = C[vi]


@T.prim_func
def some(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            if A[vi] > T.float32(0):
                C[vi] = A[vi]


@pytest.mark.parametrize("func", [every_second, some])
def test_copies_are_of_what_is_stored(func: tir.PrimFunc) -> None:
    """Guards against copying back elements that the block left out: they were overwritten by what nobody had made."""
    with pytest.raises(ScheduleError, match="block C does not write a whole box of C"):
        tir.Schedule(func).cache_write("C", 0, "local")


@T.prim_func
def half_as_fast(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(16, 16):
        with T.block("C"):
            T.where(i // 2 < 4)
            vi = T.axis.spatial(4, i // 2)
            vk = T.axis.reduce(16, k)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def too_short(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 16):
        with T.block("C"):
            vi = T.axis.spatial(8, i // 2)
            vk = T.axis.reduce(16, k)
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vk]


@pytest.mark.parametrize("func", [half_as_fast, too_short])
def test_sums_that_begin_anew(func: tir.PrimFunc) -> None:
    """Guards against adding up twice what the block sums up anew in its next iteration."""
    s = tir.Schedule(func)
    with pytest.raises(ScheduleError, match="run block C more than once for the same axes"):
        s.decompose_reduction("C", s.get_loops("C")[0])


@T.prim_func
def under_half(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            T.where(i * 2 < 8)
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] + T.float32(1)


def test_conditions_that_look_like_those_of_domains() -> None:
    """Guards conditions against the size of a domain that are not those of its axis: they leave half of it out."""
    with pytest.raises(ScheduleError, match=r"block C runs under the condition .* only"):
        tir.Schedule(under_half).reverse_compute_inline("C")


@T.prim_func
def skewed(A: T.Buffer((9, 9), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("A"):
            vi = T.axis.scan(8, i)
            vj = T.axis.scan(8, j)
            A[vi + 1, vj] = A[vi, vj + 1] * T.float32(2) + T.float32(1)


def test_maps_of_axes_keep_their_order() -> None:
    """Guards blocks that go on from their earlier values against loops in another order."""
    s = tir.Schedule(skewed)
    for other in (lambda i, j: (j, i), lambda i, j: (i // 4, j, i % 4)):
        with pytest.raises(ScheduleError, match="the axis vi of block A goes on from its earlier values"):
            s.transform_block_layout("A", other)
    s.transform_block_layout("A", lambda i, j: (i * 8 + j,))
    s.transform_block_layout("A", lambda n: (n // 4, n % 4))
    given = np.arange(81, dtype="float32").reshape(9, 9)
    one, other = given.copy(), given.copy()
    run_prim_func(skewed, [one])
    run_prim_func(s.func, [other])
    np.testing.assert_array_equal(one, other)


@T.prim_func
def by_pointers(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8), "float32")
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            T.reads(A[vi, 0:8])
            T.writes(B[0:8, vi])
            T.evaluate(T.call_extern("int32", "column", A.access_ptr("r"), B.access_ptr("w", offset=vi)))
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            T.reads(B[vi, 0:8])
            T.writes(C[vi, 0:8])
            T.evaluate(T.call_extern("int32", "row", B.access_ptr("r", offset=vi * 8), C.access_ptr("w", offset=vi)))


def test_nests_that_meet_behind_pointers() -> None:
    """Guards merge against rows that are read before all columns are made, which only the blocks' regions tell."""
    s = tir.Schedule(by_pointers)
    with pytest.raises(ScheduleError, match="the nests meet in B"):
        s.merge(s.get_loops("B")[0], s.get_loops("C")[0])


def test_one_partition_is_no_sequence() -> None:
    """Guards the text of a loop that is partitioned into one part: it was read as another program."""
    s = tir.Schedule(some)
    s.loop_partition(s.get_loops("C")[0], [8])
    assert_structural_equal(from_source(s.func.script()), s.func)
