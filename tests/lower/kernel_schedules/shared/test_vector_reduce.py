"""Which axis of a reduction is vectorised where its terms are too few for a vector: the neighbouring results, if they
read neighbours. Each result would be a loop of its own otherwise (a depthwise convolution of 9 taps took 12 to 40
times as long). And axes whose length a run tells, or that fill no whole vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules import rows
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators as ops
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.expr import LT, IntImm, Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Allocate, For, ForKind
from baton._src.values.dtype import DataType
from tests.codegen.native_run import HOST, build, call, random_array
from tests.lower.kernel_schedules.spills import spills

Size = int | Var
AVX512 = Target("llvm -mcpu=znver4")


def _depthwise(channels: int, points: int, taps: int) -> PrimFunc:
    x, w = placeholder((channels, points), "float32", "x"), placeholder((channels, taps), "float32", "w")
    r, left = reduce_axis((0, taps), "r"), taps // 2

    def seen(c, i):  # type: ignore[no-untyped-def]
        inside = ops.logical_and(i + r >= left, i + r < points + left)
        return if_then_else(inside, x[c, i + r - left], ops.const(0.0, "float32"))

    y = compute((channels, points), lambda c, i: reduction.sum(seen(c, i) * w[c, r], r), "y")
    return create_prim_func([x, w, y])


def _vectors(func: PrimFunc) -> list[int]:
    found = [n for n in post_order(func.body) if isinstance(n, For) and n.kind is ForKind.VECTORIZED]
    return [int(n.extent.value) for n in found]


@pytest.mark.parametrize(("points", "taps"), [(14, 9), (7, 9), (7, 7), (40, 12)])
def test_few_taps_of_neighbours(points: int, taps: int) -> None:
    func = _depthwise(3, points, taps)
    made = rows.apply(func, AVX512)
    assert isinstance(made, PrimFunc)
    assert _vectors(made) == [points]
    x, w, y = random_array((3, points), "float32"), random_array((3, taps), "float32"), np.zeros((3, points), "float32")
    here = rows.apply(func, HOST)
    assert isinstance(here, PrimFunc)
    assert call(build(here, checked=True), here, x, w, y) is None
    expected = [np.convolve(np.pad(a, taps // 2), b[::-1], "valid")[:points] for a, b in zip(x, w)]
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("terms", [8, 9, 15])
def test_rows_of_less_than_a_vector(terms: int) -> None:
    """One masked vector holds a row's terms (softmax of rows of 9 took 1.7, the place of their greatest 2.8 times as
    long term by term); neighbouring rows are far apart, so that vectors of them would gather.
    """
    x, r = placeholder((5, terms), "float32", "x"), reduce_axis((0, terms), "r")
    func = create_prim_func([x, compute((5,), lambda i: reduction.sum(x[i, r], r), "y")])
    made, here = rows.apply(func, AVX512), rows.apply(func, HOST)
    assert isinstance(made, PrimFunc)
    assert isinstance(here, PrimFunc)
    masks = [n.b.value for n in post_order(made.body) if isinstance(n, LT) and isinstance(n.b, IntImm)]
    assert masks == [terms]
    values, found = random_array((5, terms), "float32"), np.zeros(5, "float32")
    assert call(build(here, checked=True), here, values, found) is None
    np.testing.assert_allclose(found, values.sum(1), rtol=1e-5, atol=1e-5)


def test_rows_of_few_terms() -> None:
    x, r = placeholder((40, 5), "float32", "x"), reduce_axis((0, 5), "r")
    made = rows.apply(create_prim_func([x, compute((40,), lambda i: reduction.sum(x[i, r], r), "y")]), AVX512)
    assert isinstance(made, PrimFunc)
    assert 5 not in _vectors(made)


def _columns(m: Size, n: Size) -> PrimFunc:
    """The sum of each column."""
    x, r = placeholder((m, n), "float32", "x"), reduce_axis((0, m), "r")
    return create_prim_func([x, compute((n,), lambda j: reduction.sum(x[r, j], r), "y")])


def _rows(m: Size, n: Size) -> PrimFunc:
    """The sum of each row."""
    x, r = placeholder((m, n), "float32", "x"), reduce_axis((0, n), "r")
    return create_prim_func([x, compute((m,), lambda i: reduction.sum(x[i, r], r), "y")])


@pytest.mark.parametrize(("make", "axis"), [(_rows, 1), (_columns, 0)], ids=["rows", "columns"])
def test_open_lengths(make: Callable[[Size, Size], PrimFunc], axis: int) -> None:
    """Guards lengths of nothing, less than a vector, a rest behind several vectors."""
    func = make(Var("m", "int64"), Var("n", "int64"))
    here = rows.apply(func, HOST)
    assert isinstance(here, PrimFunc)
    library = build(here, checked=True)
    for m, n in [(3, 0), (0, 3), (1, 1), (5, 7), (2, 16), (4, 63), (3, 64), (2, 129), (40, 300), (7, 1000)]:
        x = random_array((m, n), "float32")
        found = np.full(x.shape[1 - axis], np.nan, "float32")
        assert call(library, here, x, found) is None
        np.testing.assert_allclose(found, x.sum(axis), rtol=1e-5, atol=1e-5)


def test_partial_results_stay_in_registers() -> None:
    """Guards whole vectors of partial results: a masked store of the last one kept all in memory (softmax of rows of
    10, if a run tells so, 282 us instead of 107).
    """
    for m, n in ((Var("m", "int64"), Var("n", "int64")), (5, 1000), (5, 10)):
        assert not spills(_rows(m, n))


@pytest.mark.parametrize("n", [Var("n", "int64"), 1000])
def test_columns_side_by_side(n: Size) -> None:
    """Guards several vectors of columns at once: 1000 rows of 1024, if a run tells so, took 195 us instead of 80."""
    made = rows.apply(_columns(100, n), AVX512)
    assert isinstance(made, PrimFunc)
    wide = [s.annotations.get("lanes") for s in post_order(made.body) if isinstance(s, For)]
    assert 128 in wide


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(5, 70), (70, 5), (3, 9)], ids=str)
@pytest.mark.parametrize("how", [reduction.max, reduction.min], ids=["max", "min"])
def test_extrema_of_narrow_floats(how: Any, shape: tuple[int, int], dtype: str) -> None:
    """Guards that extrema along both axes are combined in float32, not converted at each step (3x3 pools of float16 by
    2 52 to 26 us), and that what is no number, infinite or of either sign comes back as it was.
    """
    kind = DataType(dtype).numpy
    x = np.random.default_rng(0).standard_normal(shape).astype(kind)
    x[0, 0], x[1, 1], x[2, :3] = np.nan, np.inf, -np.inf
    for axis in (0, 1):
        a, r = placeholder(shape, dtype, "a"), reduce_axis((0, shape[axis]), "r")
        index = (lambda i, r=r, a=a: how(a[r, i], r)) if axis == 0 else (lambda i, r=r, a=a: how(a[i, r], r))
        made = rows.apply(create_prim_func([a, compute((shape[1 - axis],), index, "m")]), HOST)
        assert isinstance(made, PrimFunc)
        held = [n for n in post_order(made.body) if isinstance(n, Allocate)]
        assert {str(n.dtype) for n in held} == {"float32"}
        found = np.zeros(shape[1 - axis], kind)
        assert call(build(made, checked=True), made, x, found) is None
        wanted = (np.max if how is reduction.max else np.min)(x.astype("float32"), axis=axis)
        np.testing.assert_array_equal(found.astype("float32"), wanted)
