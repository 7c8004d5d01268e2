"""Readers that go over more, or less, than the block they read makes: moved to that block they still store all theirs.

Random schedules found paddings without their border, and results written beyond their end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import te
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton.script import from_source
from tests.codegen.native_run import run_native


def twice(made: Any, read: Any) -> PrimFunc:
    """B = 2 A; C = B + 1, and 1 where B has no elements."""
    a = te.placeholder((made,), name="A")
    b = te.compute((made,), lambda i: a[i] * 2.0, name="B")
    return te.create_prim_func([a, te.compute((read,), lambda i: te.if_then_else(i < made, b[i], 0.0) + 1.0, name="C")])


def kernel(blocks: str) -> PrimFunc:
    """B of 8 elements is what lies between A and C."""
    head = '@T.prim_func\ndef f(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):\n'
    func = from_source(f"from tvm.script import tir as T\n{head}    B = T.alloc_buffer((8,))\n{blocks}")
    assert isinstance(func, PrimFunc)
    return func


def block(name: str, axis: str, body: str, steps: int = 8) -> str:
    return f"""
    for i in range({steps}):
        with T.block("{name}"):
            v = {axis}
            {body}
"""


ALL = "T.axis.spatial(8, i)"
MADE = block("B", ALL, "B[v] = A[v] * 2.0")


def same(before: PrimFunc, after: PrimFunc, *sizes: int) -> None:
    """C is the same, and what was in it stays where nothing is stored."""
    assert check_prim_func(after) == []
    arrays = [np.random.default_rng(1).random(size, np.float32) for size in sizes]
    expected, found, native = ([a.copy() for a in arrays] for _ in range(3))
    run_prim_func(before, expected)
    run_prim_func(after, found)
    assert run_native(after, *native, checked=True) is None
    np.testing.assert_allclose(found[-1], expected[-1], rtol=1e-6)
    np.testing.assert_allclose(native[-1], expected[-1], rtol=1e-6)


def moved(s: Schedule, step: str, name: str, producer: str) -> None:
    if step == "reverse_compute_at":
        s.reverse_compute_at(name, s.get_loops(producer)[-1])
    else:
        s.reverse_compute_inline(name)


def refused(func: PrimFunc, step: str, reason: str) -> None:
    s = Schedule(func)
    with pytest.raises(DiagnosticError, match=reason):
        moved(s, step, "C", "B")
    assert s.func is func


def sizes(made: int, read: int, symbolic: bool) -> tuple[Any, Any]:
    """The smaller one is n where it is symbolic."""
    if not symbolic:
        return made, read
    n = te.var("n")
    return (n, n + (read - made)) if made < read else (n + (made - read), n)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("step", ["reverse_compute_inline", "reverse_compute_at"])
def test_paddings_do_not_run_where_their_input_is_made(step: str, symbolic: bool) -> None:
    refused(twice(*sizes(5, 8, symbolic)), step, "goes over v_i from 0 to .*but block B stores")


@pytest.mark.parametrize("step", ["reverse_compute_inline", "reverse_compute_at"])
def test_paddings_of_copies(step: str) -> None:
    """Guards what `pad_einsum` makes: C reads a copy of A and B filled up to tiles."""
    a, b = te.placeholder((7, 5), name="A"), te.placeholder((5, 6), name="B")
    r = te.reduce_axis((0, 5), "k")
    s = Schedule(te.create_prim_func([a, b, te.compute((7, 6), lambda i, j: te.sum(a[i, r] * b[r, j], r), name="C")]))
    s.cache_read("C", 1, "local")
    s.pad_einsum("C", [2, 2, 4])
    with pytest.raises(DiagnosticError, match="what is computed of other elements would be lost"):
        moved(s, step, "B_local_pad", "B_local")


@pytest.mark.parametrize("symbolic", [False, True])
def test_readers_of_a_part_store_that_part(symbolic: bool) -> None:
    """They stored beyond the end of C; what follows takes the block as one that runs for all of its axis."""
    func = twice(*sizes(8, 5, symbolic))
    s = Schedule(func)
    s.reverse_compute_inline("C")
    same(func, s.func, 8, 5)
    s.cache_write("B", 0, "local")
    same(func, s.func, 8, 5)


@pytest.mark.parametrize("axis", ["T.axis.spatial((2, 6), i + 2)", "T.axis.spatial((0, 4), i)"])
def test_readers_that_begin_elsewhere(axis: str) -> None:
    func = kernel(MADE + block("C", axis, "C[v] = B[v] + 1.0", 4))
    s = Schedule(func)
    s.reverse_compute_inline("C")
    same(func, s.func, 8, 8)


def test_indices_made_of_parts_of_an_axis() -> None:
    """The block stores at v // 2, v % 2: together all places, of which the reader stores some."""
    a = te.placeholder((8,), name="A")
    b = te.compute((4, 2), lambda i, j: a[i * 2 + j] * 2.0, name="B")
    func = te.create_prim_func([a, te.compute((3, 2), lambda i, j: b[i, j] + 1.0, name="C")])
    s = Schedule(func)
    s.transform_block_layout("B", lambda i, j: (i * 2 + j,))
    s.reverse_compute_inline("C")
    assert "T.where" in s.func.script()
    arrays = [np.arange(8, dtype="float32"), np.zeros((3, 2), "float32")]
    assert run_native(s.func, *arrays, checked=True) is None
    np.testing.assert_array_equal(arrays[1].ravel(), arrays[0][:6] * 2 + 1)


