"""Functions of a module that call themselves or one another say what they return."""

from __future__ import annotations

import pytest

from baton._src.ir.structural import structural_equal
from baton._src.support.diagnostics import DiagnosticError
from tests.relax.build import load

EVEN_AND_ODD = """
@I.ir_module
class M:
    @R.function
    def even(n: R.Tensor((), "int64")){even}:
        r = cls.odd(n)
        return r

    @R.function
    def odd(n: R.Tensor((), "int64")){odd}:
        r = cls.even(n)
        return r
"""
RESULT = ' -> R.Tensor((), "bool")'


@pytest.mark.rule("RELAX-WF-8")
def test_annotated_functions_may_call_one_another() -> None:
    assert len(load(EVEN_AND_ODD.format(even=RESULT, odd=RESULT)).functions) == 2


@pytest.mark.rule("RELAX-WF-8", rejects=True)
def test_recursive_functions_without_annotation() -> None:
    """Each that lacks it is named, at its own line."""
    text = EVEN_AND_ODD.format(even="", odd="")
    with pytest.raises(DiagnosticError) as error:
        load(text)
    said = [(d.code, d.message) for d in error.value.diagnostics]
    assert said == [("RELAX-WF-8", f"function {f} is recursive and has no return annotation") for f in ("even", "odd")]
    shown = [d.render() for d in error.value.diagnostics]
    assert all(f"def {f}(" in text and "annotate its result" in text for f, text in zip(("even", "odd"), shown))


@pytest.mark.rule("RELAX-DIM-5", rejects=True)
def test_unbound_shape_variables_are_shown_where_they_are_used() -> None:
    """Not where they are declared: a declaration alone is no mistake."""
    text = "@R.function\ndef main(x: R.Object):\n    q = T.int64()\n    y = R.shape([q])\n    return x\n"
    with pytest.raises(DiagnosticError) as error:
        load(text)
    places = {(d.code, d.span.line) for d in error.value.diagnostics if d.span is not None}
    assert ("RELAX-WF-5", text.splitlines().index("    y = R.shape([q])") + 1) in places


@pytest.mark.rule("RELAX-SCRIPT-12")
def test_a_recursive_local_function_has_one_set_of_shape_variables() -> None:
    """The variable by which it calls itself was typed by a second reading of the signature: its printed program, where
    one declaration serves both, was not structurally equal to it.
    """
    text = """
@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(ndim=1, dtype="float32"):
    @R.function
    def again(y: R.Tensor(("m",), "float32")) -> R.Tensor(ndim=1, dtype="float32"):
        r = again(y)
        return r
    out = again(x)
    return out
"""
    main = load(text)
    binding = main.body.blocks[0].bindings[0]
    known, param = binding.var.struct_info.params[0], binding.value.params[0].struct_info
    assert known.shape.values[0] is param.shape.values[0]
    assert structural_equal(load(repr(main)), main)
