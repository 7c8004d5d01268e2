"""Scalar arithmetic run natively gives what NumPy and the TIR interpreter give: every dtype, numbers and vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.builders.scalar_functions import floor, fmod
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.values.dtype import DataType
from baton.script import from_source
from tests.codegen.native_run import HOST, OLD, agree, elementwise, loops, random_array, run_native

DTYPES = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]


BINARY = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "max": ops.max, "min": ops.min,
}  # fmt: skip


@pytest.mark.parametrize("kind", [st.ForKind.SERIAL, st.ForKind.VECTORIZED])
@pytest.mark.parametrize("dtype", DTYPES)
def test_arithmetic(dtype: str, kind: st.ForKind) -> None:
    """Guards arithmetic of each dtype, scalar and in vectors with a tail."""
    for function in BINARY.values():
        func = loops(elementwise(dtype, (37,), function), [kind])
        a, b = random_array((37,), dtype, 1), random_array((37,), dtype, 2)
        agree(func, a, b, np.zeros_like(a), rtol=1e-2 if dtype == "bfloat16" else 1e-3 if dtype == "float16" else 1e-6)


def test_equal_expressions_have_equal_bits() -> None:
    """Guards a product that is read twice, and was rounded by itself there: x * s + s was another number than x * s + s
    elsewhere in the kernel. What is subtracted from itself is 0."""
    func = from_source("""
from baton.script import tir as T

@T.prim_func
def main(
    x: T.Buffer((5,), "float64"), s: T.Buffer((1,), "float64"), p: T.Buffer((5,), "float64"), o: T.Buffer((5,), "int32")
):
    T.func_attr({"tir.noalias": True})
    for i in range(5):
        with T.block("o"):
            v = T.axis.spatial(5, i)
            p[v] = x[v] * s[0]
            o[v] = T.cast(x[0] * s[0] + s[0] == x[v] * s[0] + s[0] and x[v] * s[0] - s[0] * x[v] == 0.0, "int32")
""")
    for seed in range(60):
        draws = np.random.default_rng(seed)
        o = np.zeros(5, "int32")
        run_native(func, draws.random(5), draws.random(1), np.zeros(5), o)
        assert o[0] == 1, seed


def test_fractions_of_products() -> None:
    """Guards a product that both terms read: what it loses by rounding was taken for a fraction, of 1e22 for 1e38."""

    func = elementwise("float32", (4,), lambda a, b: a * b - floor(a * b))
    a, b = np.array([1e19, 2.5, -3.3, 7.1], "float32"), np.array([1.1e19, 3.1, 1.7, 3e30], "float32")
    out = np.full(4, np.nan, "float32")
    assert run_native(func, a, b, out) is None
    np.testing.assert_array_equal(out, a * b - np.floor(a * b))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if "int" in d])
@pytest.mark.parametrize("kind", [st.ForKind.SERIAL, st.ForKind.VECTORIZED])
def test_integer_division(dtype: str, kind: st.ForKind) -> None:
    """Guards both roundings, division by zero (gives 0) and MIN / -1 (wraps): nothing traps."""
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    values = np.unique(np.array([low, high, 0, 1, 7, 8, 100, *((-1, -7, -8) if low else ())], dtype))
    x, y = (v.ravel().copy() for v in np.meshgrid(values, values))
    for node, meaning in ((tir.FloorDiv, np.floor_divide), (tir.FloorMod, np.remainder), (tir.Mod, np.fmod)):
        func = loops(elementwise(dtype, (len(x),), node), [kind])
        found = np.zeros_like(x)
        run_native(func, x, y, found)
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(found, meaning(x, y), err_msg=node.__name__)
    found = np.zeros_like(x)
    run_native(loops(elementwise(dtype, (len(x),), tir.Div), [kind]), x, y, found)
    exact = [0 if b == 0 else int(abs(int(a)) // abs(int(b))) * (1 if (a < 0) == (b < 0) else -1) for a, b in zip(x, y)]
    wrapped = np.array([e % (1 << 64) for e in exact], "uint64").astype(dtype)
    np.testing.assert_array_equal(found, wrapped)


def _float_pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Dividends that are near multiples of the divisor, of all magnitudes, and what is no finite number."""
    info, rng = np.finfo(dtype), np.random.default_rng(0)
    special = [0.0, -0.0, 1.0, -1.0, 0.1, 3.0, -7.5, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny]
    special += [float(info.smallest_subnormal), -2.0 * float(info.smallest_subnormal), 1e-3, 2.0**24, 2.0**30 + 128]
    x, y = (v.ravel() for v in np.meshgrid(np.array(special, dtype), np.array(special, dtype)))
    divisors = (rng.standard_normal(3000) * 2.0 ** rng.integers(-12, 12, 3000)).astype(dtype)
    most = 2**22 if dtype == "float32" else 2**53
    multiples = (divisors.astype("float64") * rng.integers(-most, most, 3000)).astype(dtype)
    near = [multiples, np.nextafter(multiples, np.zeros((), dtype)), np.nextafter(multiples, np.array(np.inf, dtype))]
    others = (rng.standard_normal(3000) * 2.0 ** rng.integers(-14, 14, 3000)).astype(dtype)
    return np.concatenate([x, *near, others]), np.concatenate([y, *([divisors] * 4)])


