"""Kernels scheduled by a script: their memory lies where it is used, and LLVM may make vectors of their loops."""

from __future__ import annotations

import re

import numpy as np
import pytest

import baton
from baton import te, tir
from baton._src.lower.kernel_schedules.given_loops import with_compact_memory
from baton._src.tir.prim_func import PrimFunc
from baton.target import Target

N = 64


def product() -> tir.Schedule:
    a, b = te.placeholder((N, N), name="a"), te.placeholder((N, N), name="b")
    k = te.reduce_axis((0, N), "k")
    c = te.compute((N, N), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    return tir.Schedule(te.create_prim_func([a, b, c]))


def tiled(schedule: tir.Schedule) -> PrimFunc:
    """The tutorial's product: a tile is summed in memory of its own, rows on several threads."""
    block = schedule.get_block("c")
    write = schedule.cache_write(block, 0, "global")
    i, j, k = schedule.get_loops(block)
    (i0, i1), (j0, j1) = schedule.split(i, [None, 16]), schedule.split(j, [None, 32])
    schedule.reorder(i0, j0, i1, j1, k)
    schedule.reverse_compute_at(write, j0)
    k0, k1 = schedule.split(k, [None, 4])
    schedule.reorder(k0, i1, k1, j1)
    schedule.vectorize(j1)
    schedule.parallel(i0)
    schedule.decompose_reduction(block, k0)
    return schedule.mod["main"]


def run(kernel: PrimFunc, **options: str) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, N, N)).astype("float32")
    found = baton.nd.empty((N, N))
    baton.build(kernel, target=Target({"kind": "llvm", **options}))(baton.nd.array(a), baton.nd.array(b), found)
    np.testing.assert_allclose(found.numpy(), a @ b, rtol=1e-4, atol=1e-4)


def test_memory_of_a_tile() -> None:
    kernel = tiled(product())
    assert "c_global = T.alloc_buffer((64, 64))" in kernel.script()
    compact = with_compact_memory(kernel).script()
    assert "c_global = T.alloc_buffer((16, 32))" in compact
    assert compact.index("in T.parallel(4)") < compact.index("T.alloc_buffer")
    run(kernel)


def test_kernels_without_memory_stay() -> None:
    schedule = product()
    schedule.parallel(schedule.get_loops(schedule.get_block("c"))[0])
    kernel = schedule.mod["main"]
    assert with_compact_memory(kernel) is kernel
    run(kernel)


@pytest.mark.parametrize("move", [True, False])
def test_stages_read_with_an_offset(move: bool) -> None:
    """Rows that several readers share: what is accessed is more than one tile."""
    data = te.placeholder((40,), name="data")
    twice = te.compute((40,), lambda i: data[i] * 2.0, name="twice")
    summed = te.compute((32,), lambda i: twice[i] + twice[i + 3] + twice[i + 8], name="summed")
    schedule = tir.Schedule(te.create_prim_func([data, summed]))
    outer, _ = schedule.split(schedule.get_loops(schedule.get_block("summed"))[0], [None, 8])
    if move:
        schedule.compute_at(schedule.get_block("twice"), outer)
    schedule.parallel(outer)
    values, found = np.arange(40, dtype="float32"), baton.nd.empty((32,))
    baton.build(schedule.mod["main"], target="llvm")(baton.nd.array(values), found)
    np.testing.assert_array_equal(found.numpy(), 2 * (values[:32] + values[3:35] + values[8:]))


def test_plain_loops_become_vectors() -> None:
    """Sums of rows in the innermost loop, which the script left as it is."""
    schedule = product()
    block = schedule.get_block("c")
    i, j, k = schedule.get_loops(block)
    schedule.reorder(i, k, j)
    schedule.decompose_reduction(block, k)
    kernel = schedule.mod["main"]
    module = baton.build(kernel, target=Target({"kind": "llvm", "mcpu": "x86-64-v3", "mtriple": "x86_64-linux-gnu"}))
    assert re.search(r"vfmadd\w+ps\s|vaddps\s", module.get_source("asm"))
    run(kernel)


@pytest.mark.parametrize("change", ["split", "cache_write", "rfactor", "compute_at", "reverse_compute_at"])
@pytest.mark.parametrize("size", [0, None])
def test_reductions_over_nothing_begin(size: int | None, change: str) -> None:
    """Guards the first value of kernels with memory of their own: it was set where there was something to reduce."""
    n = te.var("n") if size is None else size
    data, k = te.placeholder((n, 4), name="data"), te.reduce_axis((0, n), "k")
    summed = te.compute((4,), lambda j: te.sum(data[k, j], axis=k), name="summed")
    more = te.compute((4,), lambda j: summed[j] + 1.0, name="more")
    schedule = tir.Schedule(te.create_prim_func([data, more]))
    block, reader = schedule.get_block("summed"), schedule.get_block("more")
    if change == "split":
        schedule.split(schedule.get_loops(reader)[0], [2, 2])
    elif change == "cache_write":
        schedule.cache_write(block, 0, "local")
    elif change == "rfactor":
        schedule.rfactor(schedule.split(schedule.get_loops(block)[1], [None, 4])[0], 0)
    elif change == "compute_at":
        schedule.compute_at(block, schedule.get_loops(reader)[0])
    else:
        schedule.reverse_compute_at(reader, schedule.get_loops(block)[0])
    found = baton.nd.array(np.full(4, 9, "float32"))
    baton.build(schedule.mod, target="llvm")["main"](baton.nd.empty((0, 4)), found)
    assert found.numpy().tolist() == [1.0] * 4
