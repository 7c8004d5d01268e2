"""Kernels in C do what LLVM's do: memory, vectors, choices, loops that end early, faults, random programs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from baton._src.codegen.c.module import c_source
from baton._src.codegen.llvm.module import compile_module
from baton._src.lower.kernel_schedules.schedule import schedule
from baton._src.runtime.native.library import load
from baton._src.support.diagnostics import DiagnosticError
from baton.script import from_source
from tests.at_length import seeds_at_length
from tests.codegen import native_run
from tests.codegen.c.c_run import C, build_c, library_of, needs_compiler
from tests.codegen.native_run import HOST, OLD, agree, call
from tests.codegen.test_kernels import (  # noqa: F401
    test_assertions_become_faults,
    test_choices_among_many_take_no_stack,
    test_halves_of_vectors,
    test_indices_may_be_unsigned,
    test_literals_that_are_nan_of_any_bits,
    test_loops_of_a_negative_number_of_iterations_do_nothing,
    test_loops_over_unsigned_numbers,
    test_narrow_sums_wrap_in_vectors_too,
    test_padding_reads_nothing_outside,
    test_sums_of_some_lanes_are_not_merged,
    test_work_buffers_of_more_bytes_than_numbers_go,
)
from tests.properties.tir.agreement import Checker

pytestmark = needs_compiler
HEAD = "from baton.script import tir as T\n\n@T.prim_func\ndef main"


@pytest.fixture(autouse=True)
def in_c(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """What runs natively runs as C, and does nothing that C leaves undefined."""
    monkeypatch.setattr(native_run, "build", build_c)
    yield
    assert "runtime error" not in capfd.readouterr().err


def check_random_kernel(seed: int) -> None:
    with np.errstate(all="ignore"):
        checker = Checker(seed)
        target = (C, HOST, OLD)[seed % 3]
        for way, func in ("as written", checker.kernel.func), ("scheduled", schedule(checker.kernel.func, target)):
            checker.require(checker.native(func, target=target), f"C, {way}, seed {seed}", func)


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels(seed: int) -> None:
    """Guards every statement and dtype beside every other, as loops of numbers and of vectors."""
    check_random_kernel(seed)


@pytest.mark.fuzz
def test_many_random_kernels() -> None:
    for seed in seeds_at_length(400):
        check_random_kernel(seed)


def test_vectors_of_scripts() -> None:
    """Guards loads before stores, strided and gathered lanes, masks, shuffles, lets of vectors."""
    func = from_source(
        HEAD
        + """(A: T.Buffer((32,), "float32"), I: T.Buffer((8,), "int32"), C: T.Buffer((32,), "float32")):
    C[T.Ramp(1, 1, 8)] = C[T.Ramp(0, 1, 8)] + T.Broadcast(T.float32(2), 8)
    C[T.Ramp(16, 2, 8)] = A[I[T.Ramp(0, 1, 8)]]
    C[T.Ramp(9, 1, 4)] = T.Shuffle([A[T.Ramp(0, 1, 4)], A[T.Ramp(8, 1, 4)]], [7, 0, 5, 2])
    with T.LetStmt(A[T.Ramp(4, 3, 4)] * T.Broadcast(A[0], 4)) as v:
        C[T.Ramp(24, 2, 4)] = v + T.Cast("float32x4", T.Ramp(0, 5, 4))
    if T.Ramp(0, 1, 8) < T.Broadcast(3, 8):
        with T.LetStmt(T.Ramp(0, 1, 8)) as r:
            C[T.Ramp(20, 1, 8)] = T.if_then_else(r > T.Broadcast(0, 8), A[r], C[r])
