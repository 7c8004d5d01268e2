"""Kernels that call packed functions: what these get and give, in compiled kernels and in the interpreter of TIR."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton
from baton import nd, te, tir
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton.script import tir as T

Noted = list[Any]
NAMES = ("calls.scale", "calls.note", "calls.raise", "calls.give", "calls.kept")


class Broken(Exception):
    """Raised by `calls.raise`."""


@pytest.fixture(autouse=True)
def noted() -> Iterator[Noted]:
    """The functions of `NAMES`; what `calls.note` was given, and `calls.kept` keeps."""
    found: Noted = []

    def scale(x: Any, out: Any, factor: float) -> None:
        out.copyfrom(x.numpy() * factor)

    def fail(number: Any, at: int) -> None:
        found.append(number)
        if number == at:
            raise Broken(number)

    functions = (scale, lambda *v: found.append(v), fail, lambda value: value, lambda x: found.append(x.data[:1]))
    for name, function in zip(NAMES, functions):
        baton.register_func(name, function, override=True)
    yield found
    for name in NAMES:
        baton._ffi.registry.remove_global_func(name)


def both(func: Any, *arguments: Any, noted: Noted | None = None) -> list[Any]:
    """The arrays among the arguments after the compiled kernel ran; the interpreter's, and what was noted, agree."""
    arrays = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    tensors = [nd.array(a) if isinstance(a, np.ndarray) else a for a in arguments]
    run_prim_func(func, arrays)
    calls = [] if noted is None else [_plain(c) for c in noted]
    if noted is not None:
        noted.clear()
    baton.build(func)(*tensors)
    if noted is not None:
        assert [_plain(c) for c in noted] == calls
    compiled = [t.numpy() for t in tensors if isinstance(t, nd.NDArray)]
    for ours, wanted in zip(compiled, [a for a in arrays if isinstance(a, np.ndarray)]):
        np.testing.assert_array_equal(ours, wanted)
    return compiled


def _plain(values: Any) -> Any:
    return [v.numpy().tolist() if isinstance(v, nd.NDArray) else v for v in values]


def _scaled(factor: float, ins: Any, outs: Any) -> Any:
    return tir.call_packed("calls.scale", ins[0], outs[0], factor)


def built(*tensors: Any) -> Any:
    return baton.build(te.create_prim_func(list(tensors)))


@pytest.mark.parametrize("size", [5, None])
def test_extern_tensors_stand_between_computed_ones(size: int | None) -> None:
    """Guards te.extern with call_packed, before and after loops, with memory between them of sizes known or not."""
    n = te.var("n") if size is None else size
    a = te.placeholder((n, 3), name="A")
    b = te.compute((n, 3), lambda i, j: a[i, j] + 1, name="B")
    c = te.extern((n, 3), [b], lambda ins, outs: tir.call_packed("calls.scale", ins[0], outs[0], 3.0), name="C")
    d = te.compute((n, 3), lambda i, j: c[i, j] - a[i, j], name="D")
    x = np.arange(15, dtype="float32").reshape(5, 3)
    (_, out) = both(te.create_prim_func([a, d]), x, np.zeros((5, 3), "float32"))
    np.testing.assert_array_equal(out, (x + 1) * 3 - x)


def test_calls_of_one_kernel_follow_each_other_without_loops() -> None:
    """Guards memory that nothing but packed functions uses."""
    a = te.placeholder((4,), name="A")
    tensors = [a]
    for factor in (2.0, 3.0, 5.0):
        call = partial(_scaled, factor)
        tensors.append(te.extern((4,), [tensors[-1]], call, name=f"by_{int(factor)}"))
    x = np.arange(4, dtype="float32")
    _, out = both(te.create_prim_func([a, tensors[-1]]), x, np.zeros(4, "float32"))
    np.testing.assert_array_equal(out, x * 30)


