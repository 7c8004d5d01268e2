"""Buffers of parallel loops: which are made for each iteration, and that iterations then keep out of each other's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.traverse import post_order
from baton._src.passes.tir.lowering.private_memory import with_private_buffers
from baton._src.tir import stmt as st
from baton._src.tir.analysis.check import verify_well_formed
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton.script import tir as T
from tests.codegen.native_run import run_native


@T.prim_func
def reversed_rows(A: T.Buffer((16, 64), "float32"), B: T.Buffer((16, 64), "float32")):
    tmp = T.alloc_buffer((64,))
    for i in T.parallel(16):
        for j in range(64):
            tmp[j] = A[i, j] * T.float32(2)
        for j in range(64):
            B[i, j] = tmp[63 - j]


@T.prim_func
def reversed_rows_in_blocks(A: T.Buffer((16, 64), "float32"), B: T.Buffer((16, 64), "float32")):
    tmp = T.alloc_buffer((64,))
    for i in T.parallel(16):
        for j in range(64):
            with T.block("tmp"):
                vi, vj = T.axis.remap("SS", [i, j])
                tmp[vj] = A[vi, vj] * T.float32(2)
        for j in range(64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = tmp[63 - vj]


@T.prim_func
def rows_apart(A: T.Buffer((16, 64), "float32"), B: T.Buffer((16, 64), "float32")):
    tmp = T.alloc_buffer((16, 64))
    for i in T.parallel(16):
        for j in range(64):
            with T.block("tmp"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial(64, j)
                tmp[15 - vi, vj] = A[vi, vj] * T.float32(2)
        for j in range(64):
            B[i, j] = tmp[15 - i, 63 - j]


@T.prim_func
def rows_of_all_before(A: T.Buffer((16, 64), "float32"), B: T.Buffer((16, 64), "float32")):
    tmp, copy = T.alloc_buffer((16, 64)), T.alloc_buffer((16, 64))
    for i in T.parallel(16):
        for j in range(64):
            tmp[i, j] = A[i, j] * T.float32(2)
        for k, j in T.grid(16, 64):
            copy[k, j] = tmp[k, j]
        for k, j in T.grid(16, 64):
            tmp[k, j] = copy[k, j]
        for j in range(64):
            B[i, j] = tmp[i, 63 - j]


def test_what_earlier_iterations_stored_is_not_made_anew() -> None:
    """Guards buffers that are read before the iteration has stored all that is read: later stores do not count, and
    the iterations run in turn."""
    made = with_private_buffers(rows_of_all_before.body)
    (loop,) = (n for n in post_order(made) if isinstance(n, st.For) and n.loop_var.name == "i")
    assert loop.kind is st.ForKind.SERIAL
    inside = [b.name for n in post_order(loop) if isinstance(n, st.Block) for b in n.alloc_buffers]
    assert inside == ["copy"]


@pytest.mark.parametrize(
    ("func", "inside"), [(reversed_rows, True), (reversed_rows_in_blocks, True), (rows_apart, False)]
)
def test_each_iteration_has_memory_of_its_own(func: Any, inside: bool) -> None:
    """Threads shared one row, and read what another had stored: results were now and then wrong."""
    made = func.with_fields(body=with_private_buffers(func.body))
    verify_well_formed(made)
    (loop,) = (n for n in post_order(made.body) if isinstance(n, st.For) and n.kind is st.ForKind.PARALLEL)
    assert any(isinstance(n, st.Block) and n.alloc_buffers for n in post_order(loop)) is inside
    assert (made.body is func.body) is not inside
    a, b = np.random.default_rng(0).random((16, 64), np.float32), np.zeros((16, 64), np.float32)
    run_prim_func(made, [a, b])
    np.testing.assert_array_equal(b, 2 * a[:, ::-1])
    run_native(func, a, b)
    np.testing.assert_array_equal(b, 2 * a[:, ::-1])


@T.prim_func
def tails_of_others(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    tmp = T.alloc_buffer((20,))
    for i in T.parallel(16):
        for j in range(4):
            if A[i] > T.float32(0.5) or j < 2:
                tmp[i + j] = A[i]
        B[i] = tmp[i] + tmp[i + 1]


def test_iterations_that_may_share_run_in_turn() -> None:
    """Guards scratch memory that is not proved to be filled before it is read: threads wrote it at the same time."""
    made = tails_of_others.with_fields(body=with_private_buffers(tails_of_others.body))
    verify_well_formed(made)
    assert not any(isinstance(n, st.For) and n.kind is st.ForKind.PARALLEL for n in post_order(made.body))
    a, b = np.random.default_rng(0).random(16, np.float32), np.zeros(16, np.float32)
    run_prim_func(made, [a, b])
    np.testing.assert_array_equal(b, 2 * a)
    run_native(tails_of_others, a, b)
    np.testing.assert_array_equal(b, 2 * a)