"""
    )
    generator = np.random.default_rng(0)
    data, places = generator.random(32, "float32"), generator.integers(0, 32, 8, "int32")
    before = generator.random(32, "float32")
    found, wanted = before.copy(), before.copy()
    assert call(build_c(func), func, data, places, found) is None
    assert call(load(compile_module({"f": func}, HOST)), func, data, places, wanted) is None
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert np.count_nonzero(found != before) > 20


def test_memory_of_two_types() -> None:
    """Guards reads of bytes that were written as another type, which C leaves undefined through plain pointers."""
    func = from_source(
        HEAD
        + """(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        B = T.decl_buffer((4,), "int32", data=A.data)
        A[i] = A[i] + T.float32(1)
        C[i] = B[i]
        B[i] = B[i] + 1
"""
    )
    given, found = np.arange(4, dtype="float32"), np.zeros(4, "int32")
    assert call(build_c(func), func, given, found) is None
    np.testing.assert_array_equal(found, (np.arange(4, dtype="float32") + 1).view("int32"))
    np.testing.assert_array_equal(given.view("int32"), found + 1)


def test_large_work_buffers_and_early_exits() -> None:
    """Guards that memory is freed, once, on each way out of a loop and of the function."""
    func = from_source(
        HEAD
        + """(A: T.Buffer((3,), "int32"), C: T.Buffer((1,), "int32")):
    for i in range(100):
        B = T.decl_buffer((5000,), "int32")
        with T.block("root"):
            pass
        B[4999] = A[i % 3] + i
        if B[4999] == 7:
            C[0] = i
            T.evaluate(T.ret(0))
        if B[4999] == 5:
            T.evaluate(T.continue_loop())
        C[0] = -1
"""
    )
    text = c_source({"f": func}, C, exported=["f"]).text
    assert text.count("BATON_FREE(B);") == 3
    found = np.zeros(1, "int32")
    assert call(library_of(text), func, np.array([0, 3, 4], "int32"), found) is None
    assert found[0] == 4


def test_faults_tell_the_index() -> None:
    """Guards that an index which depends on data is tested, and that the message has its value."""
    func = from_source(
        HEAD
        + """(A: T.Buffer((8,), "float32"), I: T.Buffer((4,), "int32"), C: T.Buffer((4,), "float32")):
    for i in range(4):
        C[i] = A[I[i]]
"""
    )
    fault = call(build_c(func), func, np.zeros(8, "float32"), np.array([0, 7, -3, 2], "int32"), np.zeros(4, "float32"))
    assert fault is not None
    assert "-3" in fault
    assert "8" in fault


def test_functions_of_c() -> None:
    """Guards calls of C's own functions, of those that a kernel brings along, and the order of calls with effects."""
    func = from_source(
        HEAD
        + '''(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    T.attr(0, "pragma_import_c", """
static float scaled(float* from, int32_t place) { return from[place] * 3; }
static int32_t count = 0;
static int32_t counted(void) { return count++; }
""")
    for i in range(4):
        C[i] = T.call_extern("float32", "scaled", A.data, i)
        C[i] = C[i] + T.call_pure_extern("float32", "fmaxf", A[i], T.float32(2))
        C[i] = C[i] + T.Cast("float32", T.call_extern("int32", "counted") * 10 + T.call_extern("int32", "counted"))
'''
    )
    given, found = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    assert call(build_c(func), func, given, found) is None
    counted = [(2 * n) * 10 + 2 * n + 1 for n in range(4)]
    np.testing.assert_array_equal(found, given * 3 + np.maximum(given, 2) + np.array(counted, "float32"))


def test_packed_functions_are_refused() -> None:
    """Guards an error instead of C that does not link."""
    func = from_source(HEAD + '(A: T.Buffer((1,), "float32")):\n    T.evaluate(T.call_packed("my.f", A[0]))\n')
    with pytest.raises(DiagnosticError, match="packed functions"):
        c_source({"f": func}, C)


def test_what_is_written_is_plain_c() -> None:
    """Guards code that people read: plain loops and indices, the names of the script, nothing that is not used."""
    func = from_source(
        HEAD
        + """(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8, 4), "float32")):
    for i, j in T.grid(8, 4):
        with T.block("C"):
            x, y = T.axis.remap("SS", [i, j])
            C[x, y] = A[x, y] * T.float32(0.5)
"""
    )
    text = c_source({"halved": func}, C).text
    body = text[text.rindex("static int32_t halved") :]
    assert "float* A, float* C) {" in body
    assert "C[i * 4 + j] = A[i * 4 + j] * 0.5f;" in body
    assert "baton_fault" not in text


def test_literals_of_64_bits() -> None:
    """Guards differences and products of literals that were computed in 32 bits: 6 - 11 as uint64, sizes as int64."""
    func = from_source(
        HEAD
        + """(A: T.Buffer((2,), "bool"), C: T.Buffer((2,), "uint64"), D: T.Buffer((2,), "int64")):
    for i in range(2):
        C[i] = T.Select(A[i], T.uint64(7), T.uint64(6)) - T.uint64(11)
        D[i] = T.if_then_else(A[i], T.int64(100000), T.int64(2)) * T.if_then_else(A[i], T.int64(100000), T.int64(3))
"""
    )
    agree(func, np.array([True, False]), np.zeros(2, "uint64"), np.zeros(2, "int64"))
