"""Types below a byte and floats of 8 and 4 bits: native code against ml_dtypes, every code and every rounding."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.values.dtype import DataType
from tests.codegen.native_run import loops, run_native

FLOATS = [
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1fn",
]
INTS = ["int4", "uint4", "int2", "uint2"]


def _cast(values: np.ndarray, target: str, kind: st.ForKind) -> np.ndarray:
    source = DataType(values.dtype)
    a = placeholder(values.shape, source, "A")
    func = create_prim_func([a, compute(values.shape, lambda i: ops.cast(target, a[i]), "C")])
    found = np.zeros(values.shape, DataType(target).numpy)
    run_native(loops(func, [kind]), values, found)
    return found


def _codes(dtype: str) -> np.ndarray:
    kind = DataType(dtype)
    return np.arange(1 << kind.bits, dtype="uint8").view(kind.numpy)


@pytest.mark.parametrize("kind", [st.ForKind.SERIAL, st.ForKind.VECTORIZED])
@pytest.mark.parametrize("dtype", FLOATS + INTS)
def test_every_code_becomes_its_number(dtype: str, kind: st.ForKind) -> None:
    """Guards widening: the number of each code, NaN and signed zero included."""
    every = _codes(dtype)
    found = _cast(every, "float32", kind)
    np.testing.assert_array_equal(found, every.astype("float32"))
    signed = ~np.isnan(found)
    np.testing.assert_array_equal(np.signbit(found)[signed], np.signbit(every.astype("float32"))[signed])


@pytest.mark.parametrize("kind", [st.ForKind.SERIAL, st.ForKind.VECTORIZED])
@pytest.mark.parametrize("dtype", FLOATS)
def test_every_rounding(dtype: str, kind: st.ForKind) -> None:
    """Guards narrowing: all float16 numbers and those around the range's ends round as ml_dtypes says, bit for bit."""
    halves = np.arange(1 << 16, dtype="uint16").view("float16").astype("float32")
    ends = np.float32([1e30, -1e30, 3e-39, 1e-44, 2.0**127, 3.4e38, 448.1, 464, 464.1, 57344, 61439.9, 61440, 5, 7])
    values = np.concatenate([halves, ends, np.nextafter(ends, np.float32(0))])
    found = _cast(values, dtype, kind)
    with np.errstate(all="ignore"):
        expected = values.astype(DataType(dtype).numpy)
    differ = (found.view("uint8") != expected.view("uint8")) & ~np.isnan(values)
    assert not differ.any(), (values[differ][:8], found[differ][:8], expected[differ][:8])
    of_nan = found.astype("float32")[np.isnan(values)]
    assert (of_nan == 0).all() if dtype == "float4_e2m1fn" else np.isnan(of_nan).all()


@pytest.mark.parametrize("dtype", INTS)
def test_small_integers_wrap(dtype: str) -> None:
    """Guards arithmetic on small integers and their bytes in memory: results wrap, unused bits stay zero."""
    every = _codes(dtype)
    a, b = placeholder(every.shape, dtype, "A"), placeholder(every.shape, dtype, "B")
    func = create_prim_func([a, b, compute(every.shape, lambda i: a[i] * b[i] + a[i], "C")])
    other = np.ascontiguousarray(every[::-1])
    found, expected = np.zeros_like(every), np.zeros_like(every)
    run_native(loops(func, [st.ForKind.SERIAL]), every, other, found)
    run_prim_func(func, [every, other, expected])
    wide = every.astype("int32") * other.astype("int32") + every.astype("int32")
    np.testing.assert_array_equal(found.view("uint8"), wide.astype("uint8") & ((1 << DataType(dtype).bits) - 1))
    np.testing.assert_array_equal(found.view("uint8"), expected.view("uint8"))


@pytest.mark.parametrize("dtype", FLOATS)
def test_names_with_lanes(dtype: str) -> None:
    """Guards the spelling of vectors of small floats."""
    wide = DataType(dtype).with_lanes(16)
    assert (wide, wide.lanes, wide.element, wide.bits) == (f"{dtype}x16", 16, dtype, DataType(dtype).bits)
