"""Visitors and mutators as users write them."""

from __future__ import annotations

from typing import Any

import numpy as np

import baton
from baton import relax, tir
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


@I.ir_module
class Items:
    @R.function
    def main(t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32"))):
        with R.dataflow():
            a = t[0]
            b = t[1]
            c = R.add(R.multiply(b, b), a)
            d = R.add(c, b)
            R.output(d)
        return d


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


def test_a_variable_whose_value_says_the_same_stays() -> None:
    """Scripts that override visit_dataflow_var_ return the variable they are given (passes of MLC do)."""

    @mutator
    class FirstUsesAgain(PyExprMutator):
        def visit_var_binding_(self, binding: Any) -> None:
            super().visit_var_binding_(binding)
            if isinstance(binding.value, relax.TupleGetItem):
                self.items[binding.var] = binding.value

        def visit_dataflow_var_(self, var: Any) -> Any:
            if var not in self.items:
                return var
            again = self.builder_.emit(self.items.pop(var))
            self.set_var_remap(var.vid, again)
            return again

    rewriter = FirstUsesAgain(Items)
    rewriter.items = {}
    changed = Items.clone()
    changed["main"] = rewriter.visit_expr(Items["main"])
    assert relax.analysis.well_formed(changed)
    assert sum(isinstance(b.value, relax.TupleGetItem) for b in changed["main"].body.blocks[0].bindings) == 4
    machine = relax.VirtualMachine(relax.build(changed, "llvm"), baton.cpu())
    values = [baton.nd.array(np.full(2, value, "float32")) for value in (1, 3)]
    np.testing.assert_array_equal(machine["main"](values).numpy(), [13, 13])


def test_definitions_are_visited_also_where_values_stay() -> None:
    @mutator
    class Renamed(PyExprMutator):
        def visit_dataflow_var_def_(self, var: Any) -> Any:
            return relax.DataflowVar(f"{var.name_hint}_again", var.struct_info)

    changed = Renamed(Items).visit_expr(Items["main"])
    names = [b.var.name_hint for b in changed.body.blocks[0].bindings]
    assert names == ["a_again", "b_again", "lv_again", "c_again", "d"]
    assert changed.body.blocks[0].bindings[2].value.args[1] is changed.body.blocks[0].bindings[1].var


def test_a_variable_of_another_size_is_another_variable() -> None:
    """StructInfo of n rows equals, as TVM compares it, that of m rows."""
    rows = tir.Var("rows", "int64")
    x = relax.Var("x", relax.TensorStructInfo((rows, 4), "float32"))
    main = Module["main"]

    @mutator
    class OfRows(PyExprMutator):
        pass

    rewriter = OfRows(Module)
    rewriter.set_var_remap(main.params[0], x)
    (block,) = (rewriter.visit_binding_block(b) for b in main.body.blocks[:1])
    assert [b.var.struct_info.shape[0] for b in block.bindings] == [rows, rows]


@I.ir_module
class Countdown:
    @R.function
    def main(x: R.Tensor((2,), "float32"), i: R.Tensor((), "int32")):
        @R.function
        def loop(x: R.Tensor((2,), "float32"), i: R.Tensor((), "int32")) -> R.Tensor((2,), "float32"):
            if R.less(i, R.const(1, "int32")):
                r = x
            else:
                r = loop(R.add(x, x), R.subtract(i, R.const(1, "int32")))
            return r

        return loop(x, i)


def test_a_local_function_calls_itself_by_its_new_variable() -> None:
    """Its body was visited before its variable was replaced."""

    @mutator
    class Renamed(PyExprMutator):
        def visit_var_def_(self, var: Any) -> Any:
            return relax.Var(f"{var.name_hint}_again", var.struct_info)

    changed = Countdown.clone()
    changed["main"] = Renamed(Countdown).visit_expr(Countdown["main"])
    assert relax.analysis.well_formed(changed)
    assert changed["main"].body.blocks[0].bindings[0].var.name_hint == "loop_again"


def test_casts_without_a_variable_define_none() -> None:
    """The visitor of definitions was called with None."""

    class Defined(PyExprVisitor):
        def visit_var_def_(self, var: relax.Var) -> None:
            found.append(var.name_hint)

    found: list[str] = []
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    cast = relax.MatchCast(None, x, x.struct_info)
    Defined().visit_expr(relax.Function([x], relax.SeqExpr([relax.BindingBlock([cast])], x)))
    assert found == ["x"]