def test_kernels_with_calls_are_saved_and_measured(tmp_path: Path) -> None:
    """Guards export_library, load_module, entry_name and time_evaluator of such kernels."""
    a = te.placeholder((4,), name="A")
    b = te.extern((4,), [a], lambda ins, outs: tir.call_packed("calls.scale", ins[0], outs[0], 2.0), name="B")
    c = te.compute((4,), lambda i: b[i] + 1, name="C")
    module = built(a, c)
    assert module.entry_name == "main"
    module.export_library(tmp_path / "kernels.so")
    loaded = baton.runtime.load_module(tmp_path / "kernels.so")
    out = nd.empty((4,))
    loaded["main"](nd.array(np.ones(4, "float32")), out)
    np.testing.assert_array_equal(out.numpy(), 3)
    assert len(module.time_evaluator("main", number=1)(nd.array(np.ones(4, "float32")), out).results) == 1


def test_functions_get_numbers_texts_pointers_and_sizes(noted: Noted) -> None:
    """Guards every kind of operand."""

    @T.prim_func
    def kernel(a: T.handle, k: T.int32, f: T.float32, big: T.uint64):
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        T.evaluate(T.call_packed("calls.note", A, k, n * 2, f, 'text ü\0"', 7, T.bool(True), big, T.int8(-3)))
        T.call_packed("calls.note", T.float16(0.5), T.bfloat16(-2), T.float64(1e300), T.uint8(255), T.int64(-(2**40)))

    both(kernel, np.zeros(3, "float32"), 5, 2.5, 2**63 + 1, noted=noted)
    (tensor, *others), numbers = noted
    assert tensor.shape == (3,)
    assert others == [5, 6, 2.5, 'text ü\0"', 7, True, 2**63 + 1, -3]
    assert others[5] is True
    assert list(numbers) == [0.5, -2, 1e300, 255, -(2**40)]


def test_a_bare_pointer_is_an_address(noted: Noted) -> None:
    """Guards handles: A.data is a pointer, A a tensor, as in TVM."""

    @T.prim_func
    def kernel(A: T.Buffer((4,), "int32")):
        T.call_packed("calls.note", A.data, T.address_of(A[2]))

    x = nd.array(np.arange(4, dtype="int32"))
    baton.build(kernel)(x)
    ((first, third),) = noted
    assert isinstance(first, ctypes.c_void_p)
    assert first.value == x.data.ctypes.data
    assert third.value == first.value + 8
    noted.clear()
    run_prim_func(kernel, [x.data])
    assert noted[0][1].value == third.value


def test_calls_in_loops_and_conditions(noted: Noted) -> None:
    """Guards order, loop variables, elements as operands, nesting, while loops."""

    @T.prim_func
    def kernel(A: T.Buffer((3, 4), "float32"), B: T.Buffer((1,), "int32")):
        for i in range(3):
            for j in range(4):
                if A[i, j] > T.float32(5):
                    T.call_packed("calls.note", i, j, A[i, j])
                elif j == 0:
                    T.call_packed("calls.note", i)
        B[0] = 0
        while B[0] < 2:
            B[0] = B[0] + 1
            T.call_packed("calls.note", B[0])

    both(kernel, np.arange(12, dtype="float32").reshape(3, 4), np.zeros(1, "int32"), noted=noted)
    inner = [(i, j, i * 4.0 + j) for i in range(3) for j in range(4)]
    wanted = [c if c[2] > 5 else c[:1] for c in inner if c[2] > 5 or c[1] == 0]
    assert noted == [*wanted, (1,), (2,)]


def test_results_are_computed_with() -> None:
    """Guards results of each kind of dtype, in arithmetic, indices, conditions and lets."""

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "uint64")):
        for i in range(4):
            at: T.int32 = T.call_packed("calls.give", 3 - i)
            B[at] = T.call_packed("calls.give", A[i], dtype="float32") * T.float32(2) + T.Cast("float32", at)
            if T.call_packed("calls.give", i % 2 == 0, dtype="bool"):
                C[i] = T.call_packed("calls.give", T.uint64(18446744073709551615), dtype="uint64")
            else:
                C[i] = T.Cast("uint64", T.call_packed("calls.give", T.float16(1.5), dtype="float16"))

    x = np.arange(4, dtype="float32")
    _, b, c = both(kernel, x, np.zeros(4, "float32"), np.zeros(4, "uint64"))
    np.testing.assert_array_equal(b, (x * 2 + 3 - x)[::-1])
    assert c.tolist() == [2**64 - 1, 1, 2**64 - 1, 1]


