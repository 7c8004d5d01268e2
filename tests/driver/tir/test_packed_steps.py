"""Kernels that call packed functions: taken apart into native steps and calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import baton
from baton import nd, te, tir
from baton._src.support.diagnostics import DiagnosticError
from baton.script import tir as T


@pytest.fixture(autouse=True)
def functions() -> Iterator[list[Any]]:
    """`steps.scale(x, out, factor)` and `steps.note(values...)`, and what the latter was given."""
    noted: list[Any] = []

    def scale(x: Any, out: Any, factor: float) -> None:
        out.copyfrom(x.numpy() * factor)

    baton.register_func("steps.scale", scale, override=True)
    baton.register_func("steps.note", lambda *values: noted.append(values), override=True)
    yield noted
    for name in ("steps.scale", "steps.note"):
        baton._ffi.registry.remove_global_func(name)


def built(*tensors: Any) -> Any:
    return baton.build(te.create_prim_func(list(tensors)))


@pytest.mark.parametrize("size", [5, None])
def test_extern_tensors_stand_between_computed_ones(size: int | None) -> None:
    """Guards te.extern with call_packed, before and after loops, with memory between them of sizes known or not."""
    n = te.var("n") if size is None else size
    a = te.placeholder((n, 3), name="A")
    b = te.compute((n, 3), lambda i, j: a[i, j] + 1, name="B")
    c = te.extern((n, 3), [b], lambda ins, outs: tir.call_packed("steps.scale", ins[0], outs[0], 3.0), name="C")
    d = te.compute((n, 3), lambda i, j: c[i, j] - a[i, j], name="D")
    x = np.arange(15, dtype="float32").reshape(5, 3)
    out = nd.empty((5, 3))
    built(a, d)(nd.array(x), out)
    np.testing.assert_array_equal(out.numpy(), (x + 1) * 3 - x)


def test_kernels_in_steps_are_saved_and_measured(tmp_path: Path) -> None:
    """Guards export_library, load_module, entry_name and time_evaluator of such kernels."""
    a = te.placeholder((4,), name="A")
    b = te.extern((4,), [a], lambda ins, outs: tir.call_packed("steps.scale", ins[0], outs[0], 2.0), name="B")
    c = te.compute((4,), lambda i: b[i] + 1, name="C")
    module = built(a, c)
    assert module.entry_name == "main"
    module.export_library(tmp_path / "kernels.so")
    loaded = baton.runtime.load_module(tmp_path / "kernels.so")
    out = nd.empty((4,))
    loaded["main"](nd.array(np.ones(4, "float32")), out)
    np.testing.assert_array_equal(out.numpy(), 3)
    assert len(module.time_evaluator("main", number=1)(nd.array(np.ones(4, "float32")), out).results) == 1


def test_calls_of_scripts_get_numbers_texts_and_sizes(functions: list[Any]) -> None:
    """Guards operands, the order of calls, and a kernel that is nothing but calls."""

    @T.prim_func
    def kernel(a: T.handle, k: T.int32, f: T.float32):
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        T.evaluate(T.call_packed("steps.note", A.data, k, n * 2, f, "text", 7, T.bool(True)))
        T.call_packed("steps.note", 1)

    baton.build(kernel)(nd.array(np.zeros(3, "float32")), 5, 2.5)
    (tensor, *others), (one,) = functions
    assert tensor.shape == (3,)
    assert others == [5, 6, 2.5, "text", 7, True]
    assert one == 1


def test_what_is_given_is_checked_before_anything_runs(functions: list[Any]) -> None:
    """Guards arguments: the first step is a call, which takes anything."""

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        T.call_packed("steps.note", A.data)
        for i in range(4):
            B[i] = A[i]

    x = nd.array(np.zeros(4, "float32"))
    with pytest.raises(DiagnosticError, match="dimension 0 is 3"):
        baton.build(kernel)(x, nd.empty((3,)))
    assert functions == []


def test_calls_inside_loops_are_refused() -> None:
    """Guards what no step can be."""

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32")):
        for i in range(4):
            T.call_packed("steps.note", A.data, i)

    with pytest.raises(DiagnosticError, match="inside a For"):
        baton.build(kernel)


def test_operands_that_are_read_from_memory_are_refused() -> None:
    """Guards operands that nobody knows when the kernel starts."""

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32")):
        T.call_packed("steps.note", A[0])

    with pytest.raises(DiagnosticError, match="nor known when it starts"):
        baton.build(kernel)


def test_functions_that_are_not_registered_are_named_when_they_are_called() -> None:
    """Guards the look-up: a function may be registered after the kernel was built."""

    @T.prim_func
    def kernel(A: T.Buffer((4,), "float32")):
        T.call_packed("steps.nobody", A.data)

    module = baton.build(kernel)
    with pytest.raises(DiagnosticError, match=r"no packed function 'steps\.nobody'"):
        module(nd.array(np.zeros(4, "float32")))
