"""What expressions are said to give is what their parts give: passes that leave stale StructInfo behind are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.passes.relax.interfaces.param_interfaces import UpdateParamStructInfo
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.nodes import BindingBlock, Call, Function, If, SeqExpr, Tuple, TupleGetItem, Var, VarBinding
from baton._src.relax.struct_info import StructInfo, TensorStructInfo
from baton._src.relax.well_formed import well_formed
from baton._src.support.diagnostics import DiagnosticError
from tests.relax.build import Fn, Ts, Tu, module

THREE, FOUR = Ts((3,), "float32"), Ts((4,), "int32")


def said(expr: Any, info: StructInfo) -> Any:
    """`expr` with this StructInfo stored, whatever it gives."""
    return expr.with_fields(struct_info_=info)


def bodied(x: Var, value: Any) -> SeqExpr:
    """A body that gives `value`."""
    var = Var("v", value.struct_info)
    return said(SeqExpr([BindingBlock([VarBinding(var, value)])], var), value.struct_info)


def faults(make: Any) -> list[str]:
    """What is wrong with `main(x, c)`, whose body `make(x, c)` binds and returns."""
    x, c = Var("x", THREE), Var("c", Ts((), "bool"))
    body = bodied(x, make(x, c))
    main = Function([x, c], body, body.struct_info, True, {"global_symbol": "main"})
    return [d.message for d in well_formed(IRModule({"main": main}))]


def _inner(x: Var, c: Var) -> Any:
    a, own = Var("a", THREE), Fn([THREE], FOUR)
    function = said(Function([a], said(SeqExpr([], a), THREE), FOUR, True), own)
    f = Var("f", own)
    value = said(Call(f, [x]), FOUR)
    return said(SeqExpr([BindingBlock([VarBinding(f, function), VarBinding(v := Var("v", FOUR), value)])], v), FOUR)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda x, c: said(If(c, said(SeqExpr([], x), THREE), said(SeqExpr([], x), THREE)), FOUR), "If"),
        (lambda x, c: said(If(c, said(SeqExpr([], x), FOUR), said(SeqExpr([], x), FOUR)), FOUR), "SeqExpr"),
        (lambda x, c: said(Tuple([x]), Tu(FOUR)), "Tuple"),
        (lambda x, c: said(TupleGetItem(said(Tuple([x]), Tu(THREE)), 0), FOUR), "TupleGetItem"),
        (_inner, "a function promises"),
    ],
)
def test_stale_struct_info_is_found(make: Any, kind: str) -> None:
    """Calls were compared with what they give, other expressions believed."""
    found = faults(make)
    assert any(kind in message and "but gives" in message for message in found), found


def test_what_is_right_is_accepted() -> None:
    """A guard on the test above."""
    assert faults(lambda x, c: said(If(c, said(SeqExpr([], x), THREE), said(SeqExpr([], x), THREE)), THREE)) == []


BRANCHES = """
@R.function
def main(x: R.Tensor((3,), "float32"), c: R.Tensor((), "bool")):
    if c:
        y = R.add(x, x)
    else:
        y = x
    z = R.multiply(y, y)
    return z
"""


def test_new_types_of_parameters_go_through_branches() -> None:
    """The result of an if, and of the function, had the dtype that the parameter had before."""
    half = UpdateParamStructInfo(lambda p: TensorStructInfo((3,), "float16") if p.name_hint == "x" else None)
    after = half(module(BRANCHES))
    assert well_formed(after) == []
    result = Interpreter(after)["main"](np.array([1, 2, 3], np.float16), np.bool_(True))
    assert result.numpy().dtype == np.float16
    np.testing.assert_array_equal(result.numpy(), [4, 16, 36])


def test_new_types_of_parameters_contradict_what_local_functions_promise() -> None:
    """A captured parameter makes a local function return what it does not promise: an error, it went unnoticed."""
    before = module("""
@R.function
def main(x: R.Tensor((3,), "float32")):
    @R.function
    def f(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return R.exp(x)
    return f(R.const([1.0, 2.0, 3.0]))
""")
    with pytest.raises(DiagnosticError, match="promises"):
        UpdateParamStructInfo(lambda p: TensorStructInfo((3,), "float16"))(before)