def test_only_the_value_that_is_chosen_is_computed(noted: Noted) -> None:
    """Guards selects, conditions in expressions, and the right sides of and/or."""

    def said(number: Any, dtype: str) -> Any:
        return tir.Call(dtype, "tir.tvm_call_packed", [tir.StringImm("calls.said"), number])

    baton.register_func("calls.said", lambda number: noted.append((number,)) or number, override=True)
    a = te.placeholder((3,), name="A", dtype="int32")
    b = te.compute((3,), lambda i: tir.Select(a[i] > 1, said(a[i], "int32"), said(-a[i], "int32")), name="B")
    c = te.compute((3,), lambda i: tir.if_then_else(b[i] > 1, said(b[i] * 10, "int32"), 0), name="C")
    d = te.compute((3,), lambda i: tir.Cast("int32", tir.all(c[i] > 0, said(c[i] > 25, "bool"))), name="D")
    (_, out) = both(te.create_prim_func([a, d]), np.array([1, 2, 3], "int32"), np.zeros(3, "int32"), noted=noted)
    assert out.tolist() == [0, 0, 1]
    assert noted == [(-1,), (2,), (3,), (20,), (30,), (False,), (True,)]


def test_results_that_are_no_numbers_of_the_dtype_are_refused() -> None:
    """Guards results: None, texts, and integers beyond the range, in both ways to run a kernel."""

    @T.prim_func
    def kernel(A: T.Buffer((1,), "int8"), which: T.int32):
        A[0] = T.call_packed("calls.chosen", which, dtype="int8")

    values = [None, "text", 200, 1.5, np.int64(5), np.zeros(3)]
    baton.register_func("calls.chosen", lambda which: values[which], override=True)
    module, x = baton.build(kernel), np.zeros(1, "int8")
    for number, shown in enumerate(["null", "'text'", "200", "1.5", "", r"tensor|array"]):
        if not shown:
            run_prim_func(kernel, [x, number])
            assert x[0] == 5
            continue
        with pytest.raises(DiagnosticError, match=rf"'calls\.chosen' returned .*({shown}).*int8"):
            module(nd.array(x), number)
        with pytest.raises(DiagnosticError, match=rf"'calls\.chosen' returned .*({shown})"):
            run_prim_func(kernel, [x, number])


def test_views_have_offsets_and_strides(noted: Noted) -> None:
    """Guards tensors over parts of others: a column, a box, a buffer declared over memory; writes reach the whole."""

    @T.prim_func
    def kernel(A: T.Buffer((4, 6), "float32")):
        for i in range(3):
            with T.block("view"):
                vi = T.axis.spatial(3, i)
                T.reads(A[vi : vi + 2, 2:5])
                T.writes(A[vi : vi + 2, 2:5])
                s0, s1 = T.int32(), T.int32()
                V = T.match_buffer(A[vi : vi + 2, 2:5], (2, 3), strides=[s0, s1], offset_factor=1)
                T.call_packed("calls.note", V)
                T.call_packed("calls.scale", V, V, T.float32(2))
        D = T.decl_buffer((4,), "float32", data=A.data, strides=[6], elem_offset=1)
        T.call_packed("calls.note", D)

    x = np.arange(24, dtype="float32").reshape(4, 6)
    (found,) = both(kernel, x, noted=noted)
    wanted = x.copy()
    for i in range(3):
        np.testing.assert_array_equal(noted[i][0].numpy(), wanted[i : i + 2, 2:5])
        wanted[i : i + 2, 2:5] *= 2
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(noted[3][0].numpy(), x[:, 1])


