"""Python around a kernel takes part in it: names, calls, f-strings, macros, decided conditions; texts call nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton._src.support.diagnostics import DiagnosticError
from baton.script import from_source
from baton.script import tir as T

SHAPE = [4, 8]


def twice_and_one(x: Any, y: Any) -> Any:
    return x * y + T.float32(1)


def run(kernel: Any, *arrays: Any) -> list[Any]:
    held = [tvm.nd.array(a) for a in arrays]
    tvm.build(kernel, target="llvm")(*held)
    return [h.numpy() for h in held]


def test_dtypes_are_texts_as_arguments() -> None:
    """`A.dtype` is a string: it was printed as DataType('float32'), which reads as nothing."""

    @T.prim_func
    def kernel(A: T.Buffer(SHAPE, "float32")):
        T.evaluate(T.call_packed("f", A.dtype))

    assert 'T.call_packed("f", "float32")' in kernel.script()
    tvm.ir.assert_structural_equal(from_source(kernel.script()), kernel)
    with pytest.raises(TypeError, match="made of a string"):
        tvm.tir.StringImm(3)


def test_loops_axes_and_indices_of_any_number_go_by_one_name() -> None:
    @T.prim_func
    def kernel(A: T.Buffer(SHAPE, "float32"), B: T.Buffer(SHAPE, "float32")):
        for loops in T.grid(*SHAPE):
            with T.block("copy"):
                axes = T.axis.remap("S" * len(SHAPE), loops)
                T.reads(A[axes], A[axes[0], *axes[1:]])
                T.writes(B[axes])
                B[axes] = A[tuple(axes)] + A[axes[0], *axes[1:]]

    tvm.ir.assert_structural_equal(from_source(kernel.script()), kernel)
    assert "for loops_0, loops_1 in T.grid(4, 8)" in kernel.script()
    given = np.arange(32, dtype="float32").reshape(SHAPE)
    np.testing.assert_array_equal(run(kernel, given, np.zeros_like(given))[1], given * 2)


def test_calls_strings_and_lists_are_computed_while_reading() -> None:
    dtype, name = "float32", "scaled"

    @T.prim_func
    def kernel(A: T.Buffer(SHAPE, dtype), B: T.Buffer((SHAPE[0], 8), dtype), C: T.Buffer([len(SHAPE)], "int32")):
        for i, j in T.grid(*SHAPE):
            with T.block(f"{name}_{len(SHAPE)}"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = twice_and_one(A[vi, vj].astype("float32"), T.float32(2)) + math.pi
        C[0] = T.int32(math.prod(SHAPE))
        C[1] = sum([n * 2 for n in SHAPE if n > 4]) + 2**3

    assert 'T.block("scaled_2")' in kernel.script()
    _, b, c = run(kernel, np.ones((4, 8), dtype), np.zeros((4, 8), dtype), np.zeros(2, "int32"))
    np.testing.assert_allclose(b, 3 + math.pi, rtol=1e-6)
    assert c.tolist() == [32, 24]


def test_conditions_of_python_are_decided_while_reading() -> None:
    def made(flag: bool, mode: str | None) -> Any:
        @T.prim_func(private=True)
        def kernel(A: T.Buffer((4,), "int32")):
            for i in range(4):
                if flag and mode is None:
                    A[i] = 1
                elif mode == "index":
                    A[i] = i
                else:
                    A[i] = 3

        return kernel

    assert "if" not in made(True, None).script()
    assert "A[i] = 1" in made(True, None).script()
    assert "A[i] = i" in made(False, "index").script()
    assert "A[i] = 3" in made(True, "other").script()


def test_macros_see_the_names_of_their_place_or_of_the_call() -> None:
    at = 3

    @T.macro(hygienic=True)
    def fixed(A: Any, B: Any) -> None:
        B[()] = A[at]

    @T.macro(hygienic=False)
    def moving(A: Any, B: Any) -> None:
        B[()] = A[at]

    @T.prim_func(private=True)
    def uses_fixed(A: T.Buffer((16,), "int32"), B: T.Buffer((), "int32")):
        for at in range(10):  # noqa: B007
            fixed(A, B)

    @T.prim_func(private=True)
    def uses_moving(A: T.Buffer((16,), "int32"), B: T.Buffer((), "int32")):
        for at in range(10):  # noqa: B007
            moving(A, B)

    assert "B[()] = A[3]" in uses_fixed.script()
    assert "B[()] = A[at]" in uses_moving.script()


class Scaled:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    @T.macro
    def store(self, i, *others, source, **buffers):
        vi, vj = T.axis.remap("SS", [i, others[0]])
        buffers["target"][vi, vj] = source[vi, vj] * self.factor


def test_macros_take_what_python_functions_take() -> None:
    scaled = Scaled(5)

    @T.prim_func
    def kernel(A: T.Buffer((4, 4), "int32"), B: T.Buffer((4, 4), "int32")):
        for i, j in T.grid(4, 4):
            with T.block("b"):
                scaled.store(i, j, source=A, target=B)

    assert run(kernel, np.full((4, 4), 2, "int32"), np.zeros((4, 4), "int32"))[1].tolist() == [[10] * 4] * 4


def test_former_spellings() -> None:
    @T.prim_func
    def kernel(A: T.Buffer[(16,), "float32"], p: T.Ptr[T.float32], B: T.Buffer[16]):  # noqa: UP037
        for i in T.thread_binding(4, "threadIdx.x"):
            B[T.ramp(i * 4, 1, 4)] = A[T.ramp(i * 4, 1, 4)] + T.broadcast(T.float32(1), 4)
        x = T.var("float32")
        with T.let(x, A[0]):
            B[0] += x

    assert kernel.buffer_map[kernel.params[2]].dtype == "float32"
    assert kernel.params[1].pointee == "float32"
    assert "[i * 4:i * 4 + 4]" in kernel.script()


def test_words_with_their_dtype_behind_and_pointers_of_buffers() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "int32")):
        for i in range(4):
            B[i] = T.reinterpret(A[i], dtype="int32")
        T.evaluate(T.call_extern("int32", "free", A.access_ptr("r", offset=2)))

    assert 'T.tvm_access_ptr(T.type_annotation("float32"), A.data, 2, 2, 1)' in kernel.script()
    assert from_source(kernel.script()).script() == kernel.script()


def test_calls_by_name_with_their_dtype_behind() -> None:
    """Guards what TVM's older printers wrote: functions of LLVM and of TIR by name, the dtype behind the operands."""

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = T.call_llvm_pure_intrin("llvm.fabs", T.uint32(1), A[i], dtype="float32") + T.call_intrin(
                "tir.exp", A[i], dtype="float32"
            )
        T.evaluate(T.tvm_access_ptr(T.type_annotation(dtype="float32"), A.data, 0, 4, 1, dtype="handle"))

    assert "T.fabs(A[i]) + T.exp(A[i])" in kernel.script()


