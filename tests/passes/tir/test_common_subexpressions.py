"""CommonSubexprElimTIR: what is named, where, and that the kernel computes the same."""

from __future__ import annotations

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.ir.module import IRModule
from baton._src.passes.tir.common_subexpressions import CommonSubexprElimTIR
from baton._src.tir.analysis.check import verify_well_formed
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import Add, IntImm
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import BufferStore
from baton._src.tir.text.parser import parse_text
from baton._src.tir.text.printer import script

NESTED = """
def main(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32"), y: T.int32):
    for i in range(8):
        for j in range(8):
            if y * 3 < 5:
                A[i * 8 + j] = B[i * 8 + j] + T.if_then_else(y != 0, i // y, 0) + T.if_then_else(y != 0, i // y, 1)
            else:
                A[i * 8 + j] = B[i * 4 + 3] + (i * 4 + 3)
"""


def shared(func: PrimFunc, **options: bool) -> PrimFunc:
    found: PrimFunc = CommonSubexprElimTIR(**options)(IRModule({"main": func}))["main"]
    return found


def test_values_are_named_where_all_uses_meet() -> None:
    """Guards places: around the condition, inside one branch; divisions that may fail stay under their conditions."""
    func = parse_text(NESTED)
    found = shared(func)
    lines = [line.strip() for line in script(found).splitlines()]
    assert lines.index("cse_var_1: T.int32 = i * 8 + j") < lines.index("if y * 3 < 5:")
    assert lines[lines.index("else:") + 1].endswith(": T.int32 = i * 4 + 3")
    assert any(line.startswith("A[cse_var_1] = B[cse_var_1]") and line.count("i // y") == 2 for line in lines)
    assert verify_well_formed(found)
    for y in (0, 1, 3):
        before, after = np.zeros(64, "int32"), np.zeros(64, "int32")
        b = np.arange(64, dtype="int32")
        run_prim_func(func, [before, b, y])
        run_prim_func(found, [after, b, y])
        np.testing.assert_array_equal(after, before)


def test_values_of_values() -> None:
    """Guards that a part of a named value is named only if it is used elsewhere, too."""
    text = """
def main(A: T.Buffer((64,), "int32"), x: T.int32, y: T.int32):
    A[(x + y) * 2] = (x + y) * 2 + 1
    A[(x + y) * 2 + 1] = {}
"""
    once, twice = (script(shared(parse_text(text.format(last)))) for last in ("x", "x + y"))
    assert "cse_var_1: T.int32 = (x + y) * 2\n" in once
    assert "cse_var_1: T.int32 = x + y\n    cse_var_2: T.int32 = cse_var_1 * 2\n" in twice
    assert "A[cse_var_3] = cse_var_1" in twice


def test_options_and_what_stays() -> None:
    """Guards the switch, one form for equal terms, memory that is read, and zeros of either sign."""
    text = 'def main(A: T.Buffer((64,), "int32"), x: T.int32, y: T.int32):\n    A[x * 2 + y] = y + x * 2'
    func = parse_text(text)
    assert shared(func, enable_cse_tir=False).body is func.body
    assert "cse_var_1: T.int32 = x * 2" in script(shared(func))
    assert "A[cse_var_1] = cse_var_1" in script(shared(func, identify_equiv_terms=True))
    reads = 'def main(A: T.Buffer((64,), "int32")):\n    A[0] = A[1] + 1\n    A[1] = A[1] + 1'
    assert "cse_var" not in script(shared(parse_text(reads)))
    zeros = "def main(A: T.Buffer((2,)), x: T.float32):\n    A[0] = x + T.float32(0)\n    A[1] = x + T.float32(-0.0)"
    assert "cse_var" not in script(shared(parse_text(zeros)))


def test_expressions_that_share_parts_take_no_time() -> None:
    """Guards against the Python stack, and against walking a graph as a tree: 2 ** 3000 paths."""
    func = parse_text('def main(A: T.Buffer((4,), "int32"), x: T.int32):\n    A[0] = x')
    total: PrimExpr = func.params[1]
    for _ in range(3_000):
        total = Add(total, total)
    (buffer,) = func.buffer_map.values()
    store = BufferStore(buffer, total, (IntImm("int32", 0),))
    found = shared(func.with_fields(body=store))
    assert not isinstance(found.body, BufferStore)


def test_sizes_of_buffers_stay() -> None:
    """Guards which buffer is accessed: with its size named, it was another one than that allocated."""
    func = parse_text(
        "def main(a: T.handle, b: T.handle):\n    n = T.int32()\n    A = T.match_buffer(a, (n + 1,))\n"
        "    B = T.match_buffer(b, (n + 1,))\n    C = T.alloc_buffer((n + 1,))\n    for i in range(n + 1):\n"
        "        C[i] = A[i]\n    for i in range(n + 1):\n        B[i] = C[n + 1 - i - 1]"
    )
    found = shared(func)
    assert "cse_var_1: T.int32 = n + 1" in script(found)
    assert verify_well_formed(found)
