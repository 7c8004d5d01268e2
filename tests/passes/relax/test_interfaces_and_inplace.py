"""ExpandTupleArguments, RemoveUnusedParameters, RemoveUnusedOutputs; DataflowUseInplaceCalls."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.driver.tvm_names.scripts import from_source
from baton._src.ir.module import IRModule
from baton._src.passes.relax.interfaces.unused_interface import (
    ExpandTupleArguments,
    RemoveUnusedOutputs,
    RemoveUnusedParameters,
)
from baton._src.passes.relax.machine.dataflow_use_inplace_calls import DataflowUseInplaceCalls
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.well_formed import well_formed
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from tests.passes.relax.programs import R, arrays, called, dim, program, same_values, tensor

HELPER = """
@I.ir_module
class Module:
    @R.function(private=%s)
    def f(t: R.Tuple(R.Tensor((2,), "float32"), R.Tensor((2,), "float32")), z: R.Tensor((2,), "float32")):
        a = t[0]
        b = R.exp(a)
        c = R.sin(a)
        r = (b, c)
        return r

    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        t = (x, y)
        u = Module.f(t, y)
        v = u[1]
        return v
"""


def private() -> IRModule:
    return from_source(HELPER % "True")


def same(step: Any, before: IRModule) -> IRModule:
    after: IRModule = step(before)
    assert not well_formed(after), [d.render() for d in well_formed(after)]
    args = arrays((2,), (2,))
    same_values(Interpreter(after)["main"](*args).numpy(), Interpreter(before)["main"](*args).numpy())
    return after


@pytest.mark.rule("RELAX-PASS-11")
def test_private_functions_take_and_give_what_is_needed() -> None:
    expanded = same(ExpandTupleArguments(), private())
    assert [p.name_hint for p in expanded["f"].params] == ["t_0", "t_1", "z"]
    fewer = same(RemoveUnusedParameters(), same(RemoveUnusedOutputs(), expanded))
    assert "R.exp" not in repr(fewer["f"])
    narrow = same(RemoveUnusedParameters(), private())
    assert [p.name_hint for p in narrow["f"].params] == ["t"]


@pytest.mark.rule("RELAX-PASS-11", rejects=True)
def test_public_functions_stay() -> None:
    public = from_source(HELPER % "False")
    for step in (ExpandTupleArguments(), RemoveUnusedParameters(), RemoveUnusedOutputs()):
        assert step(public) is public


@pytest.mark.rule("RELAX-PASS-22")
def test_a_dead_operand_is_written_over() -> None:
    n = dim()

    def build(b: Any, x: Any) -> Any:
        e = b.emit(R.exp(x))
        return R.add(e, e)

    legal = LegalizeOps()(program([tensor("x", n)], build))
    after = DataflowUseInplaceCalls()(legal)
    assert not well_formed(after), [d.render() for d in well_formed(after)]
    assert called(after) == ["exp", "call_tir_inplace"]
    (x,) = arrays((3,))
    same_values(Interpreter(after)["main"](x).numpy(), Interpreter(legal)["main"](x).numpy())
    from_params = LegalizeOps()(program([tensor("x", n)], lambda b, x: R.exp(x)))
    assert DataflowUseInplaceCalls()(from_params) is from_params


@pytest.mark.rule("RELAX-PASS-22", rejects=True)
def test_operands_used_later_or_read_elsewhere_are_not() -> None:
    def later(b: Any, x: Any) -> Any:
        e = b.emit(R.exp(x))
        f = b.emit(R.permute_dims(e))
        return R.permute_dims(b.emit(R.add(f, e)))

    before = LegalizeOps()(program([tensor("x", 3, 3)], later))
    after = DataflowUseInplaceCalls()(before)
    assert called(after).count("call_tir_inplace") == 1
    assert called(after)[2] == "call_tir_inplace"
    (x,) = arrays((3, 3))
    same_values(Interpreter(after)["main"](x).numpy(), Interpreter(before)["main"](x).numpy())


def test_compiled_programs_agree() -> None:
    def build(b: Any, x: Any) -> Any:
        e = b.emit(R.exp(x))
        f = b.emit(R.sin(e))
        return R.multiply(b.emit(R.cos(f)), f)

    legal = LegalizeOps()(program([tensor("x", 4)], build))
    after = DataflowUseInplaceCalls()(legal)
    assert "call_tir_inplace" in called(after)
    (x,) = arrays((4,))
    for pipeline in (None, "default_build"):
        found = VirtualMachine(relax_build(after, "llvm", pipeline=pipeline))["main"](x)
        same_values(found.numpy(), Interpreter(legal)["main"](x).numpy(), 1e-4)