@pytest.mark.parametrize("dtype", ["bool", "int4", "float16", "bfloat16", "float8_e4m3fn", "int64"])
def test_tensors_of_each_kind_of_dtype(dtype: str) -> None:
    """Guards element types that NumPy does not have, and bytes for bits."""
    a = te.placeholder((2, 3), name="A", dtype=dtype)
    b = te.extern((2, 3), [a], lambda ins, outs: tir.call_packed("calls.copy", ins[0], outs[0]), name="B")
    baton.register_func("calls.copy", lambda x, out: out.copyfrom(x.numpy()), override=True)
    kind = baton.DataType(dtype).numpy
    x = np.arange(6).reshape(2, 3).astype(kind)
    _, out = both(te.create_prim_func([a, b]), x, np.zeros((2, 3), kind))
    np.testing.assert_array_equal(out, x)


def test_work_buffers_of_loops_are_passed_whole(noted: Noted) -> None:
    """Guards memory that is allocated in loops: a schedule must not make it smaller than what a function is given."""

    @T.prim_func
    def kernel(A: T.Buffer((3, 8), "float32"), B: T.Buffer((3, 8), "float32")):
        for i in range(3):
            with T.block("outer"):
                vi = T.axis.spatial(3, i)
                row = T.alloc_buffer((8,), "float32")
                for j in range(8):
                    with T.block("copy"):
                        vj = T.axis.spatial(8, j)
                        row[vj] = A[vi, vj] + T.float32(1)
                T.call_packed("calls.scale", row, row, T.float32(10))
                for j in range(2):
                    with T.block("back"):
                        vj = T.axis.spatial(2, j)
                        B[vi, vj] = row[vj]

    x = np.arange(24, dtype="float32").reshape(3, 8)
    _, out = both(kernel, x, np.zeros((3, 8), "float32"))
    np.testing.assert_array_equal(out[:, :2], (x[:, :2] + 1) * 10)


def test_vectors_call_once_for_each_iteration(noted: Noted) -> None:
    """Guards vectorised and unrolled loops: the operands need not depend on the loop."""

    @T.prim_func
    def kernel(A: T.Buffer((8,), "float32")):
        for _i in T.vectorized(4):
            T.call_packed("calls.note", 1)
        for i in T.vectorized(4):
            A[i] = T.call_packed("calls.give", i, dtype="float32") + A[i]
        for i in T.unroll(2):
            T.call_packed("calls.note", i)

    (found,) = both(kernel, np.ones(8, "float32"), noted=noted)
    assert noted == [(1,)] * 4 + [(0,), (1,)]
    assert found.tolist() == [1, 2, 3, 4, 1, 1, 1, 1]


def test_parallel_loops_call_from_their_threads() -> None:
    """Guards workers: each iteration calls once, on tensors of its own, and functions may run kernels themselves."""

    @T.prim_func
    def kernel(A: T.Buffer((64, 16), "float32"), B: T.Buffer((64, 16), "float32")):
        for i in T.parallel(64):
            with T.block("row"):
                vi = T.axis.spatial(64, i)
                T.reads(A[vi, 0:16])
                T.writes(B[vi, 0:16])
                R = T.match_buffer(A[vi, 0:16], (16,), strides=[1], offset_factor=1)
                S = T.match_buffer(B[vi, 0:16], (16,), strides=[1], offset_factor=1)
                T.call_packed("calls.nested", R, S)

    a = te.placeholder((16,), name="A")
    doubled = built(a, te.compute((16,), lambda i: a[i] * 2, name="B"))
    baton.register_func("calls.nested", lambda x, out: doubled(nd.array(x.numpy()), out), override=True)
    x = np.arange(1024, dtype="float32").reshape(64, 16)
    out = nd.empty((64, 16))
    module = baton.build(kernel)
    for _ in range(20):
        module(nd.array(x), out)
        np.testing.assert_array_equal(out.numpy(), x * 2)


