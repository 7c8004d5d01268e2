"""Decorators on Python classes and functions: names by object, captured variables, macros."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.module import IRModule
from baton._src.relax.nodes import Function
from baton._src.support.diagnostics import DiagnosticError
from tests.relax.build import ROOTS

IR, R, T = ROOTS["I"], ROOTS["R"], ROOTS["T"]
Relax = R
SIZE = 4


def test_a_class_becomes_a_module() -> None:
    """Inner decorators leave the functions to the class's."""

    @IR.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((SIZE,), "float32")) -> R.Tensor((SIZE,), "float32"):
            y = cls.helper(x)
            return y

        @R.function(private=True)
        def helper(x: R.Tensor((SIZE,), "float32")) -> R.Tensor((SIZE,), "float32"):
            return x

    assert isinstance(Module, IRModule)
    assert sorted(v.name_hint for v in Module) == ["helper", "main"]
    assert Module["main"].params[0].struct_info.shape.values[0].value == SIZE


def test_names_are_resolved_by_object() -> None:
    """`Relax` is the same namespace under another name; locals of the function around are seen."""
    scale = 2.0
    info = R.Tensor((3,), "float32")

    @Relax.function
    def main(x: info) -> Relax.Tensor((3,), "float32"):
        y = Relax.multiply(x, Relax.const(scale, "float32"))
        return y

    assert isinstance(main, Function)
    assert main.body.blocks[0].bindings[0].value.args[1].data.numpy() == 2.0


@pytest.mark.rule("RELAX-SCRIPT-01")
def test_macros_are_expanded_in_place() -> None:
    """A macro's statements are bound where it is called, with its parameters standing for the arguments."""

    @R.macro
    def twice(value: Any) -> Any:
        once = R.add(value, value)
        return R.add(once, once)

    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = twice(x)
        return y

    assert len(main.body.blocks[0].bindings) == 2


def test_dims_in_quotes_may_use_functions_of_t() -> None:
    """Guards `"T.max(n, 4)"`, whose T was taken for a size; a size may be called so, and is printed as T_1."""

    @R.function
    def main(x: R.Tensor(("n", "T.max(n, 4)", "T"), "float32")):
        return x

    assert str(main.params[0].struct_info) == 'R.Tensor((n, T.max(n, 4), T_1), dtype="float32")'


def test_emit_takes_its_arguments_by_name() -> None:
    """Guards the annotation of R.emit, which was passed over."""

    @R.function
    def main(x: R.Tensor((3,), "float32")):
        R.func_attr(attrs={"note": 1})
        y = R.emit(value=x, annotate_struct_info=R.Tensor(ndim=1, dtype="float32"))
        z = R.emit(y, R.Object)
        return z

    assert main.attrs["note"] == 1
    assert [str(b.var.struct_info) for b in main.body.blocks[0].bindings] == [
        'R.Tensor(dtype="float32", ndim=1)',
        "R.Object",
    ]


def test_mistakes_point_into_this_file() -> None:
    """File, line and column of the wrong name."""
    with pytest.raises(DiagnosticError) as error:

        @R.function
        def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
            y = R.add(x, unknown_name)
            return y

    found = error.value.diagnostics[0]
    assert found.span is not None
    assert found.span.source.name == __file__
    line = found.span.source.line(found.span.line)
    assert line is not None
    assert line[found.span.column - 1 :].startswith("unknown_name")


def test_a_module_written_in_a_function_may_say_its_own_name() -> None:
    """Guards `cls = Module` where the class stands in a function: its closure's cell is empty while it is read."""

    @IR.ir_module
    class Module:
        @R.function(private=True)
        def inner(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.exp(x)

        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            cls = Module
            y = cls.inner(x)
            return Module.inner(y)

    (block,) = Module["main"].body.blocks
    assert [binding.value.op.name_hint for binding in block.bindings] == ["inner", "inner"]


def test_two_classes_of_one_name_in_one_scope() -> None:
    """Guards that each is read from its own text: Python looks classes up by name and finds the first."""

    @IR.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.exp(x)

    first = Module

    @IR.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.tanh(x)

    ops = [module["main"].body.blocks[0].bindings[0].value.op.name for module in (first, Module)]
    assert ops == ["relax.exp", "relax.tanh"]