@pytest.mark.parametrize("target", [HOST, OLD], ids=["host", "sse"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", [st.ForKind.SERIAL, st.ForKind.VECTORIZED])
@pytest.mark.parametrize("how", [tir.Mod, fmod], ids=["mod", "fmod"])
def test_remainders_of_floats(dtype: str, target: Target, kind: st.ForKind, how: Any) -> None:
    """Guards that remainders are exact to the bit, signs of zeros included, whatever the quotient."""
    x, y = _float_pairs(dtype)
    found = np.zeros_like(x)
    run_native(loops(elementwise(dtype, (len(x),), how), [kind]), x, y, found, target=target)
    with np.errstate(all="ignore"):
        wanted = np.fmod(x, y)
    np.testing.assert_array_equal(found, wanted)
    numbers = ~np.isnan(wanted)
    np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))


@pytest.mark.parametrize("target", [HOST, OLD], ids=["host", "sse"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_vectors_of_quotients(dtype: str, target: Target) -> None:
    """Guards that dividing as floats is exact: dividends at, just below and just above multiples of the divisor, up to
    the ends of the range.
    """
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    generator = np.random.default_rng(0)
    divisors = np.r_[generator.integers(1, high, 300, endpoint=True), np.arange(1, 40), high, high - 1, high // 2]
    multiples = divisors * (generator.integers(0, high, divisors.size, endpoint=True) // divisors)
    most = divisors * (high // divisors)
    a = np.concatenate([base + d for base in (multiples, most) for d in (-1, 0, 1)])
    a, b = np.clip(np.r_[a, -a, a], low, high), np.r_[np.tile(divisors, 12), np.tile(-divisors, 6)]
    keep = b >= low
    x, y = a[keep].astype(dtype), b[keep].astype(dtype)
    for node, meaning in ((tir.FloorDiv, np.floor_divide), (tir.FloorMod, np.remainder)):
        found = np.zeros_like(x)
        run_native(loops(elementwise(dtype, (len(x),), node), [st.ForKind.VECTORIZED]), x, y, found, target=target)
        np.testing.assert_array_equal(found, meaning(x, y))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", [st.ForKind.SERIAL, st.ForKind.VECTORIZED])
def test_float_remainders(dtype: str, kind: st.ForKind) -> None:
    """Guards infinite divisors, the sign of zero results, tiny operands whose product is 0."""
    tiny = float(np.finfo(dtype).tiny)
    values = np.array([0.0, -0.0, 1.5, -1.5, 4, -4, 2, -2, np.inf, -np.inf, np.nan, tiny, -tiny, 3 * tiny], dtype)
    x, y = (v.ravel().copy() for v in np.meshgrid(values, values))
    found = np.zeros_like(x)
    func = elementwise(dtype, (len(x),), tir.FloorMod)
    run_native(loops(func, [kind]), x, y, found)
    oracle = np.zeros_like(x)
    run_prim_func(func, [x, y, oracle])
    with np.errstate(all="ignore"):
        expected = np.mod(x, y)
    for result in (found, oracle):
        np.testing.assert_array_equal(result, expected)
        number = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result)[number], np.signbit(expected)[number])


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
@pytest.mark.parametrize("kind", [st.ForKind.SERIAL, st.ForKind.VECTORIZED])
def test_integer_powers(dtype: str, kind: st.ForKind) -> None:
    """Guards exponents of every size and sign against exact arithmetic."""
    signed = dtype.startswith("i")
    bases = np.array([0, 1, 2, 3, 7, *((-1, -2, -3) if signed else (200,))], dtype)
    exponents = np.array([0, 1, 2, 31, 63, 64, 100, 127, *((-1, -2, -63, -128) if signed else (255,))], dtype)
    x, y = (v.ravel().copy() for v in np.meshgrid(bases, exponents))
    found, oracle = np.zeros_like(x), np.zeros_like(x)
    func = elementwise(dtype, (len(x),), ops.power)
    run_native(loops(func, [kind]), x, y, found)
    run_prim_func(func, [x, y, oracle])

    def exact(b: int, e: int) -> int:
        return b**e if e >= 0 else (b ** (-e) if abs(b) == 1 else 0)

    wrapped = np.array([exact(int(b), int(e)) % (1 << 64) for b, e in zip(x, y)], "uint64").astype(dtype)
    np.testing.assert_array_equal(found, wrapped)
    np.testing.assert_array_equal(oracle, wrapped)


@pytest.mark.parametrize("divisor", [1, 2, 3, 8, -1, -2, -3, 10])
def test_division_by_literals(divisor: int) -> None:
    """Guards the short forms for known divisors."""
    values = np.arange(-40, 41, dtype="int32")
    for node, meaning in ((tir.FloorDiv, np.floor_divide), (tir.FloorMod, np.remainder), (tir.Mod, np.fmod)):
        a = placeholder((81,), "int32", "A")
        func = create_prim_func([a, compute((81,), lambda i, n=node, a=a: n(a[i], tir.IntImm("int32", divisor)), "C")])
        found = np.zeros_like(values)
        run_native(loops(func, [st.ForKind.VECTORIZED]), values, found)
        np.testing.assert_array_equal(found, meaning(values, np.int32(divisor)))


@pytest.mark.parametrize("source", [*DTYPES, "bool"])
def test_casts(source: str) -> None:
    """Guards every conversion, scalar and vector."""
    x = random_array((21,), source, 3)
    for target in [*DTYPES, "bool"]:
        a = placeholder((21,), source, "A")
        func = create_prim_func([a, compute((21,), lambda i, t=target, a=a: ops.cast(t, a[i]), "C")])
        for kind in (st.ForKind.SERIAL, st.ForKind.VECTORIZED):
            found = np.zeros((21,), DataType(target).numpy)
            run_native(loops(func, [kind]), x, found)
            expected = x.astype(DataType(target).numpy)
            if source in ("float16", "float32", "float64", "bfloat16") and target.startswith("uint"):
                keep = x.astype("float64") >= 0  # negative floats have no unsigned value
                found, expected = found[keep], expected[keep]
            np.testing.assert_array_equal(found.astype("float64"), expected.astype("float64"), err_msg=target)


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "int8", "uint8"])
@pytest.mark.parametrize("target", [HOST, OLD])
def test_casts_at_the_ends_of_a_range(source: str, dtype: str, target: Target) -> None:
    """Guards that vectors saturate where single numbers do, and that NaN is 0."""
    ends = [0.0, 1.9, -1.9, 2147483520, 2**31, 3e9, -(2**31), -3e9, 2.0**63, -(2.0**63), 1e30, np.inf, -np.inf, np.nan]
    x = np.array([*ends, 0.5, 7.5, *ends], source)
    results = []
    for kind in (st.ForKind.SERIAL, st.ForKind.VECTORIZED):
        a = placeholder((30,), source, "A")
        func = create_prim_func([a, compute((30,), lambda i, a=a: ops.cast(dtype, a[i]), "C")])
        results.append(np.zeros(30, dtype))
        run_native(loops(func, [kind]), x, results[-1], target=target)
    np.testing.assert_array_equal(*results)
    assert results[1][13] == 0
    if dtype == "int32":
        assert list(results[1][4:8]) == [2**31 - 1, 2**31 - 1, -(2**31), -(2**31)]


@pytest.mark.parametrize("kind", [st.ForKind.SERIAL, st.ForKind.VECTORIZED])
def test_float64_is_rounded_once(kind: st.ForKind) -> None:
    """Guards float64 beside the ties of float16: rounded to float32 in between, they became ties."""
    every = np.arange(0x7C00, dtype="uint16").view("float16").astype("float64")
    ties = np.append((every[1:] + every[:-1]) / 2, [65520.0, 1e300, np.inf, np.nan, 5e-324])
    values = np.concatenate([sign * np.nextafter(ties, to) for sign in (1, -1) for to in (0, 1e308, ties)])
    a = placeholder(values.shape, "float64", "A")
    func = create_prim_func([a, compute(values.shape, lambda i: ops.cast("float16", a[i]), "C")])
    found = np.zeros(values.shape, "float16")
    run_native(loops(func, [kind]), values, found)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found, values.astype("float16"))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("target", [None, OLD])
