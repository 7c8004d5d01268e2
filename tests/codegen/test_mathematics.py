"""Every mathematical intrinsic against NumPy in float64: relative error, and the special values of C."""

from __future__ import annotations

import math

import numpy as np
import pytest

from baton._src.codegen.llvm.functions.vector_math import OWN_FLOAT64
from baton._src.ir.target import Target
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import stmt as st
from baton._src.tir.expr import Call, Var
from baton._src.tir.intrinsics import intrinsic
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType
from tests.codegen.native_run import HOST, OLD, agree, loops, run_native

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    math.inf,
    -math.inf,
    math.nan,
    1e-40,
    -1e-40,
    1e-30,
    3e38,
    -3e38,
    88.0,
    -103.0,
    89.5,
    -120.0,
]
_erf = np.vectorize(math.erf, otypes=["float64"])
FUNCTIONS = {
    "exp": (np.exp, (-104, 88.7)), "exp2": (np.exp2, (-149, 127.9)), "exp10": (lambda x: 10.0**x, (-44, 38.4)),
    "expm1": (np.expm1, (-20, 88)), "log": (np.log, (1e-40, 1e38)), "log2": (np.log2, (1e-40, 1e38)),
    "log10": (np.log10, (1e-40, 1e38)), "log1p": (np.log1p, (-0.999, 1e30)), "tanh": (np.tanh, (-12, 12)),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), (-80, 80)), "erf": (_erf, (-5, 5)), "sin": (np.sin, (-1000, 1000)),
    "cos": (np.cos, (-1000, 1000)), "tan": (np.tan, (-1000, 1000)), "sinh": (np.sinh, (-89, 89)),
    "cosh": (np.cosh, (-89, 89)), "atan": (np.arctan, (-100, 100)), "asin": (np.arcsin, (-1, 1)),
    "acos": (np.arccos, (-1, 1)), "asinh": (np.arcsinh, (-1e10, 1e10)), "acosh": (np.arccosh, (1, 1e10)),
    "atanh": (np.arctanh, (-0.999, 0.999)), "sqrt": (np.sqrt, (0, 1e30)),
    "rsqrt": (lambda x: 1 / np.sqrt(x), (1e-30, 1e30)),
    "floor": (np.floor, (-100, 100)), "ceil": (np.ceil, (-100, 100)), "trunc": (np.trunc, (-100, 100)),
    "nearbyint": (np.rint, (-100, 100)), "fabs": (np.abs, (-100, 100)),
}  # fmt: skip
"""Name, meaning, range to sample."""


def unary(name: str, dtype: str, size: int, vectorized: bool) -> PrimFunc:
    source = placeholder((size,), dtype, "A")
    func = create_prim_func([source, compute((size,), lambda i: Call(dtype, intrinsic(name), [source[i]]), "B")])
    if not vectorized:
        return func
    root = func.body
    assert isinstance(root, st.BlockRealize)
    loop = root.block.body
    assert isinstance(loop, st.For)
    marked = root.block.with_fields(body=loop.with_fields(kind=st.ForKind.VECTORIZED))
    return func.with_fields(body=root.with_fields(block=marked))


