"""Kernels called from outside: what they return, strided parameters, and kernels that call kernels in expressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton._src.support.diagnostics import DiagnosticError
from baton.script import ir as I
from baton.script import tir as T


def test_kernels_return_scalars() -> None:
    @T.prim_func
    def kernel(a: T.int32, A: T.Buffer((4,), "float32")) -> T.float32:
        if a < 0:
            return T.float32(-1)
        T.ret(A[a] * T.float32(2))

    module = tvm.build(kernel, target="llvm")
    array = tvm.nd.array(np.arange(4, dtype="float32"))
    assert module(3, array) == 6.0
    assert module(-2, array) == -1.0
    assert module.time_evaluator("kernel", tvm.cpu(), number=1, f_preproc="")(3, array).mean > 0
    with pytest.raises(DiagnosticError, match=r"takes 2 arguments.*\n.*give A too$"):
        module(3)


def test_missing_arguments_of_kernels_are_not_bound_when_building() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i]

    with pytest.raises(DiagnosticError, match=r"give B too: results are arguments as well$"):
        tvm.build(kernel, target="llvm")(tvm.nd.empty((4,)))


def test_strides_and_offsets_left_open_are_those_of_a_compact_array() -> None:
    @T.prim_func
    def kernel(a: T.handle, b: T.handle):
        m, n = T.int32(), T.int32()
        s0, s1, place = T.int32(), T.int32(), T.int32()
        A = T.match_buffer(a, (m, n), strides=[s0, s1], elem_offset=place)
        B = T.match_buffer(b, (m, n), strides=["b0", "b1"], offset_factor=4)
        for i, j in T.grid(m, n):
            B[i, j] = A[i, j] * T.float32(2)

    given, found = np.arange(12, dtype="float32").reshape(3, 4), tvm.nd.empty((3, 4))
    tvm.build(kernel, target="llvm")(tvm.nd.array(given), found)
    np.testing.assert_array_equal(found.numpy(), given * 2)


def test_parameters_of_another_layout_are_refused() -> None:
    @T.prim_func
    def kernel(a: T.handle):
        A = T.match_buffer(a, (4, 4), strides=[8, 1])
        A[3, 3] = 1.0

    with pytest.raises(DiagnosticError, match="stride or an offset of 8, a tensor passed to it has 4"):
        tvm.build(kernel, target="llvm")


def test_kernels_called_in_expressions_are_what_they_return() -> None:
    @I.ir_module
    class Squares:
        @T.prim_func
        def main(A: T.Buffer((8,), "int32")):
            for i in range(8):
                A[i] = Squares.square(i) + 1
            Squares.fill(A.data, 2)

        @T.prim_func(private=True)
        def square(n: T.int32) -> T.int32:
            return n * n

        @T.prim_func(private=True)
        def fill(p: T.handle("int32"), n: T.int32):
            A = T.decl_buffer((8,), "int32", data=p)
            for i in range(n):
                A[i] = -5

    found = tvm.nd.empty((8,), "int32")
    tvm.build(Squares, target="llvm")["main"](found)
    assert found.numpy().tolist() == [-5, -5, 5, 10, 17, 26, 37, 50]


def test_kernels_that_do_more_are_not_called_in_expressions() -> None:
    @I.ir_module
    class Busy:
        @T.prim_func
        def main(A: T.Buffer((8,), "int32")):
            A[0] = Busy.clamped(3)

        @T.prim_func(private=True)
        def clamped(n: T.int32) -> T.int32:
            if n < 0:
                return 0
            return n

    with pytest.raises(DiagnosticError, match="clamped is called in an expression"):
        tvm.build(Busy, target="llvm")


def test_kernels_called_in_expressions_may_read_buffers() -> None:
    """Guards elements that a kernel returns: the buffer was unknown where the kernel is called."""

    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
            for i in range(4):
                B[i] = Module.last(A.data, i)

        @T.prim_func(private=True)
        def last(A: T.Buffer((4,), "float32"), i: T.int32) -> T.float32:
            return A[3 - i]

    given, found = tvm.nd.array(np.arange(4, dtype="float32")), tvm.nd.empty((4,))
    tvm.build(Module, target="llvm")(given, found)
    assert found.numpy().tolist() == [3, 2, 1, 0]


def test_arguments_of_kernels_called_in_expressions_are_what_they_take() -> None:
    @I.ir_module
    class Short:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            A[0] = Short.sum(1.0)

        @T.prim_func(private=True)
        def sum(a: T.float32, b: T.float32) -> T.float32:
            return a + b

    with pytest.raises(DiagnosticError, match="sum takes 2 arguments, 1 are given"):
        tvm.build(Short, target="llvm")


def test_modules_without_kernels_are_not_built() -> None:
    """Guards functions of Relay, of which an empty module was made."""
    v = tvm.relay.var("v", shape=(2,))
    with pytest.raises(DiagnosticError, match="no kernels to build"):
        tvm.build(tvm.IRModule.from_expr(tvm.relay.Function([v], v)), target="llvm")
    assert not tvm.build(tvm.IRModule(), target="llvm").kernels


def test_kernels_that_call_each_other_are_refused() -> None:
    """Guards against looking for what they return for ever."""

    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def f(x: T.float32) -> T.float32:
            T.ret(Module.g(x))

        @T.prim_func(private=True)
        def g(x: T.float32) -> T.float32:
            T.ret(Module.f(x))

        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            A[0] = Module.f(A[1])

    with pytest.raises(DiagnosticError, match="call each other"):
        tvm.build(Module, target="llvm")


def tiled(strides: str, facts: str = "s0 * 10000 + s1 * 1000 + place") -> Any:
    text = f"""