def test_narrow_floats_bit_for_bit(dtype: str, target: Target | None) -> None:
    """Guards rounding, subnormals, infinities and NaN of both conversions, with and without hardware support."""
    kind = DataType(dtype).numpy
    edges = [
        0.0,
        -0.0,
        65504,
        65519.9,
        65520,
        1e30,
        -1e30,
        6e-8,
        2.9e-8,
        2.98e-8,
        6.1e-5,
        np.inf,
        -np.inf,
        np.nan,
        1.0009766,
    ]
    rng = np.random.default_rng(5)
    wide = np.concatenate([np.array(edges), rng.normal(size=200) * 10.0 ** rng.integers(-9, 6, 200)]).astype("float32")
    every = np.arange(1 << 16, dtype="uint16").view(kind)
    options = {"target": target} if target else {}
    for vectorized in (st.ForKind.SERIAL, st.ForKind.VECTORIZED):
        a = placeholder((len(wide),), "float32", "A")
        func = create_prim_func([a, compute((len(wide),), lambda i, a=a: ops.cast(dtype, a[i]), "C")])
        found = np.zeros(len(wide), kind)
        run_native(loops(func, [vectorized]), wide, found, **options)
        with np.errstate(all="ignore"):
            expected = wide.astype(kind)
        same = (found.view("uint16") == expected.view("uint16")) | np.isnan(expected.astype("float32"))
        assert same.all(), wide[~same]
        assert np.isnan(found.astype("float32"))[np.isnan(wide)].all()
        b = placeholder((1 << 16,), dtype, "B")
        back = create_prim_func([b, compute((1 << 16,), lambda i, b=b: ops.cast("float32", b[i]), "C")])
        widened = np.zeros(1 << 16, "float32")
        run_native(loops(back, [vectorized]), every, widened, **options)
        np.testing.assert_array_equal(widened, every.astype("float32"))