def test_exceptions_leave_the_kernel(noted: Noted) -> None:
    """Guards exceptions: the very object arrives, nothing runs afterwards, and the next call is as new."""

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32"), at: T.int32):
        for i in range(4):
            work = T.allocate([100000], "float32")
            W = T.Buffer((100000,), "float32", data=work)
            W[i] = A[i]
            T.call_packed("calls.raise", i, at)
            A[i] = W[i] + T.float32(1)
        T.call_packed("calls.note", "end")

    module = baton.build(kernel)
    x = nd.array(np.zeros(4, "float32"))
    for _ in range(3):
        noted.clear()
        with pytest.raises(Broken) as caught:
            module(x, 2)
        assert caught.value.args == (2,)
        assert "fail" in [frame.name for frame in caught.traceback]
        assert noted == [0, 1, 2]
    assert x.numpy().tolist() == [3, 3, 0, 0]
    module(x, 9)
    assert noted[-1] == ("end",)
    with pytest.raises(Broken):
        run_prim_func(kernel, [np.zeros(4, "float32"), 2])


def test_exceptions_leave_parallel_loops(noted: Noted) -> None:
    """Guards exceptions on worker threads: the caller gets one, and what follows the loop does not run."""

    @T.prim_func
    def kernel(A: T.Buffer((1,), "float32"), at: T.int32):
        for i in T.parallel(200):
            T.call_packed("calls.raise", i, at)
        T.call_packed("calls.note", "end")
        A[0] = T.float32(1)

    module = baton.build(kernel)
    x = nd.array(np.zeros(1, "float32"))
    for at in range(0, 200, 7):
        noted.clear()
        with pytest.raises(Broken) as caught:
            module(x, at)
        assert caught.value.args == (at,)
        assert ("end",) not in noted
    assert x.numpy()[0] == 0
    module(x, 200)
    assert noted[-1] == ("end",)


