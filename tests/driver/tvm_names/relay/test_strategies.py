"""Operators whose computation a strategy chooses, and functions that mean something else for other targets."""

from __future__ import annotations

import numpy as np
import pytest

import baton as tvm
from baton import relay, topi
from baton.relay.op import op as registry
from baton.relay.op.strategy.generic import naive_schedule, wrap_topi_compute, wrap_topi_schedule


def test_the_implementation_of_the_highest_level_computes_an_operator() -> None:
    registry.register("test.chosen")
    op = relay.op.get("test.chosen")
    op.set_num_inputs(1)
    op.add_type_rel("Identity")
    seen = set()

    @tvm.target.override_native_generic_func("test_chosen_strategy")
    def choose(attrs: object, inputs: object, out_type: object, target: tvm.target.Target) -> relay.op.OpStrategy:
        seen.add(target.kind.name)
        strategy = relay.op.OpStrategy()
        strategy.add_implementation(wrap_topi_compute(topi.negative), naive_schedule, plevel=5)
        strategy.add_implementation(wrap_topi_compute(topi.exp), wrap_topi_schedule(lambda outs: outs), plevel=15)
        return strategy

    registry.register_strategy("test.chosen", choose)
    registry.register_pattern("test.chosen", relay.op.OpPattern.ELEMWISE)
    x = relay.var("x", shape=(2,))
    module = tvm.IRModule.from_expr(relay.Call(op, [x]) + relay.const(1.0))
    data = np.array([0, 1], "float32")
    for kind in ("debug", "vm"):
        found = relay.create_executor(kind, module).evaluate()(data).numpy()
        np.testing.assert_allclose(found, np.exp(data) + 1, rtol=1e-5)
    assert seen == {"llvm"}


@pytest.mark.parametrize("strategy_first", [True, False])
def test_a_strategy_counts_beside_a_compute_function(strategy_first: bool) -> None:
    """Guards scripts that register both, in either order: the second was refused."""
    name = f"test.both{strategy_first}"
    registry.register(name)
    op = relay.op.get(name)
    op.set_num_inputs(1)
    op.add_type_rel("Identity")

    def choose(attrs: object, inputs: object, out_type: object, target: tvm.target.Target) -> relay.op.OpStrategy:
        strategy = relay.op.OpStrategy()
        strategy.add_implementation(wrap_topi_compute(topi.exp), naive_schedule)
        return strategy

    steps = [
        lambda: registry.register_strategy(name, choose),
        lambda: registry.register_compute(name, wrap_topi_compute(topi.negative)),
    ]
    for step in steps if strategy_first else steps[::-1]:
        step()
    x = relay.var("x", shape=(2,))
    data = np.array([0, 1], "float32")
    found = relay.create_executor("vm", tvm.IRModule.from_expr(relay.Call(op, [x]))).evaluate()(data)
    np.testing.assert_allclose(found.numpy(), np.exp(data), rtol=1e-5)


def test_a_strategy_without_implementations() -> None:
    with pytest.raises(tvm.DiagnosticError, match="add_implementation"):
        relay.op.OpStrategy().best()


def test_generic_functions() -> None:
    """Guards the choice by the current target, and the default where there is none."""

    @tvm.target.generic_func
    def width(count: int) -> int:
        return count

    @width.register(["cpu"])
    def _(count: int) -> int:
        return 2 * count

    assert width(3) == 3
    with tvm.target.Target("llvm"):
        assert width(3) == 6
    with pytest.raises(tvm.DiagnosticError, match="override"):
        width.register(lambda count: 0, "cpu")
    width.register("cpu", lambda count: 0, override=True)
    with tvm.target.Target('{"kind": "llvm", "mcpu": "haswell"}') as target:
        assert (width(3), target.mcpu) == (0, "haswell")
    with pytest.raises(tvm.DiagnosticError, match="set_default"):
        tvm.target.get_native_generic_func("test_nothing_yet")()


def test_overridden_generic_functions_take_later_ones() -> None:
    """Guards a cell that is run twice: functions of `override_native_generic_func` replace without being told so."""

    @tvm.target.override_native_generic_func("test_later_ones")
    def depth() -> int:
        return 0

    for number in (1, 2):
        depth.register("cpu", lambda number=number: number)
        with tvm.target.Target("llvm"):
            assert depth() == number
    with pytest.raises(tvm.DiagnosticError, match="has a function for cpu"):
        depth.register(lambda: 3, "cpu", allow_override=False)
