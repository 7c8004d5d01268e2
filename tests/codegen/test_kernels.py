"""PrimFuncs run natively give what NumPy and the TIR interpreter give: dtypes, odd and zero sizes, loops of every
kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.scalar_functions import if_then_else
from baton._src.values.dtype import DataType
from tests.codegen.native_run import HOST, random_array, run_native

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
OLD = Target("llvm -mcpu=x86-64")


def loops(func: PrimFunc, kinds: list[st.ForKind], annotations: dict[str, Any] | None = None) -> PrimFunc:
    """The function with the kinds of its (single) loop nest set, outermost first."""
    root = func.body
    assert isinstance(root, st.BlockRealize)

    def mark(stmt: st.Stmt, depth: int) -> st.Stmt:
        if not isinstance(stmt, st.For):
            return stmt
        return stmt.with_fields(kind=kinds[depth], annotations=annotations or {}, body=mark(stmt.body, depth + 1))

    return func.with_fields(body=root.with_fields(block=root.block.with_fields(body=mark(root.block.body, 0))))


def agree(func: PrimFunc, *arrays: np.ndarray, target: Target | None = None, rtol: float = 1e-6) -> None:
    """Run both ways; every array must come out the same."""
    ours, theirs = [a.copy() for a in arrays], [a.copy() for a in arrays]
    fault = run_native(func, *ours, **({"target": target} if target else {}))
    assert fault is None
    run_prim_func(func, theirs)
    for mine, other in zip(ours, theirs):
        np.testing.assert_allclose(mine.astype("float64"), other.astype("float64"), rtol=rtol)


def elementwise(
    dtype: str, shape: tuple[Any, ...], function: Callable[[Any, Any], Any], out: str | None = None
) -> PrimFunc:
    a, b = placeholder(shape, dtype, "A"), placeholder(shape, dtype, "B")
    del out
    return create_prim_func([a, b, compute(shape, lambda *i: function(a[i], b[i]), "C")])


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


@pytest.mark.parametrize("extent", [0, 1, 2, 5, 16, 17, 31, 33, 100, 1000])
@pytest.mark.parametrize("target", [None, OLD])
def test_vectorised_loops_of_any_length(extent: int, target: Target | None) -> None:
    """Guards tails: nothing beyond the end is read or written, for known and for symbolic extents."""
    n = tir.Var("n", "int64")
    for size in (extent, n):
        func = loops(elementwise("float32", (size,), lambda a, b: a * b + a), [st.ForKind.VECTORIZED])
        memory = np.full(extent + 8, 7.0, "float32")
        out = memory[:extent]
        a, b = random_array((extent,), "float32", 1), random_array((extent,), "float32", 2)
        run_native(func, a, b, out, **({"target": target} if target else {}))
        np.testing.assert_allclose(out, a * b + a, rtol=1e-5, atol=1e-6)
        assert (memory[extent:] == 7).all()


def test_parallel_loops() -> None:
    """Guards outlining: captured buffers and sizes, nested loops inside, any number of iterations."""
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    func = loops(elementwise("float32", (n, m), lambda a, b: a - b), [st.ForKind.PARALLEL, st.ForKind.VECTORIZED])
    for shape in ((0, 5), (1, 1), (3, 17), (64, 100)):
        a, b = random_array(shape, "float32", 1), random_array(shape, "float32", 2)
        found = np.zeros_like(a)
        run_native(func, a, b, found)
        np.testing.assert_array_equal(found, a - b)


@pytest.mark.parametrize("size", [0, 1, 7])
def test_reductions_start_from_the_identity(size: int) -> None:
    """Guards initialisation, also over an empty axis; intermediate buffers on the heap when symbolic."""
    n, k = tir.Var("n", "int64"), tir.Var("k", "int64")
    a = placeholder((n, k), "float32", "A")
    double = compute((n, k), lambda i, j: a[i, j] * 2.0, "D")
    axis = reduce_axis((0, k), "r")
    func = create_prim_func([a, compute((n,), lambda i: reduction.sum(double[i, axis], axis), "C")])
    x = random_array((5, size), "float32")
    found = np.full(5, 9, "float32")
    run_native(func, x, found)
    np.testing.assert_allclose(found, 2 * x.sum(1), rtol=1e-6)


def test_padding_reads_nothing_outside() -> None:
    """Guards predication: a vectorised `if_then_else` reads only lanes whose condition holds."""
    a = placeholder((10,), "float32", "A")
    inside = lambda i: ops.all(i >= 3, i < 13)  # noqa: E731
    pad = compute((16,), lambda i: if_then_else(inside(i), a[i - 3], 0.5), "P")
    func = create_prim_func([a, pad])
    x = random_array((10,), "float32")
    for kind in (st.ForKind.SERIAL, st.ForKind.VECTORIZED, st.ForKind.UNROLLED):
        found = np.zeros(16, "float32")
        assert run_native(loops(func, [kind]), x, found, checked=True) is None
        np.testing.assert_array_equal(found, np.pad(x, 3, constant_values=0.5))


@pytest.mark.parametrize("kind", [st.ForKind.SERIAL, st.ForKind.VECTORIZED])
def test_choices_among_many_take_no_stack(kind: st.ForKind) -> None:
    """Guards wide concatenations: a chain of a thousand choices, of scalars and of vectors, is walked in a loop."""
    a = placeholder((16,), "float32", "A")

    def chain(i: tir.Var) -> Any:
        found: Any = a[i]
        for step in range(1000):
            found = if_then_else(ops.floormod(i, 1001) == step % 8, a[i - step % 8] + float(step), found)
        return found

    x, found = random_array((16,), "float32"), np.zeros(16, "float32")
    assert run_native(loops(create_prim_func([a, compute((16,), chain, "C")]), [kind]), x, found, checked=True) is None
    np.testing.assert_array_equal(found[:8], x[0] + np.arange(992, 1000, dtype="float32"))
    np.testing.assert_array_equal(found[8:], x[8:])


@pytest.mark.parametrize("kind", [st.ForKind.SERIAL, st.ForKind.VECTORIZED, st.ForKind.PARALLEL])
def test_checked_builds_catch_accesses_outside(kind: st.ForKind) -> None:
    """Guards bounds checks: the kernel stops with a message instead of corrupting memory."""
    a = placeholder((10,), "float32", "A")
    func = create_prim_func([a, compute((16,), lambda i: a[i] + 1.0, "C")])
    x, found = random_array((10,), "float32"), np.zeros(16, "float32")
    fault = run_native(loops(func, [kind]), x, found, checked=True)
    assert fault is not None
    assert "access to A out of bounds" in fault
    assert "the buffer has 10" in fault


def test_assertions_become_faults() -> None:
    """Guards AssertStmt: the message arrives, the rest is not run."""
    n = tir.Var("n", "int64")
    buffer = decl_buffer((n,), "float32", "A")
    handle = tir.Var("a", "handle")
    zero = tir.IntImm("int64", 0)
    store = st.BufferStore(buffer, tir.FloatImm("float32", 1.0), (zero,))
    body = st.AssertStmt(tir.GT(n, tir.IntImm("int64", 2)), tir.StringImm("n is too {small}"), store)
    func = PrimFunc([handle], body, None, {handle: buffer})
    x = np.zeros(2, "float32")
    assert "n is too {small}" in (run_native(func, x) or "")
    assert x[0] == 0
    longer = np.zeros(3, "float32")
    assert run_native(func, longer) is None
    assert longer[0] == 1