def test_signals_are_handled_between_calls() -> None:
    """Guards Ctrl-C in loops that call: what a handler raised as a call began was only printed, or ended nothing."""

    @T.prim_func
    def kernel(n: T.int32):
        for i in range(n):
            T.call_packed("calls.give", i)

    def handle(number: int, frame: Any) -> None:
        raise Broken(number)

    def run(timer: threading.Timer) -> None:
        timer.start()  # which may take longer than the timer, where processors are busy
        module(10_000_000)

    module, before = baton.build(kernel), signal.signal(signal.SIGUSR1, handle)
    try:
        for wait in range(10):
            timer = threading.Timer(0.01 + 0.001 * wait, lambda: os.kill(os.getpid(), signal.SIGUSR1))
            with pytest.raises(Broken):
                run(timer)
            timer.join()
            module(3)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_exceptions_of_several_callers_are_their_own() -> None:
    """Guards several Python threads in one kernel: each gets its own exception, also from functions that call it."""

    @T.prim_func
    def kernel(who: T.int32, at: T.int32):
        for i in T.parallel(8):
            T.call_packed("calls.each", who, i, at)

    module = baton.build(kernel)

    def each(who: int, i: int, at: int) -> None:
        if at >= 100 and i == 3:
            with pytest.raises(Broken) as caught:
                module(who, at - 100)
            assert caught.value.args == (who, at - 100)
        elif i == at:
            raise Broken(who, i)

    baton.register_func("calls.each", each, override=True)
    wrong: list[Any] = []

    def run(who: int) -> None:
        for round in range(40):
            try:
                module(who, round % 8)
                wrong.append("nothing raised")
            except Broken as error:
                if error.args != (who, round % 8):
                    wrong.append(error.args)
            module(who, 100 + round % 8)

    threads = [threading.Thread(target=run, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_kernels_that_kernels_call_raise_through_them(noted: Noted) -> None:
    """Guards calls between kernels: the outer one ends as well."""

    @baton.script.ir_module
    class Module:
        @T.prim_func
        def inner(A: T.Buffer((4,), "float32"), at: T.int32):
            T.call_packed("calls.raise", at, 1)

        @T.prim_func
        def outer(A: T.Buffer((4,), "float32")):
            for i in range(3):
                Module.inner(A.data, i)
                T.call_packed("calls.note", i)

    module = baton.build(Module)
    with pytest.raises(Broken):
        module["outer"](nd.array(np.zeros(4, "float32")))
    assert noted == [0, (0,), 1]


def test_tensors_that_are_kept_become_copies(noted: Noted) -> None:
    """Guards memory: a function may keep tensors beyond the kernel's life, but no views of their memory."""

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32")):
        for i in range(2):
            with T.block("work"):
                vi = T.axis.spatial(2, i)
                work = T.alloc_buffer((4,), "float32")
                for j in range(4):
                    work[j] = A[j] * T.Cast("float32", vi)
                T.call_packed("calls.note", work)

    x = np.arange(4, dtype="float32")
    both(kernel, x, noted=noted)
    np.testing.assert_array_equal([v[0].numpy() for v in noted], [x * 0, x])

    @T.prim_func
    def keeping(A: T.Buffer((4,), "float32")):
        T.call_packed("calls.kept", A)

    with pytest.raises(DiagnosticError, match=r"'calls\.kept' keeps the memory of a tensor"):
        baton.build(keeping)(nd.array(x))


def test_unknown_functions_are_named_with_their_kernel() -> None:
    """Guards the look-up: by name at each call, so a function may be registered, or replaced, after the build."""

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = T.call_packed("calls.nobody", i, dtype="float32")

    module = baton.build({"llvm": baton.IRModule({"fill": kernel.with_attr("global_symbol", "fill")})})
    x = nd.array(np.zeros(4, "float32"))
    with pytest.raises(DiagnosticError, match=r"fill: .*no packed function 'calls\.nobody'") as caught:
        module(x)
    assert caught.value.code == "packed-missing"
    with pytest.raises(DiagnosticError, match=r"no packed function 'calls\.nobody'"):
        run_prim_func(kernel, [np.zeros(4, "float32")])
    for factor in (2, 3):
        baton.register_func("calls.nobody", lambda i, by=factor: i * by, override=True)
        module(x)
        assert x.numpy().tolist() == [i * factor for i in range(4)]
    baton._ffi.registry.remove_global_func("calls.nobody")


def test_kernels_of_imported_modules_are_packed_functions() -> None:
    """Guards import_module, which TVM looks in before the registered functions."""

    @T.prim_func
    def double(A: T.Buffer((4,), "float32")):
        T.func_attr({"global_symbol": "double"})
        for i in range(4):
            A[i] = A[i] * T.float32(2)

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32")):
        T.func_attr({"global_symbol": "kernel"})
        for _i in range(3):
            T.call_packed("double", A)

    module = baton.build(kernel)
    module.import_module(baton.build(double))
    x = nd.array(np.ones(4, "float32"))
    module(x)
    assert x.numpy().tolist() == [8] * 4


def test_results_of_tracing_and_c_calls(noted: Noted) -> None:
    """Guards tir.trace, whose value is the function's, or else the traced one; the context of call_cpacked."""
    baton.register_func("calls.trace", lambda *v: noted.append(v), override=True)
    a = te.placeholder((3,), name="A")
    b = te.compute((3,), lambda i: tir.trace([i, a[i] + 1], "calls.trace") * 2, name="B")
    _, out = both(te.create_prim_func([a, b]), np.arange(3, dtype="float32"), np.zeros(3, "float32"), noted=noted)
    assert out.tolist() == [2, 4, 6]
    assert noted == [(0, 1.0), (1, 2.0), (2, 3.0)]
    noted.clear()

    @T.prim_func
    def kernel(A: T.Buffer((3,), "float32")):
        T.call_cpacked("calls.note", 1, 2, T.reinterpret(T.uint64(0), dtype="handle"))

    baton.build(kernel)(nd.array(np.zeros(3, "float32")))
    assert noted == [(1, 2)]


def test_kernels_without_calls_import_nothing_for_them() -> None:
    """Guards the code of other kernels: their parallel loops test for nothing."""

    @T.prim_func
    def kernel(A: T.Buffer((64,), "float32")):
        for i in T.parallel(64):
            A[i] = A[i] + T.float32(1)

    source = baton.build(kernel).get_source()
    assert "baton_packed_call" not in source
    assert "baton_fault_cell" not in source


def test_buffers_of_ir_builder_are_tensors(noted: Noted) -> None:
    """Guards `ib.buffer_ptr` and `ib.allocate` as operands: they were refused."""

    def body(ins: Any, outs: Any) -> Any:
        ib = tir.ir_builder.create()
        source, out, work = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]), ib.allocate("float32", (4,), name="work")
        with ib.for_range(0, 4) as i:
            work[i] = source[i] * 2.0
            with ib.if_scope(i > 1):
                ib.emit(tir.call_packed("calls.note", source, work, i))
            out[i] = work[i]
        return ib.get()

    a = te.placeholder((4,), name="A")
    both(
        te.create_prim_func([a, te.extern((4,), [a], body, name="B", dtype="float32")]),
        np.ones(4, "float32"),
        np.zeros(4, "float32"),
    )
    assert [int(i) for _, _, i in noted] == [2, 3, 2, 3]
    assert noted[0][1].numpy().tolist()[:3] == [2, 2, 2]