@T.prim_func
def kernel(A: T.Buffer((16, 16), "float32"), B: T.Buffer((4, 4), "int32")):
    for i, j in T.grid(4, 4):
        with T.block("tile"):
            vi, vj = T.axis.remap("SS", [i, j])
            T.reads()
            T.writes(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], B[vi, vj])
            s0 = T.int32()
            s1 = T.int32()
            place = T.int32()
            tile = T.match_buffer(A[vi * 4:vi * 4 + 4, vj * 4:vj * 4 + 4], (4, 4), {strides})
            for x, y in T.grid(4, 4):
                tile[x, y] = T.Cast("float32", vi * 4 + vj)
            B[vi, vj] = {facts}
"""
    return tvm.script.from_source(text)


def test_views_of_regions_know_their_strides_and_offset() -> None:
    big, facts = tvm.nd.empty((16, 16)), tvm.nd.empty((4, 4), "int32")
    tvm.build(tiled("strides=(s0, s1), elem_offset=place"), target="llvm")(big, facts)
    tiles = np.arange(16, dtype="float32").reshape(4, 4)
    np.testing.assert_array_equal(big.numpy(), np.kron(tiles, np.ones((4, 4), "float32")))
    rows, columns = np.indices((4, 4))
    np.testing.assert_array_equal(facts.numpy(), 161000 + rows * 64 + columns * 4)


def test_views_of_other_strides_are_refused() -> None:
    with pytest.raises(DiagnosticError, match="leave strides and offset open"):
        tvm.build(tiled("strides=(4, 1), elem_offset=place", "1"), target="llvm")


def test_what_a_call_cannot_say_is_told() -> None:
    """Guards pointers without a buffer and sizes that no argument says: they ended in Python's errors."""

    @T.prim_func
    def doubled(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n * T.int64(4),), "float32")
        B = T.match_buffer(b, (n * T.int64(4),), "float32")
        for i in range(n):
            B[i] = A[i]

    arrays = [tvm.nd.array(np.zeros(8, "float32")) for _ in range(2)]
    with pytest.raises(DiagnosticError, match=r"must be n \* 4, but no argument determines n"):
        tvm.build(doubled, target="llvm")(*arrays)
    pointer = tvm.tir.decl_buffer((4,), "float32")
    body = tvm.tir.BufferStore(pointer, tvm.tir.const(0.0, "float32"), [0])
    with pytest.raises(DiagnosticError, match="a handle, which cannot be passed from Python"):
        tvm.build(tvm.tir.PrimFunc([pointer.data], body).with_attr("global_symbol", "main"), target="llvm")(arrays[0])
