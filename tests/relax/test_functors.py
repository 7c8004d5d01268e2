"""Visitors and mutators as users write them."""

from __future__ import annotations

from typing import Any

import numpy as np

import baton
from baton import relax
from baton.ir import assert_structural_equal
from baton.relax.expr_functor import PyExprMutator, PyExprVisitor, mutator, visitor
from baton.script import ir as I
from baton.script import relax as R


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n", 4), "float32"):
        with R.dataflow():
            a = R.nn.relu(x)
            b = R.add(a, x)
            R.output(b)
        if c:
            d = R.nn.relu(b)
            e = R.exp(d)
        else:
            e = R.negative(b)
        return e


@visitor
class Calls(PyExprVisitor):
    def __init__(self) -> None:
        self.names: list[str] = []

    def visit_call_(self, call: relax.Call) -> None:
        self.names.append(call.op.name)
        super().visit_call_(call)


@mutator
class ReluToTanh(PyExprMutator):
    def __init__(self, mod: baton.IRModule) -> None:
        super().__init__(mod)
        self.mod = mod

    def transform(self) -> baton.IRModule:
        for gv, function in self.mod.functions_items():
            self.builder_.update_func(gv, relax.analysis.remove_all_unused(self.visit_expr(function)))
        return self.builder_.get()

    def visit_call_(self, call: relax.Call) -> Any:
        call = self.visit_expr_post_order(call)
        if call.op.name == "relax.nn.relu":
            half = self.builder_.emit(relax.op.multiply(call.args[0], relax.const(0.5, "float32")))
            return relax.op.tanh(half)
        return call


def test_a_visitor_sees_every_call_in_order() -> None:
    calls = Calls()
    calls.visit_expr(Module["main"])
    assert calls.names == ["relax.nn.relu", "relax.add", "relax.nn.relu", "relax.exp", "relax.negative"]


def test_a_mutator_emits_and_replaces() -> None:
    changed = ReluToTanh(Module).transform()
    assert relax.analysis.well_formed(changed)
    calls = Calls()
    calls.visit_expr(changed["main"])
    assert calls.names.count("relax.tanh") == 2
    assert "relax.nn.relu" not in calls.names
    x = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)
    (found,) = baton.compile(changed)(x, np.array(True))
    first = np.tanh(x * 0.5) + x
    np.testing.assert_allclose(found, np.exp(np.tanh(first * 0.5)), rtol=1e-5)


def test_nothing_changed_is_the_same_object() -> None:
    keeper = relax.PyExprMutator(Module)
    assert keeper.visit_expr(Module["main"]) is Module["main"]
    assert_structural_equal(keeper.builder_.get(), Module)
