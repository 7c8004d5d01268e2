"""Transposes by squares of registers: squares, both tails, threads, other widths, symbolic sizes; accesses checked."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType
from tests.codegen.native_run import HOST, build, call, random_array
from tests.grids import every_pair, every_value

TARGETS = {"one": HOST, "threads": Target("llvm -num-cores=4"), "sse": Target("llvm -mcpu=x86-64")}
ROWS, DTYPES = [16, 33, 64], ["float32", "int64"]


def heads(rows: object, dtype: str = "float32") -> PrimFunc:
    """(2, rows, 3, 37) to (2, 3, 37, rows)."""
    a = placeholder((2, rows, 3, 37), dtype, "a")
    return create_prim_func([a, compute((2, 3, 37, rows), lambda b, h, d, s: a[b, s, h, d], "t")])


@pytest.mark.parametrize(("rows", "dtype", "target"), every_pair(ROWS, DTYPES, TARGETS))
def test_transpose(rows: int, dtype: str, target: Target) -> None:
    """Guards squares and tails along both axes."""
    _check_heads(rows, [rows], dtype, target)


@pytest.mark.parametrize(("dtype", "target"), [*product(DTYPES, TARGETS.values())])
def test_any_number_of_rows(dtype: str, target: Target) -> None:
    """Guards the same in one kernel for all numbers of rows."""
    _check_heads(Var("n", "int64"), ROWS, dtype, target)


def _check_heads(declared: Any, every: list[int], dtype: str, target: Target) -> None:
    if target.lanes(64 if dtype == "int64" else 32) < 4:
        pytest.skip("no squares of two")
    decision = decide(heads(declared, dtype), target)
    assert decision.rule == "transpose", decision.declined
    library = build(decision.func, target, checked=True)
    for rows in every:
        data = (random_array((2, rows, 3, 37), "float32", 1) * 100).astype(dtype)
        out = np.zeros((2, 3, 37, rows), dtype)
        assert call(library, decision.func, data, out) is None
        np.testing.assert_array_equal(out, data.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_sides_of_any_length(target: Target) -> None:
    """Guards squares that overlap, and sides that are shorter than one when it runs: images of few channels."""
    n, h, w, c = (Var(name, "int64") for name in "nhwc")
    a = placeholder((n, h, w, c), "float32", "a")
    decision = decide(create_prim_func([a, compute((n, c, h, w), lambda b, k, i, j: a[b, i, j, k], "t")]), target)
    assert decision.rule == "transpose", decision.declined
    library = build(decision.func, target, checked=True)
    for channels, rows in product((0, 1, 2, 3, 4, 5, 8, 15, 16, 17, 33), (0, 1, 2, 3, 5, 15, 16, 31, 33, 100)):
        data = random_array((2, rows, 1, channels), "float32", 1)
        out = np.zeros((2, channels, rows, 1), "float32")
        assert call(library, decision.func, data, out) is None
        np.testing.assert_array_equal(out, data.transpose(0, 3, 1, 2))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_truth_values(target: Target) -> None:
    """Guards that they are moved as the bytes that they are, by squares (one by one they took 8 times as long)."""
    a, n = placeholder((2, Var("n", "int64"), 37), "bool", "a"), 33
    func = create_prim_func([a, compute((2, 37, a.shape[1]), lambda b, i, j: a[b, j, i], "t")])
    decision = decide(func, target)
    assert decision.rule == "transpose", decision.declined
    data, out = random_array((2, n, 37), "float32", 1) > 0, np.zeros((2, 37, n), "bool")
    assert call(build(decision.func, target, checked=True), decision.func, data, out) is None
    np.testing.assert_array_equal(out, data.transpose(0, 2, 1))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16"])
def test_elements_that_fill_a_part_of_a_register(dtype: str, target: Target) -> None:
    """Guards squares and interleaved vectors of 8 and 16 bits (moved one by one they took 5 to 30 times as long), and
    what is computed from them.
    """
    n, data = Var("n", "int64"), (random_array((2, 33, 37), "float32", 1) * 100).astype(DataType(dtype).numpy)
    a, three = placeholder((2, n, 37), dtype, "a"), placeholder((2, 3, n), dtype, "b")
    transposed = create_prim_func([a, compute((2, 37, n), lambda b, i, j: a[b, j, i], "t")])
    beside = create_prim_func([three, compute((2, n, 3), lambda b, i, j: three[b, j, i], "t")])
    wider = create_prim_func([a, compute((2, 37, n), lambda b, i, j: a[b, j, i].astype("float32") + 1.0, "t")])
    for func, values, result in (
        (transposed, data, dtype),
        (beside, data[:, :3, :33], dtype),
        (wider, data, "float32"),
    ):
        decision = decide(func, target)
        assert decision.rule == "transpose", decision.declined
        values = np.ascontiguousarray(values)
        wanted = values.transpose(0, 2, 1).astype(DataType(result).numpy) + (1 if func is wider else 0)
        out = np.zeros(wanted.shape, wanted.dtype)
        assert call(build(decision.func, target, checked=True), decision.func, values, out) is None
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_axes_side_by_side_and_a_reshape_behind(target: Target) -> None:
    """Guards that short axes that lie together make one long one, and that digits of a flat index are axes."""
    a = placeholder((2, 3, 7, 5, 16), "float32", "a")
    plain = compute((2, 3, 16, 7, 5), lambda n, c, i, h, w: a[n, c, h, w, i], "t")

    def element(n: Any, c: Any, h: Any, w: Any) -> Any:
        flat = ((n * 48 + c) * 7 + h) * 5 + w
        return a[flat // 35 // 16 // 3, flat // 35 // 16 % 3, flat // 5 % 7, flat % 5, flat // 35 % 16]

    reshaped = compute((2, 48, 7, 5), element, "t")
    data = random_array((2, 3, 7, 5, 16), "float32", 1)
    for result in (plain, reshaped):
        func = create_prim_func([a, result])
        decision = decide(func, target)
        assert decision.rule == "transpose", decision.declined
        out = np.zeros([d.value for d in result.shape], "float32")
        assert call(build(decision.func, target, checked=True), decision.func, data, out) is None
        np.testing.assert_array_equal(out.reshape(2, 3, 16, 7, 5), data.transpose(0, 1, 4, 2, 3))


def test_a_reshape_behind_of_any_number_of_images() -> None:
    """Guards digits of a flat index that an open size is part of: pixels of blocks were moved one by one."""
    n = Var("n", "int64")
    a = placeholder((n, 2, 2, 5, 20), "float32", "a")

    def element(b: Any, i: Any, j: Any) -> Any:
        flat = (b * 10 + i) * 40 + j
        return a[flat // 400, flat // 40 % 2, flat % 2, flat // 80 % 5, flat // 2 % 20]

    decision = decide(create_prim_func([a, compute((n, 10, 40), element, "t")]), HOST)
    assert decision.rule == "transpose", decision.declined
    library = build(decision.func, checked=True)
    for images in (0, 1, 3):
        data, out = random_array((images, 2, 2, 5, 20), "float32", 1), np.zeros((images, 10, 40), "float32")
        assert call(library, decision.func, data, out) is None
        np.testing.assert_array_equal(out, data.transpose(0, 3, 1, 4, 2).reshape(out.shape))


def test_digits_that_leave_elements_out_are_no_axes() -> None:
    """Guards against reading a fold of the index as a reshape."""
    a = placeholder((4, 8), "float32", "a")

    def element(i: Any, j: Any) -> Any:
        flat = i * 8 + j
        return a[flat // 8 % 2, flat % 8]

    func = create_prim_func([a, compute((4, 8), element, "t")])
    out, data = np.zeros((4, 8), "float32"), random_array((4, 8), "float32", 1)
    assert call(build(decide(func, HOST).func, HOST, checked=True), func, data, out) is None
    np.testing.assert_array_equal(out, data[[0, 1, 0, 1]])


@pytest.mark.parametrize("count", [2, 3, 4, 8])
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_short_axes_are_interleaved(count: int, target: Target) -> None:
    """Phases of an image next to one another: vectors, and what is left of an open length."""
    length = Var("n", "int64")
    a = placeholder((3, count, length), "float32", "a")
    func = create_prim_func([a, compute((3, length, count), lambda c, i, j: a[c, j, i], "t")])
    decision = decide(func, target)
    assert decision.rule == "transpose", decision.declined
    library = build(decision.func, target, checked=True)
    for size in (1, 16, 37):
        data, out = random_array((3, count, size), "float32", 1), np.zeros((3, size, count), "float32")
        assert call(library, decision.func, data, out) is None
        np.testing.assert_array_equal(out, data.transpose(0, 2, 1))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("count", [2, 3])
def test_interleaved_vectors_overlap(count: int, target: Target) -> None:
    """Guards that the last vector of a row ends where it does (28 channels of 2x2 blocks: 12 of 28 pairs went one by
    one), and rows of open length, shorter than a vector among them.
    """
    n = Var("n", "int64")
    a = placeholder((2, count, n), "float32", "a")
    func = create_prim_func([a, compute((2, n, count), lambda i, j, k: a[i, k, j], "t")])
    decision = decide(func, target)
    assert decision.rule == "transpose"
    library = build(decision.func, target, checked=True)
    for length in (0, 1, 3, 4, 15, 16, 17, 28, 40):
        given = random_array((2, count, length), "float32", 1)
        out = np.zeros((2, length, count), "float32")
        assert call(library, decision.func, given, out) is None
        np.testing.assert_array_equal(out, given.transpose(0, 2, 1))


@pytest.mark.parametrize("size", [4, 5, 9, 16, 37])
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_axes_shorter_than_a_vector_are_interleaved(size: int, target: Target) -> None:
    """Guards vectors that are as long as the axis has room for, and single elements behind them."""
    a = placeholder((3, 2, size), "float32", "a")
    func = create_prim_func([a, compute((3, size, 2), lambda c, i, j: a[c, j, i], "t")])
    decision = decide(func, target)
    assert decision.rule == "transpose", decision.declined
    data, out = random_array((3, 2, size), "float32", 1), np.zeros((3, size, 2), "float32")
    assert call(build(decision.func, target, checked=True), decision.func, data, out) is None
    np.testing.assert_array_equal(out, data.transpose(0, 2, 1))


@pytest.mark.parametrize("size", [5, 8, 12, 13])
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_axes_shorter_than_a_vector_have_smaller_squares(size: int, target: Target) -> None:
    """Guards a short axis in the source, in the result, and in both."""
    for source in ((3, size, 40), (3, 40, size), (3, size, size)):
        a = placeholder(source, "float32", "a")
        func = create_prim_func([a, compute((3, source[2], source[1]), lambda c, i, j, a=a: a[c, j, i], "t")])
        decision = decide(func, target)
        assert decision.rule == "transpose", decision.declined
        data = random_array(source, "float32", 1)
        out = np.zeros((3, source[2], source[1]), "float32")
        assert call(build(decision.func, target, checked=True), decision.func, data, out) is None
        np.testing.assert_array_equal(out, data.transpose(0, 2, 1))


def test_one_axis_taken_apart() -> None:
    """Guards channels out of blocks over a map of open size."""
    n, size = Var("n", "int64"), Var("p", "int64")
    a = placeholder((n, 2, size, 16), "float32", "a")
    func = create_prim_func([a, compute((n, 32, size), lambda b, c, p: a[b, c // 16, p, c % 16], "t")])
    decision = decide(func, HOST)
    assert decision.rule == "transpose", decision.declined
    library = build(decision.func, HOST, checked=True)
    for points in (1, 40):
        data, out = random_array((3, 2, points, 16), "float32", 1), np.zeros((3, 32, points), "float32")
        assert call(library, decision.func, data, out) is None
        np.testing.assert_array_equal(out, data.transpose(0, 1, 3, 2).reshape(out.shape))


@pytest.mark.parametrize(("rows", "target"), every_value(ROWS, TARGETS))
def test_values_computed_from_transposed_elements(rows: int, target: Target) -> None:
    """Guards several sources, an operand along the result, one along the other axis, and repeated elements."""
    _check_values(rows, [rows], target)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_values_computed_from_any_number_of_rows(target: Target) -> None:
    """Guards the same in one kernel for all numbers of rows."""
    _check_values(Var("n", "int64"), ROWS, target)


def _check_values(n: Any, every: list[int], target: Target) -> None:
    a, b = placeholder((2, n, 37), "float32", "a"), placeholder((37, n), "float32", "b")
    c, d = placeholder((2, n, 37), "float32", "c"), placeholder((37,), "float32", "d")
    value = compute((2, 37, n), lambda i, h, s: a[i, s, h] * a[i, s, h] + b[h, s] * c[i, s, h] - d[h], "v")
    func = create_prim_func([a, b, c, d, value])
    decision = decide(func, target)
    assert decision.rule == "transpose", decision.declined
    library = build(decision.func, target, checked=True)
    for rows in every:
        shapes = [(2, rows, 37), (37, rows), (2, rows, 37), (37,)]
        data = [random_array(shape, "float32", k) for k, shape in enumerate(shapes)]
        out = np.zeros((2, 37, rows), "float32")
        assert call(library, decision.func, *data, out) is None
        first, beside, third, bias = data
        wanted = (first * first).transpose(0, 2, 1) + beside * third.transpose(0, 2, 1) - bias[:, None]
        np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-6)


def test_elements_read_on_a_condition_are_not_read_in_squares() -> None:
    """Guards borders: what lies beyond the data must not be loaded."""
    a = placeholder((40, 37), "float32", "a")
    padded = compute((37, 48), lambda i, j: if_then_else(j < 40, a[j, i], 0.0), "p")
    assert decide(create_prim_func([a, padded]), HOST).rule == "rows"