def samples(low: float, high: float, count: int) -> np.ndarray:
    """Evenly spaced, and evenly in the exponent where the range spans many."""
    even = np.linspace(low, high, count // 2)
    tiny = np.geomspace(max(abs(low), 1e-30) if low > 0 else 1e-30, high, count - count // 2)
    return np.concatenate(
        [even, tiny if low >= 0 else tiny * np.where(np.arange(len(tiny)) % 2, 1, -1).clip(low / high)]
    )


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_is_accurate(name: str) -> None:
    """Guards the polynomials: a few units in the last place over the useful range, vectors and the odd tail alike."""
    meaning, (low, high) = FUNCTIONS[name]
    x = samples(low, high, 1013).astype("float32")
    if name in ("sin", "cos", "tan"):
        x = x[np.abs(x) < 1000]
    found = np.empty_like(x)
    run_native(unary(name, "float32", len(x), vectorized=True), x, found)
    with np.errstate(all="ignore"):
        expected = meaning(x.astype("float64"))
        inside = np.abs(expected) < 3.4e38
        scale = np.maximum(np.abs(expected), 1.2e-38 if name not in ("sin", "cos") else 1e-6)
        error = np.abs(found.astype("float64") - expected) / scale
    assert np.nanmax(error[inside]) < 1e-6, (name, x[inside][np.nanargmax(error[inside])])
    assert np.isinf(found[np.isinf(expected.astype("float32"))]).all()


@pytest.mark.parametrize("target", [HOST, OLD], ids=["host", "old"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16, 24, 32, 48, 64])
def test_exp_of_any_width(lanes: int, dtype: str, target: Target) -> None:
    """Guards powers of two by one instruction, where there is one for so many lanes, up to the ends of the range."""
    ends = (-745.2, -708.0, 709.7, 710.1) if dtype == "float64" else (-104.1, -103.2, -95.5, -87.4, 88.72, 88.8)
    values = np.array([*ends, -math.inf, math.inf, math.nan, 0, -0.0, 1, -1, 0.3466, -0.3467, 20.5], dtype)
    x = np.resize(values, (2, lanes) if lanes >= len(values) else (len(values), lanes))
    found = np.empty_like(x)
    a = placeholder(x.shape, dtype, "A")
    func = create_prim_func([a, compute(x.shape, lambda i, j: Call(dtype, intrinsic("exp"), [a[i, j]]), "B")])
    run_native(loops(func, [st.ForKind.SERIAL, st.ForKind.VECTORIZED]), x, found, target=target)
    with np.errstate(all="ignore"):
        expected = np.exp(x)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-44)


@pytest.mark.parametrize("target", [HOST, OLD], ids=["host", "old"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_powers_that_are_never_subnormal(dtype: str, target: Target) -> None:
    """Guards exp_flushed: as exp up to 0, to the ends of the range, without subnormal results."""
    low = -708.3964 if dtype == "float64" else -87.33654
    values = np.array([0, -0.0, -1e-8, -0.3, -17.5, -87.3, low, low * 1.00001, -95, -746, -60000, -math.inf, math.nan])
    x = np.concatenate([values, np.linspace(low, 0, 500)]).astype(DataType(dtype).numpy)
    found = np.empty_like(x)
    run_native(unary("exp_flushed", dtype, len(x), vectorized=True), x, found, target=target)
    wanted = np.exp(x.astype("float64"))
    tiny = np.finfo("float64" if dtype == "float64" else "float32").tiny
    tolerance = {"float64": 1e-14, "float32": 1e-6, "float16": 1e-3, "bfloat16": 8e-3}[dtype]
    least = 6e-8 if dtype == "float16" else 1.01 * tiny
    wide = found.astype("float64")
    np.testing.assert_allclose(wide, np.where(wanted < tiny, 0, wanted), tolerance, least)
    assert not np.any((wide > 0) & (wide < tiny))
    agree(unary("exp_flushed", dtype, len(x), vectorized=True), x, np.empty_like(x), target=target, rtol=tolerance)


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_of_any_size(name: str, vectorized: bool) -> None:
    """Guards the reduction of great angles, which gave sines of 1e38: near ones and far ones share vectors."""
    x = np.geomspace(0.5, 3.4e38, 1013).astype("float32") * np.where(np.arange(1013) % 3, 1, -1).astype("float32")
    x[::5] = np.linspace(-1e5, 1e5, len(x[::5]))
    found = np.empty_like(x)
    run_native(unary(name, "float32", len(x), vectorized), x, found)
    np.testing.assert_allclose(found, getattr(np, name)(x.astype("float64")), rtol=1e-6)


@pytest.mark.parametrize("target", [HOST, OLD], ids=["host", "old"])
@pytest.mark.parametrize("name", ["tanh", "erf"])
def test_functions_that_end_in_one(name: str, target: Target) -> None:
    """Guards gelu of great negative numbers, which multiplies what is missing to one by them."""
    x = np.array([4.2, -4.5, 9.1, -9.2, 60, -1e6, math.inf, -math.inf] if name == "erf" else [9.1, -9.2, 60, -1e6])
    x = x.astype("float32")
    found = np.empty_like(x)
    run_native(unary(name, "float32", len(x), True), x, found, target=target)
    np.testing.assert_array_equal(found, np.sign(x))


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name: str, vectorized: bool) -> None:
    """Guards infinities, NaN, zeros with their sign, and subnormals."""
    meaning = FUNCTIONS[name][0]
    x = np.array(SPECIAL, "float32")
    found = np.empty_like(x)
    run_native(unary(name, "float32", len(x), vectorized), x, found)
    with np.errstate(all="ignore"):
        expected = meaning(x.astype("float64")).astype("float32")
    if name in ("sin", "cos", "tan"):  # beyond the documented range
        keep = ~(np.abs(x) > 1e9)
        x, found, expected = x[keep], found[keep], expected[keep]
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-38, err_msg=f"{name} of {x}")
    if name not in ("exp", "exp2", "exp10", "cosh", "cos", "sigmoid", "acos", "log", "acosh"):
        np.testing.assert_array_equal(np.signbit(found[:2]), np.signbit(expected[:2]), err_msg=name)


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "sigmoid", "erf", "sin", "sqrt", "floor", "rsqrt", "atan"])
def test_other_widths(name: str, dtype: str) -> None:
    """Guards float64 and the narrow floats, which compute in float32 and round once."""
    func = unary(name, dtype, 37, vectorized=True)
    buffer = next(iter(func.buffer_map.values()))
    x = np.linspace(0.25, 4, 37).astype(buffer.dtype.numpy)
    found = np.empty_like(x)
    run_native(func, x, found)
    expected = FUNCTIONS[name][0](x.astype("float64"))
    tolerance = {"float64": 1e-14, "float16": 1e-3, "bfloat16": 8e-3}[dtype]
    np.testing.assert_allclose(found.astype("float64"), expected, rtol=tolerance)


