"""Relay's special values of `newshape` where dims are unknown until the program runs.

Guards lowering: Relax knows -1 only, and got 0, -2, -3 and -4 as they stood.
"""

from __future__ import annotations

import numpy as np
import pytest

import baton as tvm
from baton import relay

TARGETS = [(0, -1), (-2, 1), (-3, 0), (0, -4, 1, 3, 0), (-1, 0, 0), (0, 0, -1), (-4, 1, -1, -3)]


@pytest.mark.rule("RELAY-EXEC-1")
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("inside", [False, True])
def test_values(target: tuple[int, ...], inside: bool) -> None:
    """`inside`: the dims of the operand are computed, not those of a parameter."""
    x = relay.var("x", shape=(relay.Any(), 3, relay.Any()))
    body = relay.reshape(relay.concatenate([x, x], axis=0) if inside else x, target)
    module = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(body)))
    compiled, interpreted = (relay.create_executor(kind, module).evaluate() for kind in ("vm", "debug"))
    for shape in ((2, 3, 4), (0, 3, 4), (1, 3, 1)):
        given = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        np.testing.assert_array_equal(compiled(given).numpy(), interpreted(given).numpy())


@pytest.mark.rule("RELAY-EXEC-1")
def test_a_result_whose_dims_only_the_machine_knows() -> None:
    """The operand comes out of an operator whose result depends on data."""
    x = relay.var("x", shape=(relay.Any(), 2))
    picked = relay.reshape(relay.argwhere(x), (-2, 1))
    run = relay.create_executor("vm", tvm.IRModule.from_expr(relay.Function([x], picked))).evaluate()
    assert run(np.array([[0, 1], [1, 1]], "float32")).numpy().ravel().tolist() == [0, 1, 1, 0, 1, 1]
