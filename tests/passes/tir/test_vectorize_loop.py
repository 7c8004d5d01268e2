"""VectorizeLoop: which statements of a loop become vectors, and which stay loops."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.passes.tir.lowering.loop_steps import VectorizeLoop
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.text.parser import parse_text
from baton._src.tir.text.printer import script
from tests.codegen.native_run import agree

LOOP = """
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
    for i in T.vectorized(4):
"""


def made(*statements: str) -> str:
    """The text of a loop with these statements, made vectors; what it does is unchanged."""
    func = parse_text(LOOP + "".join(f"        {s}\n" for s in statements))
    found = VectorizeLoop()(IRModule({"main": func}))["main"]
    for n in (0, 2, 4):
        expected, seen = ([np.arange(64, dtype="float32") + k for k in (1, 100)] for _ in range(2))
        run_prim_func(func, [*expected, n])
        run_prim_func(found, [*seen, n])
        np.testing.assert_array_equal(seen, expected)
    return script(found).split("\n", 4)[-1].strip()


def test_statements_without_a_vector_are_loops_between_the_others() -> None:
    """Guards that one condition on the lane does not make the whole loop serial."""
    text = made(
        "B[i + 8] = A[i] * T.float32(2)", "if i < n:", "    A[i + 8] = B[i]", "A[20] = B[i]", "B[i + 40] = A[i + 24]"
    )
    assert "B[8:12] = A[0:4] * T.Broadcast(T.float32(2), 4)" in text
    assert "B[40:44] = A[24:28]" in text
    assert text.count("for i in range(4):") == 1


@pytest.mark.parametrize(
    "statements",
    [
        ("A[i + 1] = A[i]",),
        ("B[i + 20] = A[i]", "if i < n:", "    B[i + 8] = A[i]", "A[i + 1] = B[i]"),
    ],
)
def test_iterations_that_need_each_other_stay_one_loop(statements: tuple[str, ...]) -> None:
    """Guards elements that earlier iterations store, which a vector would read before."""
    assert made(*statements).startswith("for i in range(4):")


def test_calls_keep_their_order() -> None:
    """Guards effects of calls, which a loop of their own would put behind those of all other statements."""
    func = parse_text(
        LOOP + '        T.evaluate(T.call_extern("int32", "f", i))\n        B[i] = A[i]\n        A[20] = B[i]\n'
    )
    found = VectorizeLoop()(IRModule({"main": func}))["main"]
    assert script(found).count("for i in range(4):") == 1
    assert "B[i] = A[i]" in script(found)


@pytest.mark.parametrize("extent", ["0", "3, 1"])
def test_loops_without_turns_stay_as_they_are(extent: str) -> None:
    """Guards vectors of no or fewer lanes, which no dtype has."""
    func = parse_text(LOOP.replace("T.vectorized(4)", f"T.vectorized({extent})") + "        B[i] = A[i]\n")
    found = VectorizeLoop()(IRModule({"main": func}))["main"]
    assert "Broadcast" not in script(found)
    b = np.zeros(64, "float32")
    run_prim_func(found, [np.ones(64, "float32"), b, 0])
    assert not b.any()


def test_a_value_for_all_lanes_is_named_within_a_vector() -> None:
    """Guards `Let` of a number with a body of vectors, whose code LLVM rejected: its dtype stayed that of one lane."""
    loop = LOOP.replace(", n: T.int32", "") + "        B[i] = T.Let(t + A[i], where={t: A[9]})\n"
    agree(parse_text(loop), *(np.arange(64, dtype="float32") for _ in range(2)))
