"""What expressions say of themselves before they are normalised, and what `well_formed` says of those."""

from __future__ import annotations

import warnings

import pytest

import baton
from baton import relax
from baton.error import DiagnosticError
from baton.ir import IRModule

n = baton.tir.Var("n", "int64")
x = relax.Var("x", relax.TensorStructInfo((n, 4), "float32"))


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (relax.const([1.0, 2.0]), 'R.Tensor((2,), dtype="float32")'),
        (relax.ShapeExpr([1, n]), "R.Shape([1, n])"),
        (relax.PrimValue(n + 1), "R.Prim(value=n + 1)"),
        (relax.StringImm("text"), "R.Object"),
        (relax.Tuple([x, relax.Tuple([])]), 'R.Tuple(R.Tensor((n, 4), dtype="float32"), R.Tuple)'),
        (relax.TupleGetItem(relax.Tuple([x, relax.const(1)]), 1), 'R.Tensor((), dtype="int32")'),
        (
            relax.Function([x], x, ret_struct_info=x.struct_info),
            'R.Callable((R.Tensor((n, 4), dtype="float32"),), R.Tensor((n, 4), dtype="float32"), True)',
        ),
        (relax.Function([], relax.const(1), None, False), 'R.Callable((), R.Tensor((), dtype="int32"), False)'),
        (
            relax.Function([relax.Var("o")], relax.SeqExpr([], x)),
            'R.Callable((R.Object,), R.Tensor((n, 4), dtype="float32"), True)',
        ),
        (relax.SeqExpr([], relax.Tuple([])), "R.Tuple"),
        (relax.If(relax.const(True), relax.ShapeExpr([1]), relax.ShapeExpr([n])), "R.Shape(ndim=1)"),
    ],
)
def test_literals_tuples_and_functions_know_theirs(expr: relax.Expr, text: str) -> None:
    assert repr(expr.struct_info) == text


def test_what_blocks_bind_is_not_known_outside_of_them() -> None:
    """Whether the cast binds m, or checks what an enclosing function bound, only the whole program says."""
    m = baton.tir.Var("m", "int64")
    y = relax.Var("y", relax.TensorStructInfo((m, 4), "float32"))
    body = relax.SeqExpr([relax.BindingBlock([relax.MatchCast(y, x, y.struct_info)])], y)
    for expr in (body, relax.Function([x], body)):
        with pytest.raises(DiagnosticError, match="relax-unchecked"):
            _ = expr.struct_info


def test_calls_do_not_know_theirs_nor_does_what_contains_one() -> None:
    call = relax.op.exp(x)
    for expr in (call, relax.Tuple([x, call]), relax.TupleGetItem(relax.Tuple([x]), 1)):
        with pytest.raises(DiagnosticError, match="relax-unchecked"):
            _ = expr.struct_info


def test_a_prim_value_holds_a_scalar() -> None:
    with pytest.raises(TypeError, match="'text'"):
        relax.PrimValue("text")


def answer(value: relax.Expr) -> bool:
    """What `well_formed` says of a function that binds and returns `value`."""
    result = relax.Var("result", relax.ObjectStructInfo())
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(result, value)])], result)
    function = relax.Function([x], body, ret_struct_info=relax.ObjectStructInfo())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return relax.analysis.well_formed(IRModule({"main": function.with_attr("global_symbol", "main")}))


@pytest.mark.rule("RELAX-NF-10", rejects=True)
@pytest.mark.parametrize(
    "nested",
    [
        relax.op.add(relax.op.exp(x), x),
        relax.Tuple([relax.op.exp(x), x]),
        relax.TupleGetItem(relax.op.split(x, 2, 1), 0),
        relax.SeqExpr([], x),
    ],
)
def test_what_is_nested_is_not_well_formed(nested: relax.Expr) -> None:
    assert not answer(nested)


@pytest.mark.rule("RELAX-NF-10")
@pytest.mark.parametrize("flat", [relax.op.add(x, x), relax.Tuple([x, relax.Tuple([x])]), relax.const(1)])
def test_leaves_and_tuples_of_leaves_are_not_nested(flat: relax.Expr) -> None:
    assert answer(flat)
