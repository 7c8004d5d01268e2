"""Axes in pieces: borders, repetitions and conditions along the last axis, against NumPy; accesses checked."""

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
from baton._src.tir import operators as ops
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import For, ForKind
from tests.codegen.native_run import HOST, build, call, random_array

WIDE = 40


def reflected(i: Any) -> Any:
    inner = tir.Select(i < 5, 5 - i, i - 5)
    return tir.Select(inner > WIDE - 1, 2 * (WIDE - 1) - inner, inner)


CASES: dict[str, tuple[int, Any, Any]] = {
    "mirrored": (50, lambda a, r, i: a[r, reflected(i)], lambda x: np.pad(x, ((0, 0), (5, 5)), mode="reflect")),
    "repeated": (3 * WIDE, lambda a, r, i: a[r, i % WIDE], lambda x: np.tile(x, (1, 3))),
    "rolled": (WIDE, lambda a, r, i: a[r, (i + 33) % WIDE] * a[r, i], lambda x: np.roll(x, 7, 1) * x),
    "padded": (
        50,
        lambda a, r, i: if_then_else(tir.And(i >= 3, i < WIDE + 3), a[r, i - 3], 7.0),
        lambda x: np.pad(x, ((0, 0), (3, 7)), constant_values=7),
    ),
    "stepped": (WIDE, lambda a, r, i: a[r, i // 20 * 20 + (i % 20)], lambda x: x),
    "every second": (2 * WIDE, lambda a, r, i: a[r, i // 2], lambda x: np.repeat(x, 2, 1)),
    "turned": (WIDE, lambda a, r, i: a[r, WIDE - 1 - i], lambda x: x[:, ::-1]),
}
PIECES = {"mirrored": 3, "repeated": 3, "rolled": 2, "padded": 3, "every second": 1, "turned": 1}


def within(index: Any) -> Any:
    return ops.max(0, ops.min(index, WIDE - 1))


STAIRS: dict[str, tuple[int, Any, int]] = {
    "between": (2 * WIDE, lambda i: (within((i + 1) // 2 - 1), within((i + 1) // 2)), 3),
    "between four": (4 * WIDE, lambda i: (within((i + 2) // 4 - 1), within((i + 2) // 4)), 3),
    "threes": (3 * WIDE, lambda i: (within(i // 3), within(i // 3 + 1)), 2),
    "downwards": (4 * WIDE, lambda i: (WIDE - 1 - i // 4, within(i // 4 + 1)), 2),
    "by two": (2 * WIDE, lambda i: (i // 4 * 2, within(i // 4 * 2 + 1)), 1),
    "of two heights": (4 * WIDE, lambda i: (i // 4, within(i // 2)), 2),
    "among others": (3 * WIDE, lambda i: (tir.Select(i < WIDE, i, (i - WIDE) // 2), within(i - 10)), 4),
    "cut in a step": (2 * WIDE, lambda i: (i // 20, within(i - 45)), 5),
    "out of step": (2 * WIDE, lambda i: (i // 2, within((i + 1) // 2)), 1),
}
"""The extent, the places of two factors, and the pieces."""


def vector_loops(func: PrimFunc) -> int:
    return sum(isinstance(n, For) and n.kind is ForKind.VECTORIZED for n in post_order(func.body))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", [HOST, Target("llvm -mcpu=x86-64")], ids=["host", "sse"])
def test_pieces_store_what_the_axis_does(name: str, target: Target) -> None:
    """Guards where pieces begin and end, and that nothing outside of the data is read."""
    extent, value, wanted = CASES[name]
    a = placeholder((6, WIDE), "float32", "a")
    func = create_prim_func([a, compute((6, extent), lambda r, i: value(a, r, i), "p")])
    decision = decide(func, target)
    assert decision.rule == "rows"
    if name in PIECES:
        assert vector_loops(decision.func) == PIECES[name]
    data, out = random_array((6, WIDE), "float32", 1), np.zeros((6, extent), "float32")
    assert call(build(decision.func, target, checked=True), decision.func, data, out) is None
    np.testing.assert_array_equal(out, wanted(data))


@pytest.mark.parametrize("name", STAIRS)
@pytest.mark.parametrize("target", [HOST, Target("llvm -mcpu=x86-64")], ids=["host", "sse"])
def test_places_that_last(name: str, target: Target) -> None:
    """Guards indices that grow every few iterations: where their steps begin, how long they last, and borders."""
    extent, places, pieces = STAIRS[name]
    a = placeholder((6, WIDE), "float32", "a")
    product = compute((6, extent), lambda r, i: a[r, places(i)[0]] * a[r, places(i)[1]], "p")
    decision = decide(create_prim_func([a, product]), target)
    assert vector_loops(decision.func) == pieces
    i = tir.Var("i", "int32")
    first, second = ([evaluate(place, {i: n}) for n in range(extent)] for place in places(i))
    data, out = random_array((6, WIDE), "float32", 1), np.zeros((6, extent), "float32")
    assert call(build(decision.func, target, checked=True), decision.func, data, out) is None
    np.testing.assert_array_equal(out, data[:, first] * data[:, second])


def test_limits_that_nothing_meets() -> None:
    """Guards an axis of one piece (an image enlarged by a whole factor, with places kept within it): limits that no
    place meets are gone, so that neighbours are loaded as a run and repeated.
    """
    a = placeholder((6, WIDE), "float32", "a")
    func = create_prim_func([a, compute((6, 2 * WIDE), lambda r, i: a[r, within(i // 2)], "p")])
    decision = decide(func, HOST)
    assert not any(isinstance(node, (tir.Min, tir.Max)) for node in post_order(decision.func.body))
    data, out = random_array((6, WIDE), "float32", 1), np.zeros((6, 2 * WIDE), "float32")
    assert call(build(decision.func, HOST, checked=True), decision.func, data, out) is None
    np.testing.assert_array_equal(out, np.repeat(data, 2, 1))


def test_long_axes() -> None:
    """Guards rows of many thousand elements that are joined: each part is a loop, nothing is asked for each vector."""
    a, b = (placeholder((2, extent), "float32", name) for extent, name in ((8192, "a"), (4100, "b")))
    joined = compute((2, 12292), lambda r, i: if_then_else(i >= 8192, b[r, i - 8192], a[r, i]), "joined")
    decision = decide(create_prim_func([a, b, joined]), HOST)
    assert vector_loops(decision.func) == 2
    first, second = random_array((2, 8192), "float32", 1), random_array((2, 4100), "float32", 2)
    out = np.zeros((2, 12292), "float32")
    assert call(build(decision.func, HOST, checked=True), decision.func, first, second, out) is None
    np.testing.assert_array_equal(out, np.concatenate([first, second], 1))