def test_results_in_memory_that_may_only_be_read_are_refused() -> None:
    """Guards outputs of te.extern: the function would write into them through a pointer; inputs may be read-only."""
    a = te.placeholder((4,), name="A")
    module = built(a, te.extern((4,), [a], partial(_scaled, 2.0), name="B"))
    fixed, open_ = np.ones(4, "float32"), nd.empty((4,))
    fixed.flags.writeable = False
    module(nd.NDArray(fixed), open_)
    assert open_.numpy().tolist() == [2] * 4
    with pytest.raises(DiagnosticError, match="B: the kernel writes to this tensor, whose memory may only be read"):
        module(open_, nd.NDArray(fixed))


def test_equal_kernels_that_call_different_functions_are_two(noted: Noted) -> None:
    """Guards sharing of code: the name is part of what a kernel computes."""
    functions = {}
    for name in ("one", "two"):
        baton.register_func(f"calls.{name}", lambda name=name: noted.append(name), override=True)
        call = tir.Evaluate(tir.call_packed(f"calls.{name}"))
        functions[name] = tir.PrimFunc([], call).with_attr("global_symbol", name)
    module = baton.build(baton.IRModule(functions))
    module["one"]()
    module["two"]()
    assert noted == ["one", "two"]


def test_what_is_given_is_checked_before_anything_runs(noted: Noted) -> None:
    """Guards arguments."""

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.call_packed("calls.note", A)
        for i in range(4):
            B[i] = A[i]

    x = nd.array(np.zeros(4, "float32"))
    with pytest.raises(DiagnosticError, match="dimension 0 is 3"):
        baton.build(kernel)(x, nd.empty((3,)))
    assert noted == []


def test_calls_without_a_name_are_refused() -> None:
    """Guards calls that nothing can be made of."""
    call = tir.call_intrin("int32", "tir.tvm_call_packed", tir.const(1), 2)
    with pytest.raises(DiagnosticError, match="called without a name"):
        baton.build(tir.PrimFunc([], tir.Evaluate(call)))


def test_tensors_are_compact_though_their_rows_were_to_be_aligned() -> None:
    """Guards storage_align of memory that a packed function gets: it was told of rows without gaps, and read others."""
    a = te.placeholder((4, 5), name="A")
    b = te.compute((4, 5), lambda i, j: a[i, j] + 1, name="B")
    c = te.extern((4, 5), [b], lambda ins, outs: tir.call_packed("calls.scale", ins[0], outs[0], 2.0), name="C")
    schedule = tir.Schedule(te.create_prim_func([a, c]))
    schedule.storage_align("B", 0, axis=0, factor=8, offset=1)
    x = np.arange(20, dtype="float32").reshape(4, 5)
    _, out = both(schedule.mod["main"], x, np.zeros((4, 5), "float32"))
    np.testing.assert_array_equal(out, (x + 1) * 2)


