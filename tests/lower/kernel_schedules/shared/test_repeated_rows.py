"""Rows that are repeated, of known and open extents, against NumPy; accesses checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir.stmt import For, ForKind
from tests.codegen.native_run import HOST, build, call, random_array

TARGETS = [HOST, Target("llvm -num-cores=2"), Target("llvm -mcpu=x86-64")]


@pytest.mark.parametrize("target", TARGETS, ids=["host", "threads", "sse"])
@pytest.mark.parametrize("times", [2, 3, 8, 9])
@pytest.mark.parametrize("is_open", [False, True])
def test_images(is_open: bool, times: int, target: Target) -> None:
    """Guards what is repeated along lines and columns, by few and by many."""
    h, w = (tir.Var("h", "int64"), tir.Var("w", "int64")) if is_open else (9, 7)
    a = placeholder((40, h, w), "float32", "a")
    func = create_prim_func(
        [a, compute((40, h * times, w * times), lambda c, i, j: a[c, i // times, j // times] + 1.0, "b")]
    )
    x = random_array((40, 9, 7), "float32", 1)
    out = np.zeros((40, 9 * times, 7 * times), "float32")
    scheduled = decide(func, target).func
    assert call(build(scheduled, target, checked=True), scheduled, x, out) is None
    np.testing.assert_array_equal(out, x.repeat(times, 1).repeat(times, 2) + 1)


@pytest.mark.parametrize("target", TARGETS, ids=["host", "threads", "sse"])
def test_volumes(target: Target) -> None:
    """Guards several axes of repeated rows, one of which does not end with a whole element."""
    a = placeholder((3, 4, 5, 6), "float32", "a")
    func = create_prim_func(
        [a, compute((3, 8, 9, 12), lambda c, d, i, j: a[c, d // 2, i // 2, j // 2] * a[c, d // 2, i // 2, 0], "b")]
    )
    x, out = random_array((3, 4, 5, 6), "float32", 1), np.zeros((3, 8, 9, 12), "float32")
    scheduled = decide(func, target).func
    assert call(build(scheduled, target, checked=True), scheduled, x, out) is None
    wanted = x.repeat(2, 1).repeat(2, 2)[:, :, :9].repeat(2, 3)
    np.testing.assert_array_equal(out, wanted * wanted[..., :1])


@pytest.mark.parametrize(
    ("value", "loops"),
    [(lambda a, i, j: a[i // 2, j], 2), (lambda a, i, j: a[i // 2, j] * (i + 1.0), 1), (lambda a, i, j: a[i, j], 1)],
)
def test_one_loop_for_all_repeated_rows(value: Any, loops: int) -> None:
    """Guards that repeated rows are a loop inside (256 x 14 x 14 by 2: 32 to 19 us), and others are not."""
    a = placeholder((12, 33), "float32", "a")
    func = create_prim_func([a, compute((12, 33), lambda i, j: value(a, i, j), "b")])
    found = [n for n in post_order(decide(func, HOST).func.body) if isinstance(n, For)]
    assert len([n for n in found if n.kind is not ForKind.VECTORIZED]) <= loops
    assert any(n.extent.value == 2 for n in found if isinstance(n.extent, tir.IntImm)) == (loops == 2)