WIDE = {
    "exp": (-700, 700), "expm1": (-50, 700), "log": (1e-300, 1e300), "sigmoid": (-36, 700), "tanh": (-25, 25),
    "sin": (-2e5, 2e5), "cos": (-2e5, 2e5), "tan": (-2e5, 2e5),
}  # fmt: skip


@pytest.mark.parametrize("name", WIDE)
def test_float64_is_accurate(name: str) -> None:
    """Guards functions of float64 that need no C library: small arguments, large ones, those without a number."""
    assert set(WIDE) == OWN_FLOAT64 - {"exp_flushed"}
    low, high = WIDE[name]
    x = np.concatenate([samples(low, high, 20001), np.array(SPECIAL, "float64"), [-800, 800, 1e300, -1e300]])
    found = np.empty_like(x)
    run_native(unary(name, "float64", len(x), True), x, found)
    with np.errstate(all="ignore"):
        expected = FUNCTIONS[name][0](x)
    np.testing.assert_allclose(found, expected, rtol=8e-16 if name != "sigmoid" else 1e-13)
    if name in ("expm1", "tanh"):
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pow(dtype: str) -> None:
    """Guards pow: accuracy, negative bases, C's special cases."""
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, -3.0, 2.5, math.inf, -math.inf, math.nan, 100.25, 1e-3]
    x, y = (a.ravel().astype(dtype) for a in np.meshgrid(values, values))
    a, b = placeholder((len(x),), dtype, "A"), placeholder((len(x),), dtype, "B")
    result = compute((len(x),), lambda i: Call(dtype, intrinsic("pow"), [a[i], b[i]]), "C")
    found = np.empty_like(x)
    run_native(create_prim_func([a, b, result]), x, y, found)
    with np.errstate(all="ignore"):
        expected = np.power(x, y)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_variable_is_unused() -> None:
    """Guards scalars in the signature: an unused one still takes its place."""
    n = Var("n", "int32")
    source = placeholder((4,), "float32", "A")
    func = create_prim_func([n, source, compute((4,), lambda i: source[i] + source[i], "B")])
    x = np.arange(4, dtype="float32")
    found = np.empty_like(x)
    run_native(func, 7, x, found)
    np.testing.assert_array_equal(found, x + x)


@pytest.mark.parametrize("target", [HOST, OLD], ids=["host", "sse"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_float64_near_quarters_of_a_turn(name: str, target: Target) -> None:
    """Guards remainders of pi/2 that are small, of which little is left after the subtraction, and far arguments."""
    n = np.concatenate([np.arange(-3000, 3000), np.arange(60_000, 70_000, 7), [2**20 + 1, 2**40 + 1, 10**15]])
    near = [n * (np.pi / 2) * (1 + by) for by in (0, 1e-15, -1e-12, 1e-9, 1e-6, -1e-4)]
    x = np.concatenate([*near, [0.0, -0.0, 5e-324, 1e-300, 0.5, 1e22, 1e308, np.inf, -np.inf, np.nan]])
    found = np.empty_like(x)
    run_native(unary(name, "float64", len(x), True), x, found, target=target)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
    np.testing.assert_allclose(found, expected, rtol=8e-16)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))
