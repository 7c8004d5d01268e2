"""TVM's printing options: real, or refused."""

from __future__ import annotations

import pytest

import baton
from baton.error import DiagnosticError
from baton.script import ir as I
from baton.script import relax as R


@I.ir_module
class Module:
    @R.function
    def helper(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.exp(x)

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        cls = Module
        return cls.helper(x)


def test_a_name_and_another_indentation_read_back() -> None:
    text = Module.script(name="Mine", indent_spaces=2)
    assert "\nclass Mine:\n  @R.function\n  def" in text
    assert "Module" not in text
    baton.ir.assert_structural_equal(baton.script.from_source(text), Module)
    assert "def other(" in Module["main"].script(name="other")


def test_the_standard_style_may_be_asked_for() -> None:
    assert Module.script(syntax_sugar=True, ir_prefix="I", show_object_address=False) == Module.script()


def test_what_is_not_offered_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DiagnosticError, match="syntax_sugar") as error:
        Module.script(syntax_sugar=False)
    assert isinstance(error.value, ValueError)
    with pytest.raises(TypeError, match="no printing option"):
        Module.script(colour="red")
    Module.show(style="light", black_format=False, name="Shown")
    assert "class Shown" in capsys.readouterr().out
