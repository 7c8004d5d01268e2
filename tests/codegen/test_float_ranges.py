"""Casts of floats whose range an expression shows: right at its ends, and without the instructions that saturate."""

from __future__ import annotations

from math import inf, nan

import numpy as np
import pytest

from baton._src.codegen.llvm.float_ranges import EVERYTHING, fits, float_range, is_finite
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.expr import PrimExpr
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.builders.scalar_functions import nearbyint
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.values.dtype import DataType
from tests.codegen.native_run import HOST, loops, run_native

X = tir.Var("x", "float32")
BYTE = tir.Var("z", "uint8")
INT32, INT64 = DataType("int32"), DataType("int64")


def real(value: float) -> tir.FloatImm:
    return tir.FloatImm("float32", value)


def clipped(x: PrimExpr, low: PrimExpr, high: PrimExpr) -> PrimExpr:
    return ops.max(ops.min(x, high), low)


SHIFTED = clipped(X, real(0) - ops.cast("float32", BYTE), real(255) - ops.cast("float32", BYTE))


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (X, EVERYTHING),
        (real(nan), EVERYTHING),
        (ops.min(X, real(3)), (-inf, 3)),
        (clipped(X, real(-2), real(7)), (-2, 7)),
        (nearbyint(clipped(X, real(-2), real(7))), (-2, 7)),
        (nearbyint(clipped(X, real(-2.5), real(7.5))), (-3, 8)),
        (tir.Broadcast(clipped(X, real(-2), real(7)), 8), (-2, 7)),
        (ops.cast("float32", BYTE), (0, 255)),
        (SHIFTED, (-255, 255)),
        (ops.cast("float32", tir.Var("n", "int32")), EVERYTHING),
        (clipped(X, real(-(2**31)), real(2**31 - 1)), (-(2**31), 2**31)),
        (clipped(X, real(0), real(2**31 - 128)) + real(100), (100, 2**31)),
        (ops.min(X, real(3)) + X, EVERYTHING),
        (clipped(X, real(0), real(1)) * real(9), EVERYTHING),
    ],
)
def test_range(expr: PrimExpr, expected: tuple[float, float]) -> None:
    """Guards what is known of each kind of expression."""
    assert float_range(expr) == expected


def test_what_fits() -> None:
    """Guards the ends of a dtype: 2**31 is a float32 and no int32."""
    assert fits(clipped(X, real(-(2.0**31)), real(2.0**31 - 128)), INT32)
    assert not fits(clipped(X, real(-(2.0**31)), real(2.0**31)), INT32)
    assert not fits(clipped(X, real(-(2.0**31) - 256), real(0)), INT32)
    assert fits(clipped(X, real(-(2.0**31)), real(2.0**31)), INT64)
    assert not fits(ops.max(X, real(0)), INT64)


@pytest.mark.parametrize("kind", [st.ForKind.SERIAL, st.ForKind.VECTORIZED])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint32"])
@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
def test_clipped_numbers(source: str, dtype: str, kind: st.ForKind) -> None:
    """Guards the numbers of such a cast, with infinities and the ends of the range; NaN is 0 natively."""
    values = np.array([0, -0.0, 1.4, -1.6, 99.5, 100, 101, -50, -51, inf, -inf, nan, 3, 7, -2, 60000, 0.99], source)
    x = placeholder(values.shape, source, "x")
    low, high = (tir.FloatImm(source, v) for v in ((0.0 if dtype[0] == "u" else -50.0), 100.0))
    func = create_prim_func([x, compute(values.shape, lambda i: ops.cast(dtype, clipped(x[i], low, high)), "y")])
    found, expected = np.zeros(values.shape, dtype), np.zeros(values.shape, dtype)
    run_native(loops(func, [kind]), values, found)
    run_prim_func(func, [values, expected])
    number = values == values
    np.testing.assert_array_equal(found[number], expected[number])
    np.testing.assert_array_equal(found[~number], 0)


@pytest.mark.parametrize("is_clipped", [False, True])
def test_instructions(is_clipped: bool) -> None:
    """Guards that only casts of what may lie outside compare with the ends of the range."""
    x = placeholder((16,), "float32", "x")

    def number(i: PrimExpr) -> PrimExpr:
        return ops.cast("int32", clipped(x[i], real(-9), real(9)) if is_clipped else x[i])

    func = create_prim_func([x, compute((16,), number, "y")])
    texts, _ = module_texts({"f": loops(func, [st.ForKind.VECTORIZED])}, HOST)
    assert ("fcmp oge" in texts["f"]) == (not is_clipped)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (X, False),
        (real(3), True),
        (real(nan), False),
        (real(inf), False),
        (ops.cast("float32", BYTE), True),
        (tir.Broadcast(real(255) - ops.cast("float32", tir.Var("n", "int64")), 8), True),
        (real(1) + X, False),
        (real(2e38) + ops.cast("float32", BYTE), False),
        (ops.cast("float16", tir.Var("n", "int32")), False),
        (ops.cast("float32", X), False),
    ],
)
def test_finite(expr: PrimExpr, expected: bool) -> None:
    """Guards that nothing counts as finite that may be NaN or infinite."""
    assert is_finite(expr) == expected


@pytest.mark.parametrize("kind", [st.ForKind.SERIAL, st.ForKind.VECTORIZED])
def test_extremes_with_integers(kind: st.ForKind) -> None:
    """Guards that NaN stays in a minimum or maximum with what is no NaN, on whichever side that is."""
    values = np.array([0, -0.0, 1.5, inf, -inf, nan, 300, -300, 254, 255, 256, -1, 7, 8, 9, nan], "float32")
    x, z = placeholder(values.shape, "float32", "x"), placeholder((1,), "uint8", "z")

    def clip(i: PrimExpr) -> PrimExpr:
        bound = ops.cast("float32", z[0])
        return ops.max(ops.min(x[i], real(255) - bound), real(0) - bound) + ops.min(bound, ops.max(bound, x[i]))

    func = create_prim_func([x, z, compute(values.shape, clip, "y")])
    found, expected = np.zeros_like(values), np.zeros_like(values)
    run_native(loops(func, [kind]), values, np.array([3], "uint8"), found)
    run_prim_func(func, [values, np.array([3], "uint8"), expected])
    np.testing.assert_array_equal(found, expected)
    assert np.isnan(found).sum() == 2
