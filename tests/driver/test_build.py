"""`baton.build`: what is given decides what comes out."""

from __future__ import annotations

import numpy as np
import pytest

import baton
from baton import relax
from baton._src.driver.tvm_names.scripts import from_source
from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError


def test_relax_modules_are_built_as_programs() -> None:
    """Guards the dispatch: a module with a Relax function, and the function alone, become executables."""
    module = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = R.multiply(x, x)
        return y
""")
    for given in (module, module["main"]):
        built = baton.build(given, target="llvm")
        assert isinstance(built, Executable)
        assert VirtualMachine(built)["main"](np.full(3, 3, np.float32)).numpy().tolist() == [9, 9, 9]


@pytest.mark.rule("RELAX-DIM-5", rejects=True)
@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_programs_built_node_by_node_hear_what_is_wrong_with_them(mode: str) -> None:
    """Guards the build, where a shape variable that nothing binds ended in Python's KeyError."""
    builder = baton.relax.BlockBuilder()
    with builder.function("main", [baton.relax.Var("x", baton.relax.TensorStructInfo((4,), "float32"))]):
        zeros = baton.relax.op.zeros((baton.tir.Var("n", "int64"),), "float32")
        builder.emit_func_output(builder.emit(zeros))
    with pytest.raises(DiagnosticError, match="shape variable n is used before it is bound"):
        baton.relax.build(builder.get(), "llvm", exec_mode=mode)


@pytest.mark.rule("RELAX-WF-12", rejects=True)
def test_modules_with_private_functions_only_are_not_built() -> None:
    """Guards the two places that ask for a public function: the check that users call, and building."""
    module = from_source("""
@I.ir_module
class Module:
    @R.function(private=True)
    def helper(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return x
""")
    with pytest.warns(UserWarning, match="nothing can call it"):
        assert not baton.relax.analysis.well_formed(module)
    with pytest.raises(DiagnosticError, match="nothing can call it"):
        baton.relax.build(module, "llvm")
    assert baton.relax.analysis.well_formed(module["helper"])


def test_programs_of_relay_are_named() -> None:
    """`relax.build` of a Relay program said that no function of it has a global_symbol."""
    x = baton.relay.var("x", shape=(2,))
    module = baton.IRModule.from_expr(baton.relay.Function([x], baton.relay.exp(x)))
    with pytest.raises(DiagnosticError, match=r"@main is a function of Relay\n  help: relay\.build takes"):
        baton.relax.build(module, "llvm")
    assert baton.relax.build(baton.relax.from_relay(module), "llvm").function_index["main"] >= 0


def test_params_that_map_nothing() -> None:
    """A list was an AttributeError."""
    x = baton.relax.Var("x", baton.relax.TensorStructInfo((2,), "float32"))
    module = baton.IRModule({"main": baton.relax.Function([x], x).with_attr("global_symbol", "main")})
    with pytest.raises(DiagnosticError, match="params maps names to arrays, got a list"):
        baton.relax.build(module, "llvm", params=[1.0])


def test_a_name_of_two_parameters_names_none() -> None:
    """Values went to the last parameter of the name, or to all of them, and `x - x` was 0."""
    info = relax.TensorStructInfo((2,), "float32")
    first, second = relax.Var("x", info), relax.Var("x", info)
    builder = relax.BlockBuilder()
    with builder.function("main", [first, second]):
        builder.emit_func_output(builder.emit(relax.op.subtract(first, second)))
    module, x = builder.get(), np.float32([1, 2])
    with pytest.raises(DiagnosticError, match="main has several parameters 'x'"):
        relax.build(module, "llvm", params={"x": x})
    machine, model = VirtualMachine(relax.build(module, "llvm")), baton.compile(module)
    assert machine["main"](x, x=x * 3).numpy().tolist() == model(x, x * 3)[0].tolist() == [-2, -4]
    for call in (lambda: machine["main"](x=x), lambda: machine.set_input("main", x=x)):
        with pytest.raises(DiagnosticError, match="main has several arguments 'x'"):
            call()
    for run in (model.run, model.profile):
        with pytest.raises(DiagnosticError, match="the model has several inputs 'x'"):
            run({"x": x})
