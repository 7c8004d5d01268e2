"""Copies and moved blocks stand where what they read is made, and hold no more than is there; else they are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import te, tir
from baton.script import tir as T


@T.prim_func
def matmul(A: T.Buffer((16, 12), "float32"), B: T.Buffer((12, 20), "float32"), C: T.Buffer((16, 20), "float32")):
    for i, j, k in T.grid(16, 20, 12):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def chain(A: T.Buffer((16, 20), "float32"), D: T.Buffer((16, 20), "float32"), F: T.Buffer((16, 20), "float32")):
    E = T.alloc_buffer((16, 20))
    for i, j in T.grid(16, 20):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 20):
        with T.block("F"):
            vi, vj = T.axis.remap("SS", [i, j])
            F[vi, vj] = E[vi, vj] + T.float32(1)
    for i, j in T.grid(16, 20):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(F[vi, vj], F[15 - vi, vj])


def run(kernel: Any) -> list[Any]:
    draws = np.random.default_rng(0)
    shapes = [tuple(int(d) for d in kernel.buffer_map[p].shape) for p in kernel.params]
    held = [tvm.nd.array(draws.standard_normal(s).astype("float32")) for s in shapes]
    tvm.build(kernel, target="llvm")(*held)
    return [h.numpy() for h in held]


def check(sch: Any, before: Any) -> None:
    for found, wanted in zip(run(sch.func), run(before)):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def test_copies_of_what_is_made_in_the_same_loop_are_made_in_it() -> None:
    sch = tir.Schedule(chain)
    i, _ = sch.get_loops("F")
    sch.compute_at("E", i)
    sch.cache_read("F", 0, "local")
    sch.cache_write("E", 0, "shared")
    check(sch, chain)


def test_copies_of_tiles_leave_the_rest_alone() -> None:
    sch = tir.Schedule(chain)
    i, j = sch.get_loops("F")
    i0, i1 = sch.split(i, [None, 4])
    j0, j1 = sch.split(j, [None, 5])
    sch.reorder(i0, j0, i1, j1)
    sch.blockize(i1)
    sch.cache_write("F", 0, "local")
    check(sch, chain)


def test_blocks_wait_for_what_they_read() -> None:
    sch = tir.Schedule(chain)
    with pytest.raises(tir.ScheduleError, match="reads more of F than an iteration makes"):
        sch.reverse_compute_at("D", sch.get_loops("F")[0])
    sch.compute_at("E", sch.get_loops("F")[0])
    sch.cache_read("E", 0, "local")
    with pytest.raises(tir.ScheduleError, match="may stand at the places 0 to 0"):
        sch.compute_at("A_local", sch.get_loops("F")[0], index=1)


def test_sums_that_go_on_are_not_copied() -> None:
    sch = tir.Schedule(matmul)
    i, _, k = sch.get_loops("C")
    sch.decompose_reduction("C", k)
    assert sch.get_block("C_update").name == "C_update"
    assert [r.buffer.name for r in sch.get("C_update").reads] == ["C", "A", "B"]
    for primitive in (sch.cache_read, sch.cache_write):
        with pytest.raises(tir.ScheduleError):
            primitive("C_update", 0, "local")
    with pytest.raises(tir.ScheduleError, match="is a parameter"):
        sch.set_scope("C_update", 0, "shared")
    sch.parallel(i)
    assert "T.seq" not in sch.func.script()
    check(sch, matmul)


def test_one_loop_over_a_sum_and_an_axis_starts_every_sum() -> None:
    sch = tir.Schedule(matmul)
    _, j, k = sch.get_loops("C")
    sch.fuse(j, k)
    check(sch, matmul)


def test_axes_are_bound_to_sums_of_loops() -> None:
    sch = tir.Schedule(matmul)
    i, j, _ = sch.get_loops("C")
    sch.split(i, [2, 4, 2])
    sch.split(j, [None, 7])
    text = sch.func.script()
    assert "vi = T.axis.spatial(16, i_0 * 8 + i_1 * 2 + i_2)" in text
    assert "T.where(j_0 * 7 + j_1 < 20)" in text


def test_reductions_are_no_elementwise_blocks() -> None:
    rows = te.placeholder((4, 8), name="rows")
    doubled = te.compute((4, 8), lambda i, j: rows[i, j] * 2.0, name="doubled")
    k = te.reduce_axis((0, 8), "k")
    total = te.compute((4,), lambda i: te.sum(doubled[i, k], axis=k), name="total")
    with pytest.raises(tir.ScheduleError, match="is a reduction"):
        tir.Schedule(te.create_prim_func([rows, total])).reverse_compute_inline("total")


def test_reads_under_a_condition_are_not_copied_without_it() -> None:
    rows = te.placeholder((4,), name="rows")
    padded = te.compute((6,), lambda i: te.if_then_else(te.all(i >= 1, i < 5), rows[i - 1], 0.0), name="padded")
    with pytest.raises(tir.ScheduleError, match="at places outside of it"):
        tir.Schedule(te.create_prim_func([rows, padded])).reindex("padded", ("read", 0))


def test_reducers_combine_values_and_calls_are_statements() -> None:
    rows = te.placeholder((4,), name="rows")
    inside = te.compute((4,), lambda i: te.if_then_else(te.all(i >= 1, i < 3), te.max(rows[i], 0), te.min(rows[i], 9)))
    held = [tvm.nd.array(np.array([-1, -2, 3, 40], "float32")), tvm.nd.empty((4,))]
    tvm.build(te.create_prim_func([rows, inside]))(*held)
    assert held[1].numpy().tolist() == [-1, 0, 3, 9]
    called = te.extern((4,), [rows], lambda ins, outs: tir.call_packed("somebody", ins[0], outs[0]), name="out")
    assert 'T.call_packed("somebody"' in te.create_prim_func([rows, called]).script()
