"""Loops around several blocks are reordered if no block then uses what another one has not made yet; what reads memory
on the way to a block stays where its place exists.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.traverse import rewrite
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.schedule.schedule import Schedule
from baton.script import tir as T


@T.prim_func
def diagonal(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(vi > 0 and vj < 7, B[vi - 1, vj + 1], T.float32(0))


@T.prim_func
def same_place(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)


@T.prim_func
def row_above(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 8))
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.if_then_else(vi > 0, B[vi - 1, vj], T.float32(0))


@T.prim_func
def window(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32")):
    B = T.alloc_buffer((8, 10))
    for i, j in T.grid(8, 8):
        for k in range(3):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(10, j + k)
                B[vi, vj] = T.if_then_else(vj < 8, A[vi, vj], T.float32(0))
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + B[vi, vj + 1] + B[vi, vj + 2]


def outcome(func: Any) -> Any:
    found = np.zeros((8, 8), "float32")
    run_prim_func(func, [np.arange(64, dtype="float32").reshape(8, 8), found])
    return found


def reordered(func: Any) -> Any:
    schedule = Schedule(func)
    outer, inner = schedule.get_loops("C")[:2]
    schedule.reorder(inner, outer)
    return schedule.func


def test_a_block_that_needs_a_later_iteration_is_refused() -> None:
    """Guards C[i, j] = B[i - 1, j + 1] beside B[i, j]: with the loops interchanged it read what nobody had written."""
    with pytest.raises(DiagnosticError, match="block C uses elements of B that block B stores in another iteration"):
        reordered(diagonal)


@pytest.mark.parametrize("func", [same_place, row_above, window], ids=["same place", "row above", "window"])
def test_blocks_that_keep_their_order_are_reordered(func: Any) -> None:
    """Guards what is right: one loop separates the blocks, none does, or each iteration makes what it needs."""
    made = reordered(func)
    np.testing.assert_array_equal(outcome(made), outcome(func))


@T.prim_func
def rows(P: T.Buffer((11,), "int32"), V: T.Buffer((20,), "float32"), C: T.Buffer((10,), "float32")):
    for i in range(10):
        for k in range(P[i + 1] - P[i]):
            with T.block("C"):
                T.reads()
                T.writes()
                C[i] = C[i] + V[P[i] + k]


def test_bounds_that_are_read_are_not_read_beyond_the_end() -> None:
    """Guards a split loop around one whose extent is read: it was read for iterations that there are not."""
    schedule = Schedule(rows)
    schedule.split(schedule.get_loops("C")[0], [None, 4])
    found = np.zeros(10, "float32")
    run_prim_func(schedule.func, [np.arange(11, dtype="int32") * 2, np.ones(20, "float32"), found])
    np.testing.assert_array_equal(found, 2)


@T.prim_func
def squares(A: T.Buffer((8,), "float32"), C: T.Buffer((7,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi]
    for i in range(7):
        with T.block("C"):
            vi = T.axis.spatial(7, i)
            C[vi] = B[vi] + B[vi + 1]


def test_names_of_values_are_inlined_once_for_each_reader() -> None:
    """Guards `let`: the variable of the inlined block was defined twice, which is refused when it is compiled."""

    def named(node: Any) -> Any:
        if not (isinstance(node, st.BufferStore) and node.buffer.name == "B"):
            return None
        var = tir.Var("v", "float32")
        return node.with_fields(value=tir.Let(var, node.value, var * var))

    schedule = Schedule(squares.with_fields(body=rewrite(squares.body, named)))
    schedule.compute_inline("B")
    assert not check_prim_func(schedule.func)
    a, found = np.arange(8, dtype="float32"), np.zeros(7, "float32")
    run_prim_func(schedule.func, [a, found])
    np.testing.assert_array_equal(found, a[:-1] ** 2 + a[1:] ** 2)


def test_layouts_with_padding_are_one_to_one_for_readers_too() -> None:
    """Guards (i + j,) for a block that reads the buffer: with a pad value nobody asked whether two elements met."""
    with pytest.raises(DiagnosticError, match="not one to one"):
        Schedule(same_place).transform_layout("C", ("read", 0), lambda i, j: (i + j,), pad_value=0.0)