def counted(noted: Noted) -> Any:
    """The kernel of `y = count()` with `y` used in several places, which is a node of its own only once in Python."""
    a, b = tir.Var("a", "handle"), tir.Var("b", "handle")
    A, B = tir.decl_buffer((4,), "int32", "A"), tir.decl_buffer((8,), "int32", "B")
    y = tir.call_packed("calls.count", A, 7)
    return tir.PrimFunc([a, b], tir.BufferStore(B, y + y * 10 + A[0] * A[0], [y % 8]), None, {a: A, b: B})


@pytest.fixture
def counter(noted: Noted) -> Iterator[None]:
    """`calls.count`: how often it was called, after changing the tensor that it is given."""

    def count(x: Any, *more: Any) -> int:
        noted.append(more)
        x.copyfrom(x.numpy() + 1)
        return len(noted)

    baton.register_func("calls.count", count, override=True)
    yield
    baton._ffi.registry.remove_global_func("calls.count")


def test_a_shared_node_is_called_for_each_use(noted: Noted, counter: None) -> None:
    """Guards that a call runs as often as it is written, as TVM's code does, and what it changes is read anew."""
    _, out = both(counted(noted), np.zeros(4, "int32"), np.zeros(8, "int32"), noted=noted)
    assert out.tolist() == [0, 0, 0, 1 + 20 + 2 * 2, 0, 0, 0, 0]


def test_an_index_that_is_checked_is_called_for_once(noted: Noted, counter: None) -> None:
    """Guards indices that calls compute: the check, its message and the access use one result."""

    @T.prim_func
    def kernel(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32")):
        for i in range(3):
            B[T.call_packed("calls.count", A)] = A[A[3]] + i

    _, out = both(kernel, np.zeros(4, "int32"), np.zeros(4, "int32"), noted=noted)
    assert out.tolist() == [0, 0, 2, 4]


def test_calls_stay_where_their_value_does_not_matter(noted: Noted, counter: None) -> None:
    """Guards folding: products with 0, remainders by 1, conjunctions with what is false, in loops written out."""

    @T.prim_func
    def kernel(A: T.Buffer((4,), "int32"), B: T.Buffer((2,), "int32")):
        for i in T.unroll(2):
            B[i] = T.call_packed("calls.count", A) * i + T.call_packed("calls.count", A) % (i + 1)
            if T.call_packed("calls.count", A) > 0 and i > 0:
                B[i] = B[i] + 100

    _, out = both(kernel, np.zeros(4, "int32"), np.zeros(2, "int32"), noted=noted)
    assert len(noted) == 6
    assert out.tolist() == [0, 4 + 5 % 2 + 100]


@pytest.mark.parametrize("name", ["Simplify", "UnrollLoop", "LowerIntrin", "HoistExpression", "LoopPartition"])
def test_passes_keep_every_call(name: str, noted: Noted, counter: None) -> None:
    """Guards passes over calls with effects: a call is not equal to itself, and divisions do not repeat it."""
    a, b = tir.Var("a", "handle"), tir.Var("b", "handle")
    A, B = tir.decl_buffer((4,), "int32", "A"), tir.decl_buffer((1,), "int32", "B")
    y = tir.call_packed("calls.count", A)
    store = tir.BufferStore(B, tir.Select(y < y, tir.floormod(y, 7), -1), [0])
    func = tir.PrimFunc([a, b], store, None, {a: A, b: B}).with_attr("global_symbol", "main")
    done = getattr(tir.transform, name)()(baton.IRModule({"main": func}))["main"]
    _, out = both(done, np.zeros(4, "int32"), np.zeros(1, "int32"), noted=noted)
    assert out.tolist() == [3]
