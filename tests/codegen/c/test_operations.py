"""Operations in C give what the TIR interpreter gives: every dtype, at the ends of their ranges, without undefined
behaviour. The kernels of a test are one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from baton._src.codegen.c.module import c_source
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import Call
from baton._src.tir.intrinsics import INTRINSICS, Operands, Result, intrinsic
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType
from tests.codegen.c.c_run import C, library_of, needs_compiler
from tests.codegen.native_run import HOST, call, loops

pytestmark = needs_compiler

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "int4", "uint2")
FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")
DTYPES = (*INTEGERS, *FLOATS, "bool")
KINDS = (st.ForKind.SERIAL, st.ForKind.VECTORIZED)
REALS = (0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.3, 7.0, -100.25, 1e-40, 65519.0, 3e9, -3e9, 2.0**63, 1e300, np.inf, np.nan)
TOLERANCE = {"float64": 1e-12, "float32": 1e-6, "float16": 2e-3, "bfloat16": 2e-2}


@pytest.fixture(autouse=True)
def nothing_undefined(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    assert "runtime error" not in capfd.readouterr().err


def values(dtype: str) -> np.ndarray:
    """Numbers of a dtype, the least and the greatest among them."""
    kind = DataType(dtype)
    if kind.is_bool:
        return np.array([False, True])
    if kind.is_float:
        with np.errstate(all="ignore"):
            return np.array([*REALS, -np.inf]).astype(kind.numpy)
    low, high = kind.int_range
    chosen = [low, low + 1, high, high - 1, high // 2, high // 3 + 1, 0, 1, 2, 3, 5, 7]
    return np.array([v for v in [*chosen, -1, -2, -7] if low <= v <= high], object).astype(kind.numpy)


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Each number with each."""
    found = values(dtype)
    return np.repeat(found, len(found)), np.tile(found, len(found))


def elementwise(arrays: tuple[np.ndarray, ...], dtypes: tuple[str, ...], function: Callable[..., Any]) -> PrimFunc:
    """A kernel of one dimension; the last array is its result."""
    inputs = [placeholder(a.shape, d, f"A{n}") for n, (a, d) in enumerate(zip(arrays, dtypes))]
    return create_prim_func([*inputs, compute(arrays[0].shape, lambda i: function(*(a[i] for a in inputs)), "C")])


def require_agreement(cases: dict[str, tuple[PrimFunc, tuple[np.ndarray, ...], np.ndarray]]) -> None:
    """Run all cases (kernel, inputs, where its result goes), each in loops of numbers and of vectors."""
    for kind, target in zip(KINDS, (C, HOST)):
        functions = {name: loops(func, [kind]) for name, (func, _, _) in cases.items()}
        library = library_of(c_source(functions, target, exported=functions).text)
        for name, (func, inputs, place) in cases.items():
            found, wanted = place.copy(), place.copy()
            assert call(library, functions[name], *inputs, found, symbol=name) is None
            with np.errstate(all="ignore"):
                run_prim_func(func, [*inputs, wanted])
            near = TOLERANCE.get(str(wanted.dtype))
            if near is None or DataType(str(wanted.dtype)).bits < 16:
                np.testing.assert_array_equal(found.astype("float64"), wanted.astype("float64"), err_msg=name)
            else:
                np.testing.assert_allclose(
                    found.astype("float64"), wanted.astype("float64"), rtol=near, atol=1e-300, err_msg=name
                )


def test_casts() -> None:
    """Guards every conversion: what does not fit, NaN, both infinities, and numbers that are rounded."""
    cases = {}
    for source in DTYPES:
        x = values(source)
        for target in DTYPES:
            function = elementwise((x,), (source,), lambda a, t=target: ops.cast(t, a))
            cases[f"{source}_{target}"] = (function, (x,), np.zeros(x.shape, DataType(target).numpy))
    require_agreement(cases)


@pytest.mark.parametrize("dtypes", [INTEGERS, FLOATS], ids=["integers", "floats"])
def test_arithmetic(dtypes: tuple[str, ...]) -> None:
    """Guards sums that wrap around, quotients of any signs and by 0, extremes of NaN, comparisons."""
    nodes: list[Any] = [tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod, tir.Min, tir.Max]
    nodes += [tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE]
    cases = {}
    for dtype in dtypes:
        inputs = pairs(dtype)
        for node in nodes:
            if node in (tir.FloorDiv, tir.FloorMod, tir.Mod) and DataType(dtype).is_narrow:
                continue  # NumPy rounds the quotient first
            func = elementwise(inputs, (dtype, dtype), node)
            result = func.buffer_map[func.params[-1]].dtype
            cases[f"{node.__name__}_{dtype}"] = (func, inputs, np.zeros(inputs[0].shape, result.numpy))
    require_agreement(cases)


def test_division_by_literals() -> None:
    """Guards quotients that C writes as shifts, masks and plain quotients."""
    cases = {}
    for dtype in ("int8", "int32", "int64", "uint16", "uint64"):
        x = values(dtype)
        for divisor in (1, 2, 3, 8, -1, -3):
            if divisor < 0 and dtype.startswith("u"):
                continue
            for node in (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod):
                function = elementwise((x,), (dtype,), lambda a, n=node, d=divisor: n(a, tir.IntImm(a.dtype, d)))
                cases[f"{node.__name__}_{dtype}_{divisor}".replace("-", "m")] = (function, (x,), np.zeros_like(x))
    require_agreement(cases)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_mathematics(dtype: str) -> None:
    """Guards the names of C's functions for each type, and the few that C has not."""
    x = np.linspace(-2, 2, 41).astype(dtype)
    y = np.tile(np.array([0.5, -1.5, 3.0, 1.25], dtype), 11)[:41]
    cases = {}
    for name, op in INTRINSICS.items():
        row = op.definition
        if row.numpy is None or row.operands is not Operands.FLOAT or row.arity > 2 or name == "tir.ldexp":
            continue
        short = name.removeprefix("tir.")
        inputs = (x, y)[: row.arity]
        if short == "exp_flushed":
            inputs = (-np.abs(x),)
        result = "bool" if row.result is Result.BOOL else dtype
        function = elementwise(inputs, (dtype,) * 2, lambda *a, s=short, r=result: Call(r, intrinsic(s), list(a)))
        cases[f"f_{short}"] = (function, inputs, np.zeros(41, result))
    assert len(cases) > 30
    require_agreement(cases)


def test_integer_intrinsics() -> None:
    """Guards bits, shifts by more than there are, powers that wrap around."""
    cases = {}
    for dtype in ("int8", "int32", "int64", "uint8", "uint32", "uint64"):
        a, b = pairs(dtype)
        size = np.abs(b.astype("float64"))
        amount, small = (size % (2 * DataType(dtype).bits)).astype(dtype), (size % 6).astype(dtype)
        second = {"shift_left": amount, "shift_right": amount, "pow": small}
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor", *second):
            inputs = (a, second.get(name, b))
            function = elementwise(inputs, (dtype, dtype), lambda x, y, n=name: Call(x.dtype, intrinsic(n), [x, y]))
            cases[f"{name}_{dtype}"] = (function, inputs, np.zeros_like(a))
        for name in ("bitwise_not", "popcount", "clz"):
            result = "int32" if name == "clz" else dtype
            function = elementwise((a,), (dtype,), lambda x, n=name, r=result: Call(r, intrinsic(n), [x]))
            cases[f"{name}_{dtype}"] = (function, (a,), np.zeros(a.shape, result))
    require_agreement(cases)