def test_strides_by_name_and_alignments_by_default() -> None:
    @T.prim_func
    def kernel(a: T.handle):
        A = T.match_buffer(a, (4, 4), strides=["s0", "s1"], align=-1, offset_factor=8)
        A[0, 0] = 1.0

    (buffer,) = kernel.buffer_map.values()
    assert [s.name for s in buffer.strides] == ["s0", "s1"]
    assert buffer.data_alignment == 64
    assert buffer.offset_factor == 8
    assert buffer.elem_offset is not None


def test_kernels_call_those_defined_behind_them() -> None:
    @tvm.script.ir_module
    class Two:
        @T.prim_func
        def main(A: T.Buffer((8,), "int32")):
            for i in range(8):
                A[i] = Two.square(i)

        @T.prim_func(private=True)
        def square(n: T.int32) -> T.int32:
            return n * n

    assert "Two" not in Two.script() or "square" in Two.script()
    assert {v.name_hint for v in Two.functions} == {"main", "square"}


def test_failures_of_called_functions_are_reported_at_the_call() -> None:
    def broken(_: Any) -> Any:
        raise KeyError("nothing")

    with pytest.raises(DiagnosticError, match="broken fails: KeyError"):

        @T.prim_func
        def kernel(A: T.Buffer((4,), "int32")):
            A[0] = broken(1)


@pytest.mark.parametrize("expression", ["print(1)", "A.__class__", "(2 ** 9999)", "f'{A}'.upper()", "open('x')"])
def test_texts_run_nothing(expression: str) -> None:
    text = f"@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n    A[0] = {expression}\n"
    with pytest.raises(DiagnosticError):
        from_source(text)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("A[0] = T.max(*A)", "* needs a sequence, got "),
        ("A[0] = T.max(*[*A, 1])", "* needs a sequence, got "),
        ("A[0] = T.max(*3)", "* needs a sequence, got 3"),
        ("A[0] = T.max(1, 2, **3)", "** spreads arguments by name, got 3"),
        ("A[0] = T.max(1, 2, **{1: 2})", "** spreads arguments by name"),
        (
            "T.evaluate(T.call_extern('int32', f'{1:>1000000000}'))",
            "a format in an f-string is not supported in a script",
        ),
        ("T.evaluate(T.call_extern('int32', f'{(1, 2)}'))", "a tuple in an f-string is not supported in a script"),
    ],
)
def test_what_texts_spread_and_format_has_bounds(statement: str, said: str) -> None:
    """A buffer has no end that * could find: the text was read for ever. The rest left with errors of Python's own."""
    text = f"@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n    {statement}\n"
    with pytest.raises(DiagnosticError) as raised:
        from_source(text)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("first", "again", "said"),
    [
        ('T.meta_var("ab")', "f'{a}{a}'", "more than 1048576 characters"),
        ("T.meta_var((1, 2))", "(*a, *a)", "more than 1048576 items"),
        ("T.meta_var(3)", "a * a", "the value is too large"),
    ],
)
def test_doubling_ends(first: str, again: str, said: str) -> None:
    """Each line doubles what the one before gives: forty of them would ask for more than there is."""
    lines = [f"    a = {first}", *[f"    a = T.meta_var({again})"] * 40, "    A[0] = 1"]
    text = "@T.prim_func\ndef f(A: T.Buffer((4,), 'int32')):\n" + "\n".join(lines) + "\n"
    with pytest.raises(DiagnosticError) as raised:
        from_source(text)
    assert said in str(raised.value)


def test_failing_formats_are_reported_where_they_stand() -> None:
    with pytest.raises(DiagnosticError, match="the f-string fails: ValueError"):

        @T.prim_func
        def kernel(A: T.Buffer((4,), "int32")):
            T.evaluate(T.call_extern("int32", f"{1:zz}"))


def test_loops_by_names_and_choices_of_python() -> None:
    """Guards loops that a script's own names and conditions choose, and branches that are not taken: they were read."""
    loop, fast, width = T.vectorized, True, 8

    @T.prim_func
    def kernel(a: T.Buffer((8,), "float32")) -> None:
        for i in loop(8):
            a[i] = T.float32(1)
        for i in T.unroll(8) if fast else T.serial(8):
            a[i] = T.float32(2)
        T.evaluate(1) if fast else T.nothing(2)
        a[0] = a[1] if width == 8 else a[9, 9]

    text = kernel.script()
    assert "T.vectorized(8)" in text
    assert "T.unroll(8)" in text
    assert "T.evaluate(1)" in text
    assert "a[0] = a[1]" in text
