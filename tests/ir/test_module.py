"""Modules: functions taken over from others, and beside others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import IRModule, cpu, relax
from baton.error import DiagnosticError
from baton.script import ir as I
from baton.script import relax as R


@I.ir_module
class Adds:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Adds
        y: R.Tensor((2,), "float32") = cls.step(x)
        return y

    @R.function
    def step(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.add(x, R.const(1.0))


@I.ir_module
class Scales:
    @R.function
    def twice(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Scales
        y: R.Tensor((2,), "float32") = cls.step(x)
        return cls.step(y)

    @R.function
    def step(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.multiply(x, R.const(10.0))


def results(module: IRModule) -> dict[str, list[float]]:
    machine: Any = relax.VirtualMachine(relax.build(module, "llvm"), cpu())
    ones = np.ones(2, "float32")
    return {var.name_hint: machine[var.name_hint](ones).numpy().tolist() for var in module.functions}


def test_functions_taken_over_call_what_names_mean_here() -> None:
    """They called variables of the module they come from: renaming functions then made them call something else."""
    module = Adds.clone()
    module.update(Scales)
    called = {v for f in module.functions.values() for v in relax.analysis.all_global_vars(f)}
    assert called <= set(module.functions)
    assert results(module) == {"main": [10.0] * 2, "step": [10.0] * 2, "twice": [100.0] * 2}
    renamed = module.replace_global_vars({"step": "twice", "twice": "step"})
    assert results(renamed) == {"main": [10.0] * 2, "twice": [10.0] * 2, "step": [100.0] * 2}
    assert Scales.get_global_var("step") not in module.functions


def test_an_expression_does_not_hide_behind_a_function() -> None:
    """With a function of its own name given by text the expression was dropped."""
    step, other = Adds["step"], Scales["step"]
    found = IRModule.from_expr(step.without_attr("global_symbol"), {"main": other, "main_1": other})
    assert [v.name_hint for v in found.functions] == ["main_2", "main", "main_1"]
    assert found["main_2"].body is step.body
    with pytest.raises(DiagnosticError, match="more than once"):
        IRModule.from_expr(step, {"step": other})
