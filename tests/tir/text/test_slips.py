"""Slips in kernels: the message names the line, and what to write instead."""

from __future__ import annotations

import pytest

from baton._src.support.diagnostics import DiagnosticError
from baton.script import from_source

HEAD = '@T.prim_func\ndef f(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):\n'
LOOP = "    for i in {}:\n        B[i, 0] = A[i, 0]"

SLIPS = {
    LOOP.format("range(0, 16, 2)"): (3, "not 3 arguments", "loops count by 1"),
    LOOP.format("T.serial(16, step=2)"): (3, "not the option 'step'", "loops count by 1"),
    LOOP.format("T.grid()"): (3, "not 0 arguments", "loops count by 1"),
    LOOP.format("T.grid(16, 16)"): (4, "i stands for 2 values where one index is needed", "take one, i[0]"),
    LOOP.format("[1, 2]"): (3, "cannot be looped over", "T.grid"),
    "    for i in range(16):\n        break": (4, "Break", "while"),
    "    for i in range(16):\n        continue": (4, "Continue", "under a condition"),
    "    import numpy": (3, "Import", "in front of the PrimFunc"),
    "    def g(x):\n        return x": (3, "FunctionDef", "T.macro"),
    "    B[0, 0] = (y := A[0, 0])": (3, "NamedExpr", "a line of its own"),
    "    B[0, 0] = np.exp(A[0, 0])": (3, "'np' is not defined", "T.exp"),
    "    print(A[0, 0])": (3, "'print' is not defined", "do not print"),
    "    B[0, 0] = sum([A[0, 0]])": (3, "'sum' is not defined", "in a loop"),
    "    C = T.alloc_buffer()": (3, "declared with a shape", "float32"),
    "    C = T.alloc_buffer((4,), size=3)": (3, "no option 'size'", "float32"),
    '    C = T.allocate_const([1.0], "float32")': (3, "allocate_const needs extents", ""),
    "    B[0] = A[0, 0]": (3, "2 dims, got 1", ""),
    "    B[0, 0] = A[0, k]": (3, "'k' is not defined", ""),
    '    x: T.IterVar("handle", A) = 1': (3, "T.IterVar does not take these arguments", ""),
    "    B[0, 0] = T.call_intrin(A, A)": (3, "T.call_intrin does not take these arguments", ""),
    "    T.evaluate(T.access_ptr(A[0, 0]))": (3, "T.access_ptr does not take these arguments", ""),
    "    B[0, T.ramp(0, 1, T.vscale() * 4)] = 1": (3, "fixed number of lanes, not T.vscale() * 4", ""),
    "    if A[0, 0]:\n        B[0, 0] = A[0, 0]": (3, "must be bool", ""),
    "    B[0, 0] = A": (3, "not the buffer A", ""),
    "    B[0, 0] = A[0, 1 / 2 + T.int32(1) / 2]": (3, "ambiguous", "a // b"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_slips_are_explained(slip: str) -> None:
    """Guards the advice; a step of range was called `1 loop variables but 1 extents`, an unknown option passed over."""
    line, message, advice = SLIPS[slip]
    with pytest.raises(DiagnosticError) as raised:
        from_source(HEAD + slip)
    first = raised.value.diagnostics[0]
    assert message in first.message
    assert advice in (first.help or "")
    assert first.span is not None
    assert first.span.line == line
