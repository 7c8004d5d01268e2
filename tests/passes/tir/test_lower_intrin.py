"""LowerIntrin and InjectVirtualThread: what they leave computes the same, without what they take out."""

from __future__ import annotations

import numpy as np
import pytest

from baton import tir
from baton._src.ir.module import IRModule
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.schedule.schedule import Schedule
from baton._src.tir.text.parser import parse_text
from baton.script import tir as T
from tests.passes.tir.test_steps import LOWERED, X, after, of, twice


@T.prim_func
def places(A: T.Buffer((24,), "int32"), B: T.Buffer((24,), "int32")):
    for i in range(24):
        if T.likely(i < 20):
            B[i] = A[i // 4 * 4 + i % 4] + T.floordiv(A[i] - 5, 3) + T.floormod(A[i] - 5, 3)


def test_floor_division_becomes_truncating_division() -> None:
    """Guards shifts and masks for powers of 2, and signs taken into account elsewhere; hints go."""
    made = after(places, X.LowerIntrin())
    assert not of(tir.FloorDiv, made)
    assert not of(tir.FloorMod, made)
    text = made.script()
    assert "T.shift_right(i, 2) * 4 + T.bitwise_and(i, 3)" in text
    assert "T.Div(A[i] - 5, 3) + T.shift_right(T.truncmod(A[i] - 5, 3), 31)" in text
    assert not any(call.op.name == "tir.likely" for call in of(tir.Call, made))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_every_sign_rounds_down(dtype: str) -> None:
    """Guards quotients and remainders of all signs against Python's, 0 where the divisor is, and their dtypes: narrow
    ones became int32."""
    func = parse_text(f"""
@T.prim_func
def main(A: T.Buffer((81,), "{dtype}"), B: T.Buffer((81,), "{dtype}"), Q: T.Buffer((81,), "{dtype}"),
         R: T.Buffer((81,), "{dtype}")):
    for i in range(81):
        Q[i] = T.floordiv(A[i], B[i]) + T.floordiv(A[i], T.Cast("{dtype}", 3)) + T.Cast("{dtype}", (i - 7) // 3 % 5)
        R[i] = T.floormod(A[i], B[i])
""")
    made = X.LowerIntrin()(IRModule({"main": func}))["main"]
    assert {str(store.value.dtype) for store in of(tir.BufferStore, made)} == {dtype}
    reach = range(-4, 5) if dtype != "uint8" else range(9)
    a, b = (np.array(values, dtype) for values in zip(*((x, y) for x in reach for y in reach)))
    q, r = np.zeros((2, 81), dtype)
    run_prim_func(made, [a, b, q, r])
    pairs = [(int(x), int(y)) for x, y in zip(a, b)]
    assert q.tolist() == [(x // y if y else 0) + x // 3 + (n - 7) // 3 % 5 for n, (x, y) in enumerate(pairs)]
    assert r.tolist() == [x % y if y else 0 for x, y in pairs]


def test_virtual_threads_become_loops() -> None:
    """Guards loops that a schedule bound to virtual threads; threads of devices stay."""
    sch = Schedule(twice)
    i, j = sch.get_loops("C")
    sch.bind(i, "vthread.x")
    sch.bind(j, "threadIdx.x")
    made = after(sch.func, X.InjectVirtualThread())
    bound = [loop.thread_binding.thread_tag for loop in of(tir.For, made) if loop.thread_binding is not None]
    assert bound == ["threadIdx.x"]
    lowered = after(sch.func, *LOWERED, X.InjectVirtualThread())
    assert {attr.attr_key for attr in of(tir.AttrStmt, lowered)} <= {"thread_extent"}
