"""Blocks that store, or read, elements at a one-to-one map of their axes are inlined either way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import tir
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton.script import from_source
from baton.script import tir as T
from tests.codegen.native_run import run_native


@T.prim_func
def reshaped(A: T.Buffer((8, 8), "float32"), D: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((64,), "float32")
    C = T.alloc_buffer((16, 4), "float32")
    for i, j in T.grid(8, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * 8 + vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(16, 4):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi * 4 + vj] + T.float32(1)
    for i in range(64):
        with T.block("D"):
            vi = T.axis.spatial(64, i)
            D[vi] = C[vi // 4, vi % 4] * T.float32(3)


@pytest.mark.parametrize(
    "steps",
    [["B"], ["C"], ["B", "C"], ["C", "B"], ["~C"], ["~D"], ["~C", "~D"], ["~D", "~C"], ["B", "~D"], ["~C", "B"]],
)
def test_reshapes(steps: list[str]) -> None:
    """Guards inlining, and reverse inlining (~), through indices that are divided and put together."""
    s = tir.Schedule(reshaped)
    for step in steps:
        (s.reverse_compute_inline if step[0] == "~" else s.compute_inline)(step[-1])
    assert len(s.get_child_blocks("root")) == 3 - len(steps)
    keeps_the_meaning(s)


def keeps_the_meaning(s: tir.Schedule) -> None:
    """Interpreted and natively."""
    assert check_prim_func(s.func) == []
    draw = np.random.default_rng(2)
    given = [draw.standard_normal((8, 8)).astype("float32"), np.zeros(64, "float32")]
    after, native = [a.copy() for a in given], [a.copy() for a in given]
    run_prim_func(s.func, after)
    assert run_native(s.func, *native, checked=True) is None
    expected = (given[0].reshape(-1) * 2 + 1) * 3
    np.testing.assert_allclose(after[1], expected, rtol=1e-6)
    np.testing.assert_allclose(native[1], expected, rtol=1e-6)


def test_indices_are_simple() -> None:
    """Guards that a producer takes in what reads it at the producer's own axes."""
    s = tir.Schedule(reshaped)
    s.reverse_compute_inline("C")
    s.reverse_compute_inline("D")
    assert str(s.get("B").body.indices[0]) == "vi * 8 + vj"


TEMPLATE = """
@T.prim_func
def main(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
    B = T.alloc_buffer((32,), "float32")
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[{stored}] = A[vi]
    for i in range({count}):
        with T.block("C"):
            vi = T.axis.spatial({count}, i)
            C[vi] = B[{read}]
"""


@pytest.mark.parametrize(
    ("stored", "read", "count", "primitive", "why"),
    [
        ("vi // 2", "vi", 8, "compute_inline", "its indices are no map of its axes that can be inverted"),
        ("vi * vi", "vi", 16, "compute_inline", "its indices are no map of its axes that can be inverted"),
        ("vi", "vi // 2", 16, "reverse_compute_inline", "its indices are no map of its axes that can be inverted"),
        ("vi", "vi * 2", 8, "reverse_compute_inline", "its indices are no map of its axes that can be inverted"),
        ("vi * 2", "vi", 16, "reverse_compute_inline", "may leave out elements of B"),
    ],
)
def test_what_is_no_map(stored: str, read: str, count: int, primitive: str, why: str) -> None:
    """Guards elements that stand for several, or are left out."""
    s: Any = tir.Schedule(from_source(TEMPLATE.format(stored=stored, read=read, count=count)))
    with pytest.raises(DiagnosticError, match=why):
        getattr(s, primitive)("B" if primitive == "compute_inline" else "C")


def test_a_reader_of_a_part() -> None:
    """Guards what is stored and not read through the map: it would be computed for nothing to take it."""

    @T.prim_func
    def part(A: T.Buffer((24,), "float32"), C: T.Buffer((4, 4), "float32")):
        B = T.alloc_buffer((24,), "float32")
        for i in range(24):
            with T.block("B"):
                vi = T.axis.spatial(24, i)
                B[vi] = A[vi]
        for i, j in T.grid(4, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi * 4 + vj]

    with pytest.raises(DiagnosticError, match="reads B from 0 to 16, but block B stores from 0 to 24"):
        tir.Schedule(part).reverse_compute_inline("C")


def test_tiles_are_made_where_they_are_read() -> None:
    """Guards blocks that store at a one-to-one map of their axes: only what an iteration reads is made in it."""
    s = tir.Schedule(reshaped)
    s.compute_at("B", s.split(s.get_loops("C")[0], [None, 2])[0])
    s.reverse_compute_inline("D")
    assert [s.get(loop).extent.value for loop in s.get_loops("B")] == [8, 8]
    keeps_the_meaning(s)
