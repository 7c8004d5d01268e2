"""Calls of LLVM's intrinsics by name: what they mean over NumPy, natively too, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from baton import te, tir
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.evaluation.expressions import evaluate
from baton.script import tir as T
from baton.target import codegen
from tests.codegen.native_run import run_native

NAN = float("nan")


@pytest.mark.parametrize(
    ("name", "dtype", "operands", "expected"),
    [
        ("llvm.fabs", "float32", [-2.5], 2.5),
        ("llvm.fabs.f32", "float32", [-2.5], 2.5),
        ("llvm.sqrt.f64", "float64", [9.0], 3.0),
        ("llvm.round", "float32", [2.5], 3.0),
        ("llvm.rint", "float32", [2.5], 2.0),
        ("llvm.roundeven", "float32", [3.5], 4.0),
        ("llvm.fma", "float32", [2.0, 3.0, 4.0], 10.0),
        ("llvm.copysign", "float32", [3.0, -0.0], -3.0),
        ("llvm.minnum", "float32", [NAN, 2.0], 2.0),
        ("llvm.maxnum", "float32", [3.0, NAN], 3.0),
        ("llvm.smax", "int32", [-1, 5], 5),
        ("llvm.umax", "int32", [-1, 5], -1),
        ("llvm.smin", "uint32", [2**32 - 1, 5], 2**32 - 1),
        ("llvm.umin", "uint32", [2**32 - 1, 5], 5),
        ("llvm.ctpop", "int32", [255], 8),
    ],
)
def test_what_they_mean(name: str, dtype: str, operands: list[Any], expected: Any) -> None:
    """Guards NaN, halves, signs, and integers taken as signed or not whatever their dtype says."""
    values = [tir.const(v, dtype) for v in operands]
    made = tir.call_llvm_pure_intrin(dtype, name, *values)
    assert evaluate(made, {}) == expected
    named = tir.call_llvm_intrin(dtype, codegen.llvm_lookup_intrinsic_id(name), tir.const(1, "uint32"), *values)
    assert evaluate(named, {}) == expected


def test_counted_zeros_have_the_dtype_of_the_operand() -> None:
    made = tir.call_llvm_pure_intrin("int64", "llvm.ctlz", tir.const(5, "int64"), tir.const(False, "bool"))
    assert made.dtype == "int64"
    assert evaluate(made, {}) == 61


@T.prim_func
def dots(a: T.Buffer((16,), "int32"), b: T.Buffer((16,), "int32"), c: T.Buffer((16,), "int32")):
    c[T.ramp(0, 1, 16)] = T.call_llvm_pure_intrin(
        "int32x16",
        T.llvm_lookup_intrinsic_id("llvm.x86.avx512.vpdpbusd.512"),
        T.uint32(0),
        c[T.ramp(0, 1, 16)],
        a[T.ramp(0, 1, 16)],
        b[T.ramp(0, 1, 16)],
    )


def test_dot_products_of_bytes_in_a_script() -> None:
    """Guards the words of scripts, vectors, and code for any CPU."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 255, 64, np.uint8), rng.integers(-128, 127, 64, np.int8)
    out = np.arange(16, dtype="int32")
    expected = out + (a.astype("int32") * b).reshape(16, 4).sum(1)
    assert run_native(dots, a.view("int32"), b.view("int32"), out, checked=True) is None
    assert out.tolist() == expected.tolist()


def test_kernels_that_call_them_are_native() -> None:
    a = te.placeholder((9,), name="a")
    b = te.compute((9,), lambda i: tir.call_llvm_pure_intrin("float32", "llvm.exp2", a[i]), name="b")
    given, found = np.linspace(-2, 2, 9, dtype="float32"), np.zeros(9, "float32")
    assert run_native(te.create_prim_func([a, b]), given, found) is None
    np.testing.assert_allclose(found, [math.exp2(v) for v in given], rtol=1e-5)


def test_numbers_stand_for_names() -> None:
    number = codegen.llvm_lookup_intrinsic_id("llvm.fma.v4f32")
    assert codegen.llvm_get_intrinsic_name(number) == "llvm.fma"
    assert codegen.llvm_lookup_intrinsic_id("llvm.bogus") == 0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: tir.call_llvm_pure_intrin("float32", "llvm.fabz", 1.0), "cannot call LLVM's 'llvm.fabz'"),
        (lambda: tir.call_llvm_pure_intrin("float32", 9999, 1.0), "9999 is not an intrinsic's number"),
        (lambda: tir.call_llvm_pure_intrin("float32", "llvm.fma", 1.0), "takes 3 operands, got 1"),
        (lambda: tir.call_llvm_pure_intrin("int32", "llvm.fabs", 1.0), "gives float32, the call says int32"),
    ],
)
def test_what_is_refused(call: Any, said: str) -> None:
    with pytest.raises(DiagnosticError, match=said):
        call()


def test_names_that_are_near() -> None:
    """Guards the advice against single letters of the names."""
    with pytest.raises(DiagnosticError, match=r"near: llvm\.fabs"):
        tir.call_llvm_pure_intrin("float32", "llvm.fabz", 1.0)
