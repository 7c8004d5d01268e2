"""Rewriting, by patterns and by passes, where tensors are written between the bindings that belong together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton import relax
from baton._src.ir.module import IRModule
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.nodes import Function
from baton.relax import transform
from baton.relax.dpl import is_const, is_op, rewrite_call, wildcard
from baton.script import relax as R
from tests.relax.build import module
from tests.relax.machines import table

INPUT = wildcard()
RELU_OF_NEGATIVE = is_op("relax.nn.relu")(is_op("relax.negative")(INPUT))
CALL, ON_Y, ON_Q = (f'R.call_packed("test.inc", {name}, sinfo_args=R.Tuple())' for name in "xyq")
SCORES = ("q = R.reshape(x, (1, 2, 2))", "k = R.permute_dims(q, [0, 2, 1])", "a = R.matmul(q, k)")


def _increase(x: Any) -> None:
    x.data[...] += 1


def main_of(*lines: str) -> IRModule:
    """An impure `main(x, c)` of these lines."""
    head = '@R.function(pure=False)\ndef main(x: R.Tensor((2, 2), "float32"), c: R.Tensor((), "bool")):\n'
    found: IRModule = module(head + "\n".join("    " + line for line in lines))
    return found


def rewritten(whole: IRModule, pattern: Any, rule: Callable[[Any, Any], Any]) -> IRModule:
    """Every function by this rule."""
    functions = {v: rewrite_call(pattern, rule, f) for v, f in whole.functions.items() if isinstance(f, Function)}
    return whole.with_functions(functions)


def same_results(before: IRModule, after: IRModule) -> None:
    """Both give the same for either branch."""
    for flag in (True, False):
        x = np.array([[1, -2], [3, 0.5]], np.float32)
        args = x, np.bool_(flag)
        found, expected = (Interpreter(m, table(inc=_increase))["main"](x.copy(), args[1]) for m in (after, before))
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)


def reversed_minimum(expr: Any, found: Any) -> Any:
    """max(-x, 0) as -min(x, 0)."""
    return R.negative(R.minimum(found[INPUT], relax.const(0.0)))


@pytest.mark.rule("RELAX-DPL-1")
@pytest.mark.parametrize(
    "lines",
    [
        ("y = R.negative(x)", CALL, "z = R.nn.relu(y)", "return z"),
        ("t = R.tanh(x)", "y = R.negative(t)", ON_Y, "z = R.nn.relu(y)", "return z"),
        ("y = R.negative(x)", "if c:", f"    {CALL}", "    z = R.nn.relu(y)", "else:", "    z = R.exp(y)", "return z"),
        (
            "y = R.negative(x)",
            "@R.function",
            'def later(a: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):',
            "    b = R.nn.relu(y)",
            "    return b",
            CALL,
            "z = later(x)",
            "return z",
        ),
    ],
    ids=["between", "of what was found", "in a branch", "before the function is called"],
)
def test_matches_reach_over_no_write(lines: tuple[str, ...]) -> None:
    """What was computed from a tensor before it was written was computed from it afterwards."""
    before = main_of(*lines)
    after = rewritten(before, RELU_OF_NEGATIVE, reversed_minimum)
    assert "R.minimum" not in repr(after)
    same_results(before, after)


@pytest.mark.parametrize(
    "lines",
    [
        (CALL, "y = R.negative(x)", "z = R.nn.relu(y)", "return z"),
        ("t = R.tanh(x)", "y = R.negative(t)", CALL, "z = R.nn.relu(y)", "return z"),
    ],
    ids=["before", "of a tensor nobody else sees"],
)
def test_matches_reach_over_writes_of_other_tensors(lines: tuple[str, ...]) -> None:
    """An effect does not stop rewriting altogether."""
    before = main_of(*lines)
    after = rewritten(before, RELU_OF_NEGATIVE, reversed_minimum)
    assert "R.minimum" in repr(after)
    same_results(before, after)


def test_constants_that_are_written_are_none() -> None:
    """A constant is a new tensor each time; what is known of it holds until somebody writes it."""
    before = main_of("y = R.const([[1.0, 2.0], [3.0, 4.0]])", ON_Y, "z = R.multiply(x, y)", "return z")
    weight = is_const()
    after = rewritten(
        before,
        is_op("relax.multiply")(INPUT, weight),
        lambda e, m: R.divide(m[INPUT], R.divide(relax.const(1.0), m[weight])),
    )
    same_results(before, after)


@pytest.mark.parametrize(("written", "returned"), [("y", "z"), ("z", "y")])
def test_a_replacement_is_no_name_of_a_tensor_that_is_written(written: str, returned: str) -> None:
    """Operators give tensors of their own: a rule for one that gives its operand is for tensors nobody writes."""
    call = f'R.call_packed("test.inc", {written}, sinfo_args=R.Tuple())'
    before = main_of("y = R.abs(x)", "z = R.abs(y)", call, f"return {returned}")
    same_results(before, rewritten(before, is_op("relax.abs")(INPUT), _known_positive))


def _known_positive(expr: Any, found: Any) -> Any:
    """|y| as y."""
    return found[INPUT] if found[INPUT].name_hint == "y" else None


@pytest.mark.parametrize(
    ("step", "lines"),
    [
        ("RemoveRedundantReshape", ("y = R.reshape(x, (4,))", CALL, "z = R.reshape(y, (2, 2))", "return z")),
        ("FuseTransposeMatmul", ("y = R.permute_dims(x)", CALL, "z = R.matmul(x, y)", "return z")),
        ("AdjustMatmulOrder", ("y = R.matmul(x, x)", CALL, "z = R.matmul(x, y)", "return z")),
        ("ExpandMatmulOfSum", ("y = R.add(x, x)", CALL, "z = R.matmul(x, y)", "return z")),
        ("FoldConstant", ("y = R.const([1.0, 2.0])", ON_Y, "z = R.add(y, R.const([1.0, 2.0]))", "return z")),
        ("FoldConstant", ("y = R.add(R.const([1.0]), R.const([2.0]))", ON_Y, "z = R.add(y, R.const(1.0))", "return z")),
        ("FoldConstant", ("t = (R.const([1.0]), x)", "y = t[0]", ON_Y, "z = R.add(t[0], R.const(1.0))", "return z")),
        ("FakeQuantize", ("y = R.quantize(x, SCALE, ZERO)", CALL, "z = R.dequantize(y, SCALE, ZERO)", "return z")),
        ("FuseAttention", (*SCORES, "b = R.nn.softmax(a)", ON_Q, "c = R.matmul(b, q)", "return c")),
        ("FuseAttention", (*SCORES, ON_Q, "b = R.nn.softmax(a)", "c = R.matmul(b, q)", "return c")),
        (
            "FuseAttention",
            (
                *SCORES,
                "b = R.nn.softmax(a)",
                "c = R.matmul(b, q)",
                ON_Q,
                "d = R.permute_dims(c, [0, 2, 1])",
                "return d",
            ),
        ),
    ],
)
def test_passes_look_behind_no_write(step: str, lines: tuple[str, ...]) -> None:
    """Passes that look at what operands were computed from, by patterns and otherwise, take it for what it was."""
    before = main_of(*(line.replace("SCALE", "R.const(0.5)").replace("ZERO", 'R.const(0, "int8")') for line in lines))
    same_results(before, getattr(transform, step)()(before))
