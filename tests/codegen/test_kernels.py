"""Statements run natively give what the TIR interpreter gives: loops of every kind, odd and zero sizes, faults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import schedule
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import decl_buffer
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.builders.system_calls import vectorcombine, vectorhigh, vectorlow
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import OLD, agree, elementwise, loops, random_array, run_native


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


def test_sums_of_some_lanes_are_not_merged() -> None:
    """Guards reductions of fewer columns than a vector has lanes: other lanes of a sum have nothing to keep."""
    a, k = placeholder((5, 3, 7), "float32", "A"), reduce_axis((0, 3), "k")
    func = create_prim_func([a, compute((5, 7), lambda i, j: reduction.sum(a[i, k, j], k), "C")])
    texts, _ = module_texts({"f": schedule(func, Target("llvm -mcpu=x86-64-v4"))}, Target("llvm -mcpu=x86-64-v4"))
    assert "masked.load" in texts["f"]
    assert "select" not in texts["f"]


@pytest.mark.parametrize("kind", [st.ForKind.SERIAL, st.ForKind.VECTORIZED, st.ForKind.PARALLEL])
def test_loops_of_a_negative_number_of_iterations_do_nothing(kind: st.ForKind) -> None:
    """Guards the tail of vectorised loops: -3 iterations, rounded down to vectors, left thirteen to do."""
    n, i = tir.Var("n", "int32"), tir.Var("i", "int32")
    out, pointer = decl_buffer((64,), "float32", "B"), tir.Var("b", "handle")
    body = st.For(i, 0, n, kind, st.BufferStore(out, tir.FloatImm("float32", 1), (i + 32,)))
    func = PrimFunc([n, pointer], body, None, {pointer: out})
    for count in (-40, -3, 0, 13):
        found = np.zeros(64, "float32")
        run_native(func, count, found)
        assert found.sum() == max(count, 0)


@pytest.mark.parametrize("kind", [st.ForKind.SERIAL, st.ForKind.PARALLEL])
def test_loops_over_unsigned_numbers(kind: st.ForKind) -> None:
    """Guards comparisons of the counter: 200 of 8 bits is no negative number."""
    i = tir.Var("i", "uint8")
    out, pointer = decl_buffer((200,), "uint8", "B"), tir.Var("b", "handle")
    for extent in (tir.IntImm("uint8", 200), tir.Var("n", "uint8")):
        body = st.For(i, tir.IntImm("uint8", 0), extent, kind, st.BufferStore(out, i, (i,)))
        scalars = [extent] if isinstance(extent, tir.Var) else []
        func = PrimFunc([*scalars, pointer], body, None, {pointer: out})
        found = np.zeros(200, "uint8")
        run_native(func, *([200] if scalars else []), found)
        np.testing.assert_array_equal(found, np.arange(200))


def test_loops_that_begin_below_zero_are_checked() -> None:
    """Guards the range a check assumes: `for i in range(-5, 5)` was taken to end before 0."""
    i = tir.Var("i", "int32")
    sizes, names = (("int32", 1), ("float32", 5), ("float32", 10)), "IXY"
    given, data, out = (decl_buffer((size,), dtype, name) for (dtype, size), name in zip(sizes, names))
    pointers = [tir.Var(name.lower(), "handle") for name in names]
    first = ops.max(ops.min(tir.BufferLoad(given, [0]), 0), 0)
    load = tir.BufferLoad(data, [first + i + 5])
    body = st.For(i, -5, 10, st.ForKind.SERIAL, st.BufferStore(out, load, (i + 5,)))
    func = PrimFunc(pointers, body, None, dict(zip(pointers, (given, data, out))))
    fault = run_native(func, np.zeros(1, "int32"), np.zeros(5, "float32"), np.zeros(10, "float32"))
    assert "index 5 is out of range" in str(fault)


def test_narrow_sums_wrap_in_vectors_too() -> None:
    """Guards conversions of ramps: i + 100 in 8 bits, widened, was a ramp that does not wrap."""
    i = tir.Var("i", "int8")
    out, pointer = decl_buffer((64,), "int32", "B"), tir.Var("b", "handle")
    value = tir.Cast("int32", i + tir.IntImm("int8", 100))
    zero, extent = tir.IntImm("int8", 0), tir.IntImm("int8", 64)
    func = PrimFunc(
        [pointer],
        st.For(i, zero, extent, st.ForKind.VECTORIZED, st.BufferStore(out, value, (i,))),
        None,
        {pointer: out},
    )
    agree(func, np.zeros(64, "int32"))


def test_indices_may_be_unsigned() -> None:
    """Guards rows at unsigned numbers of 64 bits, which meet signed strides."""
    i, shapes = tir.Var("i", "int32"), ((8,), (8, 3), (8,))
    places, data, out = (decl_buffer(s, t, n) for s, t, n in zip(shapes, ("uint64", "float32", "float32"), "IXY"))
    pointers = [tir.Var(name, "handle") for name in "abc"]
    load = tir.BufferLoad(data, [tir.BufferLoad(places, [i]), tir.IntImm("int32", 1)])
    for kind in (st.ForKind.SERIAL, st.ForKind.VECTORIZED):
        body = st.For(i, 0, 8, kind, st.BufferStore(out, load, (i,)))
        func = PrimFunc(pointers, body, None, dict(zip(pointers, (places, data, out))))
        agree(func, np.arange(8, dtype="uint64")[::-1].copy(), random_array((8, 3), "float32"), np.zeros(8, "float32"))


@pytest.mark.parametrize("lanes", [2, 4, 16])
def test_halves_of_vectors(lanes: int) -> None:
    """Guards `vectorlow`, `vectorhigh` and `vectorcombine`, down to numbers: LLVM refused what was written for them."""
    half = f"int32x{lanes // 2}" if lanes > 2 else "int32"
    a, b = (decl_buffer((lanes,), "int32", name) for name in "ab")
    whole = tir.Ramp(tir.IntImm("int32", 0), tir.IntImm("int32", 1), lanes)
    value = tir.BufferLoad(a, (whole,))
    turned = vectorcombine(f"int32x{lanes}", vectorhigh(half, value), vectorlow(half, value))
    x, y = tir.Var("x", "handle"), tir.Var("y", "handle")
    func = PrimFunc([x, y], st.BufferStore(b, turned, (whole,)), buffer_map={x: a, y: b})
    data = np.arange(lanes, dtype="int32")
    agree(func, data, np.zeros_like(data))
    found = np.zeros_like(data)
    run_native(func, data, found)
    np.testing.assert_array_equal(found, np.roll(data, lanes // 2))


@pytest.mark.parametrize("size", [3, 1 << 13, 7132])
def test_work_buffers_of_more_bytes_than_numbers_go(size: int) -> None:
    """Guards memory: 8192**5 * 8 bytes are 0 modulo 2**64, so that a small block was written far beyond its end."""
    n, i = tir.Var("n", "int64"), tir.Var("i", "int64")
    a, b = decl_buffer((n,), "int8", "A"), decl_buffer((1,), "int64", "B")
    work = decl_buffer((n,) * 5, "int64", "W")
    handles = [tir.Var(name, "handle") for name in "ab"]
    fill = st.For(i, 0, n, st.ForKind.SERIAL, st.BufferStore(work, tir.IntImm("int64", 1), [i, 0, 0, 0, 0]))
    read = st.BufferStore(b, tir.BufferLoad(work, [n - 1, 0, 0, 0, 0]), [0])
    body = st.Allocate(work.data, "int64", work.shape, True, st.DeclBuffer(work, st.SeqStmt([fill, read])))
    func = PrimFunc(handles, body, buffer_map=dict(zip(handles, (a, b))))
    found = np.zeros(1, "int64")
    fault = run_native(func, np.zeros(size, "int8"), found)
    assert found[0] == 1 if size == 3 else "out of memory" in str(fault)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bits", [0x7FF8000000000001, 0xFFF8000020000000, 0x7FF8000000000000])
def test_literals_that_are_nan_of_any_bits(dtype: str, bits: int) -> None:
    """Guards numbers that came from elsewhere than arithmetic: LLVM refused the code."""
    number = float(np.array(bits, "uint64").view("float64"))
    out, pointer = decl_buffer((1,), dtype, "B"), tir.Var("b", "handle")
    found = np.zeros(1, dtype)
    body = st.BufferStore(out, tir.FloatImm(dtype, number), [0])
    run_native(PrimFunc([pointer], body, None, {pointer: out}), found)
    assert np.isnan(found[0])
    assert np.signbit(found[0]) == np.signbit(number)
