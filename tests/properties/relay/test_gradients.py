"""Gradients of random functions are their slopes, by both ways of differentiating, interpreted and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relay.executors import create_executor
from baton._src.ir.module import IRModule
from baton._src.passes.relay.gradients.gradient import gradient
from baton._src.passes.relay.gradients.higher_order_gradient import higher_order_gradient
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.interpreter import Interpreter
from baton._src.relay.nodes import Function
from baton._src.relay.text.printer import astext
from tests.at_length import seeds_at_length
from tests.relay.differentiable import SHAPES, differentiable
from tests.relay.programs import plain

STEP = 1e-6


def _typed(function: Function) -> Function:
    return infer_type(IRModule.from_expr(function))["main"]


def _ways(function: Function, is_dataflow: bool) -> dict[str, Function]:
    """By name the functions that give value and gradients."""
    found = {"dual numbers": higher_order_gradient(function, IRModule())}
    if is_dataflow:
        found["reverse mode"] = gradient(function, mode="first_order")
    return found


def _slope(value: Any, inputs: list[Any], direction: list[Any]) -> float:
    ends = [value(*[x + sign * STEP * d for x, d in zip(inputs, direction)]) for sign in (1, -1)]
    return (float(ends[0]) - float(ends[1])) / (2 * STEP)


def check(seed: int, compiled: bool) -> None:
    is_dataflow = seed % 2 == 0
    function = _typed(differentiable(seed, is_dataflow))
    rng = np.random.default_rng(seed)
    inputs = [rng.uniform(-1, 1, shape) for shape in SHAPES]
    direction = [rng.uniform(-1, 1, shape) for shape in SHAPES]

    def value(*given: Any) -> Any:
        return plain(Interpreter().evaluate(function)(*given))

    slope = _slope(value, inputs, direction)
    for name, made in _ways(function, is_dataflow).items():
        about = f"seed {seed}, {name}:\n{astext(function)}"
        found, grads = plain(Interpreter().evaluate(made)(*inputs))
        assert np.allclose(found, value(*inputs)), about
        assert [np.shape(g) for g in grads] == list(SHAPES), about
        total = sum(float(np.sum(np.asarray(g) * d)) for g, d in zip(grads, direction))
        assert total == pytest.approx(slope, rel=1e-4, abs=1e-5), about
        if compiled:
            again = plain(create_executor("vm", IRModule.from_expr(made)).evaluate()(*inputs))
            for ours, theirs in zip([again[0], *again[1]], [found, *grads], strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9, err_msg=about)


@pytest.mark.parametrize("seed", range(10))
def test_gradients(seed: int) -> None:
    """Guards gradients of operators behind one another, of shared values, and through ifs, calls and references.

    Two of either kind are compiled, hundreds in `make fuzz`.
    """
    check(seed, compiled=seed in (0, 1, 6, 7))


@pytest.mark.fuzz
def test_many_gradients() -> None:
    for seed in seeds_at_length(1000):
        print(seed, flush=True)
        check(seed, compiled=seed % 4 < 2)
