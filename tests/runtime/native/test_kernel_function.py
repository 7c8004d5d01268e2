"""Kernels called like before: what may differ from a call that was checked is checked again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton._src.runtime.native import kernel_function
from baton._src.support.diagnostics import DiagnosticError
from baton.script import tir as T


@T.prim_func
def scaled(a: T.handle, count: T.int32, factor: T.float32, b: T.handle) -> None:
    T.func_attr({"global_symbol": "scaled"})
    n = T.int64()
    x = T.match_buffer(a, (n,), "float32")
    y = T.match_buffer(b, (n,), "float32")
    for i in range(count):
        y[i] = x[i] * factor


@pytest.fixture(scope="module")
def kernel() -> Any:
    return tvm.build(scaled, target="llvm")["scaled"]


def run(kernel: Any, count: Any, factor: Any = 2.0, size: int = 4, out: int = 4) -> list[float]:
    result = tvm.nd.array(np.zeros(out, "float32"))
    kernel(tvm.nd.array(np.arange(size, dtype="float32")), count, factor, result)
    return list(result.numpy())


def test_a_call_like_the_last_one_is_not_checked(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(kernel, 4) == [0, 2, 4, 6]
    monkeypatch.setattr(kernel_function, "bind_arguments", None)
    assert run(kernel, 3, 3.0) == [0, 3, 6, 0]
    assert run(kernel, 4) == [0, 2, 4, 6]


def test_what_is_not_like_the_last_call_is_checked(kernel: Any) -> None:
    assert run(kernel, 4) == [0, 2, 4, 6]
    with pytest.raises(DiagnosticError, match="dimension 0 is 3"):
        run(kernel, 2, out=3)
    assert run(kernel, 2, size=3, out=3) == [0, 2, 0]
    assert run(kernel, np.int32(1), np.float32(3)) == [0, 0, 0, 0]
    for unfit in (2**31, 1.5):
        for _ in range(2):
            with pytest.raises(DiagnosticError, match="a scalar of dtype int32"):
                run(kernel, unfit)
    assert run(kernel, 4) == [0, 2, 4, 6]
    given, result = (tvm.nd.array(np.ones(4, "float32")) for _ in range(2))
    result.data.flags.writeable = False
    with pytest.raises(DiagnosticError, match="may only be read"):
        kernel(given, 4, 2.0, result)
    with pytest.raises(DiagnosticError, match="4 arguments"):
        kernel(given, 4, 2.0)


def test_strided_tensors_are_copied_each_time(kernel: Any) -> None:
    """Guards the addresses that a call like the last one passes."""
    strided = tvm.nd.array(np.zeros(4, "float32"))
    strided.data = np.arange(8, dtype="float32")[::2]
    for _ in range(2):
        result = tvm.nd.array(np.zeros(4, "float32"))
        kernel(strided, 4, 1.0, result)
        assert list(result.numpy()) == [0, 2, 4, 6]
