"""Stacked values are interleaved by shuffles: two to eight, tails, flat indices of a reshape, any number of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules import rows
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.expr import Shuffle, Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.tensor import AnyArray
from tests.codegen.native_run import HOST, build, call, random_array

TARGETS = {"one": HOST, "threads": Target("llvm -num-cores=4"), "sse": Target("llvm -mcpu=x86-64")}


def scheduled(func: PrimFunc, target: Target) -> PrimFunc:
    """The kernel by the general rule, which has to shuffle."""
    found = rows.apply(func, target)
    assert isinstance(found, PrimFunc)
    assert any(isinstance(n, Shuffle) for n in post_order(found.body))
    return found


def pairs_product(x: AnyArray, y: AnyArray) -> AnyArray:
    """The product of complex numbers, whose parts are the last axis."""
    a, b = (v[..., 0] + 1j * v[..., 1] for v in (x, y))
    return np.stack([(a * b).real, (a * b).imag], -1)


def parts(x: Any, y: Any, *i: Any) -> tuple[Any, Any]:
    """Real and imaginary part of the product of complex numbers at a place."""
    return x(*i, 0) * y(*i, 0) - x(*i, 1) * y(*i, 1), x(*i, 0) * y(*i, 1) + x(*i, 1) * y(*i, 0)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_products_of_complex_numbers(target: Target) -> None:
    """Guards both parts, in whole vectors and behind them, for any number of rows."""
    n = Var("n", "int64")
    x, y = (placeholder((3, n, 37, 2), "float32", name) for name in "xy")

    def value(b: Any, i: Any, j: Any, part: Any) -> Any:
        real, imaginary = parts(x, y, b, i, j)
        return if_then_else(part >= 1, imaginary, real)

    func = scheduled(create_prim_func([x, y, compute((3, n, 37, 2), value, "z")]), target)
    library = build(func, target, checked=True)
    for size in (1, 5):
        a, b = (random_array((3, size, 37, 2), "float32", seed) for seed in (1, 2))
        out = np.zeros_like(a)
        assert call(library, func, a, b, out) is None
        np.testing.assert_allclose(out, pairs_product(a, b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("count", [2, 3])
def test_coordinates_of_places(count: int, target: Target) -> None:
    """Guards maps of places, whose coordinates are computed from places and numbers apart: vectors were as short."""
    n = Var("n", "int64")
    x, y, s = (
        placeholder((n,), "float32", "x"),
        placeholder((5,), "float32", "y"),
        placeholder((count,), "float32", "s"),
    )
    func = create_prim_func([x, y, s, compute((5, n, count), lambda i, j, k: x(j) * s(k) + y(i), "z")])
    func = scheduled(func, target)
    library = build(func, target, checked=True)
    for size in (1, 16, 37):
        a, b, c = (random_array((length,), "float32", seed) for seed, length in enumerate((size, 5, count)))
        out = np.zeros((5, size, count), "float32")
        assert call(library, func, a, b, c, out) is None
        np.testing.assert_allclose(out, a[:, None] * c + b[:, None, None], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize(("count", "dtype"), [(2, "int8"), (3, "float32"), (4, "float16"), (8, "int64")])
def test_stacked_values(count: int, dtype: str, target: Target) -> None:
    x = placeholder((2, 37), dtype, "x")

    def value(i: Any, j: Any, part: Any) -> Any:
        found = x(i, j)
        for n in range(1, count):
            found = if_then_else(part >= n, x(i, j) + x(0, j) if n % 2 else x(i, 0), found)
        return found

    func = scheduled(create_prim_func([x, compute((2, 37, count), value, "y")]), target)
    given = (random_array((2, 37), "float32", 1) * 20).astype(dtype)
    sums, firsts = given + given[:1], np.broadcast_to(given[:, :1], given.shape)
    wanted = np.stack([given if n == 0 else sums if n % 2 else firsts for n in range(count)], -1)
    out = np.zeros(wanted.shape, dtype)
    assert call(build(func, target, checked=True), func, given, out) is None
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_pairs_that_a_reshape_joined(target: Target) -> None:
    """Guards digits of a flat index, which hid that the last axis are pairs (rotary embeddings: 4 times as slow)."""
    x, y = (placeholder((5, 3, 38), "float32", name) for name in "xy")

    def value(i: Any, h: Any, j: Any) -> Any:
        pair = ((i * 3 + h) * 76 + j) // 2
        place = pair // 38 // 3, pair // 38 % 3, pair % 38
        return if_then_else(((i * 3 + h) * 76 + j) % 2 >= 1, y(*place), x(*place) + 1.0)

    func = scheduled(create_prim_func([x, y, compute((5, 3, 76), value, "z")]), target)
    a, b = (random_array((5, 3, 38), "float32", seed) for seed in (1, 2))
    out = np.zeros((5, 3, 76), "float32")
    assert call(build(func, target, checked=True), func, a, b, out) is None
    np.testing.assert_array_equal(out, np.stack([a + 1, b], -1).reshape(5, 3, 76))


def test_lines_that_a_reshape_joined() -> None:
    """Guards that which of two tensors a line comes from is asked once for the line."""
    x, y = (placeholder((4, 5, 100), "float32", name) for name in "xy")

    def value(i: Any, h: Any, j: Any) -> Any:
        line = ((i * 10 + h) * 100 + j) // 100
        place = line // 2 // 5, line // 2 % 5, ((i * 10 + h) * 100 + j) % 100
        return if_then_else(line % 2 >= 1, y(*place), x(*place))

    func = rows.apply(create_prim_func([x, y, compute((4, 10, 100), value, "z")]), HOST)
    assert isinstance(func, PrimFunc)
    a, b = (random_array((4, 5, 100), "float32", seed) for seed in (1, 2))
    out = np.zeros((4, 10, 100), "float32")
    assert call(build(func, checked=True), func, a, b, out) is None
    np.testing.assert_array_equal(out, np.stack([a, b], 2).reshape(4, 10, 100))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("block", [2, 3])
@pytest.mark.parametrize("length", [16, 19, 22, 27, 31])
def test_depth_to_space(length: int, block: int, target: Target) -> None:
    """Guards values that lie side by side along the axis in front, and all that whole vectors may leave of a row:
    halves, quarters, single elements (3 by 3 blocks of 27 channels of 64x64 75 to 15 us).
    """
    x = placeholder((block * block, 4, length), "float32", "x")

    def value(i: Any, j: Any) -> Any:
        return x(i % block * block + j % block, i // block, j // block) + 1.0

    func = scheduled(create_prim_func([x, compute((4 * block, length * block), value, "y")]), target)
    given = random_array((block * block, 4, length), "float32", 1)
    out = np.zeros((4 * block, length * block), "float32")
    assert call(build(func, target, checked=True), func, given, out) is None
    wanted = given.reshape(block, block, 4, length).transpose(2, 0, 3, 1).reshape(out.shape) + 1
    np.testing.assert_array_equal(out, wanted)
