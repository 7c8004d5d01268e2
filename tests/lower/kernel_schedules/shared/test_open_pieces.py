"""Axes of open size in pieces: repetitions, borders, choices by sizes, against NumPy; accesses checked."""

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
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import For, ForKind
from tests.codegen.native_run import HOST, build, call, random_array

N, M = (tir.Var(name, "int64") for name in "nm")
SIZES = (1, 2, 3, 15, 16, 17, 40, 100)


def mirrored(i: Any, width: int) -> Any:
    place, period = ops.floormod(i - width, ops.max(2 * (N - 1), 1)), ops.max(2 * (N - 1), 1)
    again = ops.min(place, period - place)
    below = tir.Select(i - width < 0, width - i, i - width)
    once = tir.Select(below > N - 1, 2 * (N - 1) - below, below)
    return tir.Select(width <= N - 1, once, again)


def turning(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x[:, 7 % x.shape[1] :], x[:, : 7 % x.shape[1]]], 1)


Case = tuple[Any, Any, Any, int | None, int]
CASES: dict[str, Case] = {
    "repeated": (N * 8, lambda a, r, i: a[r, i % N], lambda x: np.tile(x, (1, 8)), 1, 0),
    "repeated, rows too": (N * 3, lambda a, r, i: a[(r + 5) % 6, i % N], lambda x: np.roll(np.tile(x, 3), 1, 0), 1, 0),
    "rolled": (N, lambda a, r, i: a[r, (i + 7) % N], turning, 1, 1),
    "mirrored": (
        N + 8,
        lambda a, r, i: a[r, mirrored(i, 4)],
        lambda x: np.pad(x, ((0, 0), (4, 4)), "reflect"),
        None,
        1,
    ),
    "edges": (
        N + 5,
        lambda a, r, i: a[r, ops.max(0, ops.min(i - 3, N - 1))],
        lambda x: np.pad(x, ((0, 0), (3, 2)), "edge"),
        3,
        1,
    ),
    "padded behind edges": (
        N + 9,
        lambda a, r, i: if_then_else(i < N + 4, a[r, ops.max(i - 4, 0)], 7.0),
        lambda x: np.pad(np.pad(x, ((0, 0), (4, 0)), "edge"), ((0, 0), (0, 5)), constant_values=7),
        3,
        1,
    ),
    "stretched if one": (
        N,
        lambda a, r, i: a[r, tir.Select(N == 1, 0, i)] + a[r, tir.Select(N == 1, 0, N - 1 - i)],
        lambda x: x + x[:, ::-1],
        2,
        0,
    ),
    "one apart": (
        N,
        lambda a, r, i: a[r, tir.Select(i == 5, 0, i)],
        lambda x: np.where(np.arange(x.shape[1]) == 5, x[:, :1], x),
        3,
        0,
    ),
    "of two steps": (
        N * 2,
        lambda a, r, i: a[r, ops.min(2 * i, 4 * N - 2 - 2 * i) // 2],
        lambda x: np.concatenate([x, x[:, ::-1]], 1),
        2,
        0,
    ),
    "two divisors": (
        N * 2,
        lambda a, r, i: a[r, i % N] + a[r, i % 24 % N],
        lambda x: np.tile(x, 2) + x[:, np.arange(2 * x.shape[1]) % 24 % x.shape[1]],
        1,
        1,
    ),
    "known runs": (N, lambda a, r, i: a[r, ops.min(i % 20 + i // 20 * 20, N - 1)], lambda x: x, None, 0),
}
"""The extent, an element, NumPy's, how many loops (None: any number), and the least size."""


def made(name: str, rows: Any) -> PrimFunc:
    extent, value, *_ = CASES[name]
    a = placeholder((6, N), "float32", "a")
    return create_prim_func([a, compute((rows, extent), lambda r, i: value(a, r, i), "p")])


def vector_loops(func: PrimFunc) -> int:
    return sum(isinstance(n, For) and n.kind is ForKind.VECTORIZED for n in post_order(func.body))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("target", [HOST, Target("llvm -mcpu=x86-64")], ids=["host", "sse"])
def test_pieces_store_what_the_axis_does(name: str, target: Target) -> None:
    """Guards where pieces begin and end at any size, and that nothing outside of the data is read or written."""
    _, _, wanted, loops, least = CASES[name]
    func = made(name, 6)
    decision = decide(func, target)
    assert decision.rule == "rows"
    assert loops is None or vector_loops(decision.func) == loops
    library = build(decision.func, target, checked=True)
    for size in (0, *SIZES) if not least else SIZES:
        data = random_array((6, size), "float32", 1)
        expected = np.ascontiguousarray(wanted(data))
        memory = np.full(expected.size + 64, 9, "float32")
        assert call(library, decision.func, data, memory[: expected.size].reshape(expected.shape)) is None
        np.testing.assert_array_equal(memory[: expected.size].reshape(expected.shape), expected, str(size))
        assert (memory[expected.size :] == 9).all()


def test_a_place_of_unknown_sign() -> None:
    """Guards that only sizes are taken to be nonnegative: pieces may end before the axis begins, or behind it."""
    a, place = placeholder((6, N), "float32", "a"), tir.Var("place", "int64")
    value = compute((6, N), lambda r, i: a[r, tir.Select(i < place, N - 1 - i, i)], "p")
    decision = decide(create_prim_func([a, place, value]), HOST)
    assert vector_loops(decision.func) == 2
    library, data = build(decision.func, checked=True), random_array((6, 40), "float32", 1)
    for border in (-100, -1, 0, 1, 17, 39, 40, 41, 100):
        out = np.zeros_like(data)
        assert call(library, decision.func, data, border, out) is None
        np.testing.assert_array_equal(out, np.where(np.arange(40) < border, data[:, ::-1], data))


def test_flat_axes_are_cut_in_each_chunk() -> None:
    """Guards tensors of one axis, which threads share in chunks that begin anywhere in a run."""
    a = placeholder((N,), "float32", "a")
    decision = decide(create_prim_func([a, compute((N * 300,), lambda i: a[i % N], "p")]), Target("llvm -num-cores=2"))
    assert not any(isinstance(n, tir.FloorMod) for loop in vectorized(decision.func) for n in post_order(loop))
    library = build(decision.func, checked=True)
    for size in (1, 3, 100, 5000):
        data, out = random_array((size,), "float32", 1), np.zeros(size * 300, "float32")
        assert call(library, decision.func, data, out) is None
        np.testing.assert_array_equal(out, np.tile(data, 300))


def vectorized(func: PrimFunc) -> list[For]:
    return [n for n in post_order(func.body) if isinstance(n, For) and n.kind is ForKind.VECTORIZED]