P, Q = tir.Var("p", "float32"), tir.Var("q", "float32")


@pytest.mark.parametrize(
    ("named", "plain"),
    [
        (lambda a, b, c: tir.Let(P, a * b, P + c), lambda a, b, c: a * b + c),
        (lambda a, b, c: tir.Let(P, a * b, c - P), lambda a, b, c: c - a * b),
        (lambda a, b, c: tir.Let(P, a * b, (P - c) * P), lambda a, b, c: (a * b - c) * (a * b)),
        (lambda a, b, c: tir.Let(P, a * b, tir.Let(Q, floor(P), P - Q)), lambda a, b, c: a * b - floor(a * b)),
    ],
)
def test_named_products(named: Any, plain: Any) -> None:
    """Guards that a name changes no bit: a product called p was rounded before it was added to, others are not."""
    arrays = [random_array((64,), "float32", seed) * 1000 for seed in range(3)]
    found = []
    for body in (named, plain):
        tensors = [placeholder((64,), "float32", name) for name in "ABC"]
        out = compute((64,), lambda i, body=body, of=tensors: body(*(t[i] for t in of)), "O")
        result = np.zeros(64, "float32")
        run_native(create_prim_func([*tensors, out]), *arrays, result)
        found.append(result)
    np.testing.assert_array_equal(*found)
