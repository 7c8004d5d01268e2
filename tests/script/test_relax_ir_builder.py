"""Relax functions under a builder are those the same words mean in a script."""

from __future__ import annotations

from typing import Any

import pytest

import baton as tvm
from baton import relax
from baton.error import DiagnosticError
from baton.script import from_source
from baton.script.ir_builder import IRBuilder
from baton.script.ir_builder import ir as I
from baton.script.ir_builder import relax as R
from baton.script.ir_builder import tir as T
from baton.script.ir_builder.ir import frame as ir_frame
from baton.script.ir_builder.relax import frame as relax_frame
from baton.script.ir_builder.tir import frame as tir_frame

WHOLE = """
@I.ir_module
class Module:
    @R.function
    def twice(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        y = R.add(x, x)
        return y

    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        R.func_attr({"num_input": 2})
        n = T.int64()
        cls = Module
        with R.dataflow():
            a = R.exp(x)
            b = R.multiply(a, a)
            R.output(b)
        z = cls.twice(b)
        if c:
            p = R.sin(z)
            w = R.cos(p)
        else:
            w = R.tan(z)
        q = R.match_cast(w, R.Tensor((n,), "float32"))
        return q
"""


def vector(n: Any) -> relax.TensorStructInfo:
    return relax.TensorStructInfo((n,), "float32")


def twice() -> None:
    n = T.int64()
    with R.function():
        R.func_name("twice")
        x = R.arg("x", vector(n))
        R.func_ret_struct_info(vector(n))
        R.func_ret_value(IRBuilder.name("y", R.emit(R.add(x, x))))


def main(callee: Any) -> None:
    n = T.int64()
    with R.function():
        R.func_name("main")
        R.func_attr({"num_input": 2})
        c, x = R.arg("c", relax.TensorStructInfo((), "bool")), R.arg("x", vector(n))
        R.func_ret_struct_info(vector(n))
        with R.dataflow() as block:
            a = R.emit(R.exp(x))
            b = R.emit(R.multiply(a, a))
            assert isinstance(b, relax.DataflowVar)
            R.output(b)
        (b,) = block.output_vars
        z = R.emit(relax.Call(callee, [b]))
        with R.If(c) as chosen:
            with R.Then():
                p = R.emit(R.sin(z))
                IRBuilder.name("w", R.emit(R.cos(p)))
            with R.Else():
                IRBuilder.name("w", R.emit(R.tan(z)))
        assert chosen.var.name_hint == "w"
        R.func_ret_value(R.emit_match_cast(chosen.var, vector(n)))


def test_a_module_of_functions() -> None:
    with IRBuilder() as builder, I.ir_module() as module:
        twice()
        main(module.global_vars["twice"])
    tvm.ir.assert_structural_equal(builder.get(), from_source(WHOLE))


def test_a_function_alone_with_an_annotated_variable() -> None:
    with IRBuilder() as builder, R.function(is_private=True):
        R.func_name("alone")
        x = R.arg("x", relax.TensorStructInfo((2,), "float32"))
        y = R.emit(R.call_packed("any", x, sinfo_args=relax.ObjectStructInfo()), relax.ObjectStructInfo())
        R.func_ret_value(R.tuple(x, y))
    function = builder.get()
    assert "global_symbol" not in (function.attrs or {})
    assert isinstance(function.ret_struct_info.fields[1], relax.ObjectStructInfo)


def half_an_if() -> None:
    c = R.arg("c", relax.TensorStructInfo((), "bool"))
    with R.If(c), R.Then():
        R.emit(R.logical_not(c))


def behind_the_output() -> None:
    c = R.arg("c", relax.TensorStructInfo((), "bool"))
    with R.dataflow():
        R.output(R.emit(R.logical_not(c)))
        R.emit(R.logical_not(c))


def unfinished() -> None:
    R.func_name("main")


@pytest.mark.parametrize(
    ("body", "says"), [(half_an_if, "needs both"), (behind_the_output, "follow"), (unfinished, "has no result")]
)
def test_what_does_not_belong_is_refused(body: Any, says: str) -> None:
    with IRBuilder(), pytest.raises(DiagnosticError, match=says), R.function():
        body()


def cast(x: Any, m: Any, name: str) -> Any:
    return IRBuilder.name(name, R.emit_match_cast(x, vector(m)))


@pytest.mark.parametrize("in_branches", [False, True], ids=["function", "branches"])
def test_variables_that_casts_bind_end_with_their_scope(in_branches: bool) -> None:
    """They showed in the type of what the function, or the conditional, gives: an ill-formed program."""
    m = T.int64()
    with IRBuilder() as builder, R.function():
        R.func_name("main")
        x, c = R.arg("x", relax.TensorStructInfo(None, "float32", ndim=1)), R.arg("c", R.Tensor((), "bool"))
        if in_branches:
            with R.If(c) as choice:
                with R.Then():
                    cast(x, m, "y")
                with R.Else():
                    cast(x, m, "y")
            R.func_ret_value(choice.var)
        else:
            R.func_ret_value(cast(x, m, "y"))
    function = builder.get()
    assert function.ret_struct_info == relax.TensorStructInfo(None, "float32", ndim=1)
    assert relax.analysis.well_formed(function)


def test_words_need_a_builder() -> None:
    with pytest.raises(DiagnosticError, match="builder"):
        R.arg("x", relax.ObjectStructInfo())


def test_frames_are_of_the_classes_that_their_modules_name() -> None:
    with IRBuilder(), I.ir_module() as module, R.function() as function:
        R.func_name("main")
        c = R.arg("c", relax.TensorStructInfo((), "bool"))
        with R.If(c) as branch:
            with R.Then() as then, R.dataflow() as block:
                R.output(IRBuilder.name("y", R.emit(R.logical_not(c))))
            with R.Else() as other:
                IRBuilder.name("y", R.emit(c))
        R.func_ret_value(branch.var)
    assert isinstance(module, ir_frame.IRModuleFrame)
    found = [type(f) for f in (function, branch, then, other, block)]
    assert [c.__name__ for c in found] == ["FunctionFrame", "IfFrame", "ThenFrame", "ElseFrame", "BlockFrame"]
    assert all(issubclass(c, relax_frame.RelaxFrame) for c in found)
    assert all(issubclass(c, relax_frame.SeqExprFrame) == (c.__name__ not in ("IfFrame", "BlockFrame")) for c in found)
    with IRBuilder(), T.prim_func() as kernel, T.Assert(True, "true") as check:
        pass
    assert isinstance(kernel, tir_frame.PrimFuncFrame)
    assert isinstance(check, tir_frame.AssertFrame)