REFUSED = {
    "a condition of the reader": (
        MADE + block("C", ALL, "T.where(i < 3)\n            C[v] = B[v]"),
        "under the condition",
    ),
    "loops over a part of the reader's axis": (
        MADE + block("C", ALL, "C[v] = B[v]", 3),
        "runs for a part of v only",
    ),
    "loops over a part of what is read": (
        block("B", ALL, "B[v] = A[v] * 2.0", 3) + block("C", ALL, "C[v] = T.if_then_else(v < 3, B[v], 1.0)"),
        "runs for a part of v only",
    ),
    "every second element is made": (
        block("B", "T.axis.spatial(4, i)", "B[v * 2] = A[v]", 4)
        + block("C", ALL, "C[v] = T.if_then_else(v % 2 == 0, B[v], 1.0)"),
        "may leave out elements of B",
    ),
}


@pytest.mark.parametrize("step", ["reverse_compute_inline", "reverse_compute_at"])
@pytest.mark.parametrize("case", REFUSED)
def test_parts_are_not_taken_for_the_whole(case: str, step: str) -> None:
    blocks, reason = REFUSED[case]
    refused(kernel(blocks), step, f"{reason}|runs under a condition")


def test_elements_read_at_two_places() -> None:
    """B[i, j] + B[j, i] became twice the first."""
    a = te.placeholder((5, 5), name="A")
    b = te.compute((5, 5), lambda i, j: a[i, j] * 2.0, name="B")
    func = te.create_prim_func([a, te.compute((5, 5), lambda i, j: b[i, j] + b[j, i], name="C")])
    refused(func, "reverse_compute_inline", "reads B at several places")


def test_axes_of_one_step_that_no_index_names() -> None:
    """Inlined, the value named an axis of a block that was gone."""
    rows = "for i, u in T.grid(8, 1):\n        with T.block('B'):\n            v, w = T.axis.remap('SS', [i, u])\n"
    after = block("C", ALL, "C[v] = B[v] + 1.0")
    func = kernel(f"    {rows}            B[v] = A[v + w]\n{after}")
    s = Schedule(func)
    s.compute_inline("B")
    same(func, s.func, 8, 8)
    many = kernel(f"    {rows.replace('8, 1', '8, 2')}            B[v] = A[T.min(v + w, 7)]\n{after}")
    with pytest.raises(DiagnosticError, match="several values in one element, over w"):
        Schedule(many).compute_inline("B")
