"""Parts of Relax nodes are what the grammar says, from the start: what is not is refused where it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from baton._src.relax.nodes import Function, If, SeqExpr, Tuple, Var, VarBinding
from baton._src.relax.struct_info import ObjectStructInfo, TensorStructInfo
from baton._src.support.diagnostics import DiagnosticError

WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "annotation": (lambda: Var("x", (2, 3)), r"annotated with a StructInfo, got \(2, 3\)"),
    "class": (lambda: Var("x", TensorStructInfo), "annotated with a StructInfo, got <class"),
    "parameter": (lambda: Function(["x"], Var("x")), "a parameter is a Var, got str"),
    "body": (lambda: Function([], 4), "Function.body is an expression, got int"),
    "result": (lambda: SeqExpr([], 3), "SeqExpr.body is an expression, got int"),
    "condition": (lambda: If(True, Tuple([]), Tuple([])), "If.cond is an expression, got bool"),
    "branch": (lambda: If(Var("c"), 2, Tuple([])), "If.true_branch is an expression, got int"),
    "value": (lambda: VarBinding(Var("x"), 1.5), "VarBinding.value is an expression, got float"),
}


@pytest.mark.parametrize("name", WRONG)
def test_parts_of_other_kinds_are_refused(name: str) -> None:
    """They were kept, and failed in whatever looked at them first."""
    make, said = WRONG[name]
    with pytest.raises(TypeError, match=said) as caught:
        make()
    assert isinstance(caught.value, DiagnosticError)


def test_parts_that_may_be_left_out() -> None:
    assert Var("x").struct_info_ is None
    assert Function.create_empty([Var("x", ObjectStructInfo())], ObjectStructInfo()).body is None
