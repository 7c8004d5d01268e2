"""Loops marked as vectorised whose iterations need each other's results: they stay loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import nd
from baton._src.passes.tir.vector_order import lanes_need_each_other
from baton._src.tir import expr as tir
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.stmt import BufferStore, For, ForKind
from baton.script import tir as T


@T.prim_func
def running_sum(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.vectorized(63):
        B[i + 1] = B[i] + A[i]


@T.prim_func
def two_apart(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.vectorized(60):
        B[i + 2] = B[i] * A[i]


@T.prim_func
def over_the_first(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.vectorized(64):
        B[i] = B[i] / B[0] + A[i]


@T.prim_func
def mirrored(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.vectorized(8):
        B[i] = B[7 - i] + A[i]


@T.prim_func
def read_after(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.vectorized(63):
        B[i] = A[i]
        A[i] = B[i + 1]


@T.prim_func
def written_twice(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.vectorized(63):
        B[i] = A[i]
        B[i + 1] = A[i] * T.float32(2)


@T.prim_func
def again_and_again(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.vectorized(32):
        for k in range(3):
            B[i] = B[i + 1] + A[k]


@T.prim_func
def counted(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for _ in T.vectorized(16):
        B[3] = B[3] + T.float32(1)


@T.prim_func
def in_turn(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for _ in T.vectorized(16):
        A[1] = B[0]
        B[0] = A[1] + T.float32(2)


@T.prim_func
def held(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.vectorized(16):
        B[40] = A[40]
        B[i] = B[40] + A[i]


@T.prim_func
def moved_down(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.vectorized(63):
        B[i] = B[i + 1] + A[i]


@T.prim_func
def far_apart(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.vectorized(16):
        B[i + 32] = B[i] + A[i]
        B[i + 16] = B[i] * A[i]


@T.prim_func
def summed(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in T.vectorized(16):
        B[i] = T.float32(0)
        for k in range(4):
            B[i] = B[i] + A[i * 4 + k]


NEEDING = [
    running_sum,
    two_apart,
    over_the_first,
    mirrored,
    read_after,
    written_twice,
    again_and_again,
    counted,
    in_turn,
]
FREE = [moved_down, far_apart, summed, held]


@pytest.mark.parametrize("func", [*NEEDING, *FREE])
def test_marks_keep_what_a_kernel_computes(func: Any) -> None:
    """Guards native code against the interpreter: vectors read elements before they were written, or after."""
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(1, 2, 64).astype("float32") for _ in range(2)]
    wanted = [a.copy() for a in arrays]
    run_prim_func(func, wanted)
    given = [nd.array(a) for a in arrays]
    baton.build(func)(*given)
    for found, expected in zip(given, wanted):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5)


def test_one_place_of_all_lanes_may_be_one_index() -> None:
    """Guards B[3] = B[3] + 1 made of one literal: two places with the index of each lane are the same otherwise."""
    buffer, place = decl_buffer((8,), "int32", "B"), tir.IntImm("int32", 3)
    store = BufferStore(buffer, tir.BufferLoad(buffer, [place]) + 1, [place])
    assert lanes_need_each_other(For(tir.Var("i"), 0, 8, ForKind.VECTORIZED, store), 8)


@pytest.mark.parametrize("func", [*NEEDING, *FREE])
def test_only_loops_that_need_it_stay_loops(func: Any) -> None:
    """Guards the speed of the others: a distance of a vector or more, a load in front of the store, are no matter."""
    loop = func.body
    while not isinstance(loop, For):
        loop = loop.block.body if hasattr(loop, "block") else loop.body
    assert lanes_need_each_other(loop, 8) is (func in NEEDING)
