"""The grammar of seed 001, node by node: fields, what a constructor refuses, what a node means when it is run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton import relax, tir
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.relax.check.variables import prim_vars
from baton._src.relax.nodes import (
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.struct_info import PrimStructInfo, ShapeStructInfo, TensorStructInfo, TupleStructInfo
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.evaluation.expressions import evaluate
from baton._src.values.dtype import VOID, DataType
from tests.relax.build import RELAX, Fn, Ob, Pr, Sh, Ts, Tu, codes, m, module, n
from tests.relax.machines import everywhere, fails_everywhere, table

IntImm, FloatImm = tir.IntImm, tir.FloatImm
add, exp = RELAX["add"], RELAX["exp"]


def i64(value: int) -> Any:
    return IntImm("int64", value)


def refused(build: Any, *words: str) -> DiagnosticError:
    """The error of a constructor; its message has all of `words`."""
    with pytest.raises(DiagnosticError) as error:
        build()
    for word in words:
        assert word in str(error.value), str(error.value)
    return error.value


def run(value: Any, *, functions: Any = None, params: Any = (), args: Any = ()) -> Any:
    """What an expression evaluates to, as the body of a function."""
    program = Function(params, SeqExpr([], value), Ob, False, {"global_symbol": "main"})
    return everywhere(relax.transform.Normalize()(IRModule({"main": program})), *args, functions=functions)


# ---------------------------------------------------------------------------------------------------- PrimExprs


@pytest.mark.rule("RELAX-GRAMMAR-01")
@pytest.mark.rule("RELAX-GRAMMAR-01", rejects=True)
@pytest.mark.rule("RELAX-EXPR-02")
def test_shape_variables_live_in_prim_exprs() -> None:
    assert prim_vars(ShapeExpr([n]).values[0]) == [n] or set(prim_vars(ShapeExpr([n]).values[0])) == {n}
    x = Var("x", Ts((3,)))
    refused(lambda: Call(add(x, x).op, [n, x]), "argument 0 of a call", "Var")


@pytest.mark.rule("RELAX-GRAMMAR-02")
@pytest.mark.rule("RELAX-GRAMMAR-02", rejects=True)
def test_integers_have_64_bits() -> None:
    assert i64(9223372036854775807).value == 2**63 - 1
    refused(lambda: i64(2**63), "9223372036854775808", "int64")


@pytest.mark.rule("RELAX-GRAMMAR-03")
@pytest.mark.rule("RELAX-GRAMMAR-05")
@pytest.mark.rule("RELAX-GRAMMAR-06")
@pytest.mark.rule("RELAX-GRAMMAR-07")
@pytest.mark.rule("RELAX-GRAMMAR-08")
@pytest.mark.parametrize(
    ("expr", "value", "expected"),
    [
        (tir.Add(n, i64(2)), 4, 6),
        (tir.Sub(n, i64(6)), 4, -2),
        (tir.Mul(n, n), 4, 16),
        (tir.Div(n, i64(2)), -7, -3),
        (tir.Min(n, i64(3)), 4, 3),
        (tir.Max(n, i64(3)), 4, 4),
        (tir.Not(tir.And(tir.EQ(n, i64(1)), tir.EQ(n, i64(2)))), 1, 1),
        (tir.Or(tir.EQ(n, i64(1)), tir.EQ(n, i64(2))), 2, 1),
        (tir.Select(tir.GT(n, i64(2)), n, i64(0)), 3, 3),
        (tir.Select(tir.GT(n, i64(2)), n, i64(0)), 1, 0),
        (tir.FloorDiv(n, i64(2)), -7, -4),
        (tir.FloorMod(n, i64(2)), -7, 1),
        (tir.Cast("int32", n), 5, 5),
    ],
)
def test_arithmetic_of_prim_exprs(expr: Any, value: int, expected: int) -> None:
    """As TIR evaluates; conditions are booleans."""
    assert int(evaluate(expr, {n: value})) == expected
    if isinstance(expr, (tir.Not, tir.Or)):
        assert expr.dtype == "bool"


@pytest.mark.rule("RELAX-GRAMMAR-08")
@pytest.mark.rule("RELAX-GRAMMAR-24")
def test_prim_values_box_prim_exprs() -> None:
    assert PrimValue(FloatImm("float32", 2.5)).value.value == 2.5
    assert run(PrimValue(3)) == 3
    assert run(PrimValue(True)) is True


@pytest.mark.rule("RELAX-GRAMMAR-03", rejects=True)
@pytest.mark.rule("RELAX-EXPR-02", rejects=True)
def test_relax_variables_are_no_prim_exprs() -> None:
    refused(lambda: tir.Add(n, Var("x", Ob)))
    x = Var("x", Ts((3,)))
    program = Function([x], SeqExpr([BindingBlock([VarBinding(Var("v"), ShapeExpr([m]))])], x))
    assert codes(program) == ["RELAX-WF-5"]


@pytest.mark.rule("RELAX-GRAMMAR-04", rejects=True)
def test_division_by_zero() -> None:
    refused(lambda: evaluate(tir.Div(n, i64(0)), {n: 3}, exact=True), "zero")  # as sizes are computed
    text = """
@R.function
def main(x: R.Tensor(("n",), "float32")) -> R.Shape(ndim=1):
    n = T.int64()
    return R.shape([T.Div(n, n - 3)])
"""
    assert everywhere(text, np.zeros(2, np.float32)) == (-2,)
    fails_everywhere(text, np.zeros(3, np.float32), says="zero")


@pytest.mark.rule("RELAX-GRAMMAR-06", rejects=True)
@pytest.mark.rule("RELAX-WF-25")
def test_dimensions_are_integers() -> None:
    assert codes(Function([Var("x", Ts((n,)))], SeqExpr([], ShapeExpr([n])))) == []
    flag = tir.Var("b", "bool")
    program = Function([Var("b", Pr("bool", flag))], SeqExpr([], ShapeExpr([tir.Not(flag)])))
    assert codes(program) == ["RELAX-WF-25"]


# ------------------------------------------------------------------------------------------- kernels, data types


@pytest.mark.rule("RELAX-GRAMMAR-09")
@pytest.mark.rule("RELAX-GRAMMAR-09", rejects=True)
def test_prim_funcs() -> None:
    a, b = tir.Var("a", "handle"), tir.Var("b", "handle")
    buffer = tir.decl_buffer((4,), "float32")
    body = tir.Evaluate(i64(0))
    found = tir.PrimFunc([a, b], body, None, {a: buffer}, {"key": 1})
    assert found.params == (a, b)
    assert (found.body, found.ret_type, found.buffer_map, found.attrs) == (body, None, {a: buffer}, {"key": 1})
    refused(lambda: tir.PrimFunc([a], body, None, {b: buffer}), "buffer_map key b is not a parameter")


@pytest.mark.rule("RELAX-GRAMMAR-10")
@pytest.mark.rule("RELAX-GRAMMAR-10", rejects=True)
@pytest.mark.rule("RELAX-GRAMMAR-38")
@pytest.mark.rule("RELAX-GRAMMAR-38", rejects=True)
def test_prim_funcs_stand_in_the_module_only() -> None:
    kernel = tir.PrimFunc([], tir.Evaluate(i64(0)))
    x = Var("x", Ts((3,)))
    program = IRModule({"main": Function([x], SeqExpr([], x), attrs={"global_symbol": "main"}), "k": kernel})
    assert codes(program) == []
    v = Var("v")
    inside = Function([x], SeqExpr([BindingBlock([VarBinding(v, kernel)])], x))
    assert codes(inside) == ["RELAX-GRAMMAR-10"]
    refused(lambda: IRModule({"main": Constant(1.0)}), "main", "Constant")


@pytest.mark.rule("RELAX-GRAMMAR-11")
@pytest.mark.rule("RELAX-GRAMMAR-11", rejects=True)
@pytest.mark.rule("RELAX-DTYPE-1")
@pytest.mark.rule("RELAX-DTYPE-2")
@pytest.mark.rule("RELAX-DTYPE-3")
@pytest.mark.rule("RELAX-DTYPE-4")
@pytest.mark.rule("RELAX-DTYPE-4", rejects=True)
def test_data_types() -> None:
    """Kinds, bits and lanes; bool is uint1, void is a handle of no bits and lanes that stands for the unknown."""
    half = DataType("float16")
    assert (half.kind, half.bits, half.lanes) == ("float", 16, 1)
    assert str(DataType("int32")) == "int32"
    assert DataType("uint1") == DataType("bool")
    assert (VOID.bits, VOID.lanes) == (0, 0)
    assert DataType("") == VOID
    refused(lambda: DataType("complex64"), "complex64")
    assert relax.const(True).data.dtype == "bool"
    assert TensorStructInfo((4,), "float32").dtype.lanes == 1
    text = "@R.function\ndef main(x: R.Tensor(ndim=2)) -> R.Tensor(ndim=2):\n    return x\n"
    assert module(text)["main"].params[0].struct_info.dtype.is_void
    assert everywhere(text, np.zeros((2, 2), np.float16)).dtype == "float16"
    refused(lambda: relax.const(1, "void"), "void")


# --------------------------------------------------------------------------------------------------- StructInfo


@pytest.mark.rule("RELAX-GRAMMAR-12")
@pytest.mark.rule("RELAX-GRAMMAR-12", rejects=True)
@pytest.mark.rule("RELAX-SINFO-04", rejects=True)
def test_tensor_struct_info() -> None:
    anything = TensorStructInfo(shape=None, dtype="void", ndim=-1)
    assert (anything.shape, anything.dtype, anything.ndim) == (None, VOID, -1)
    refused(lambda: TensorStructInfo(shape=Constant(3)), "shape of a TensorStructInfo")
    refused(lambda: TensorStructInfo(dtype="float32", ndim=-2), "ndim", "-2")
    refused(lambda: ShapeStructInfo(ndim=-2), "ndim", "-2")


@pytest.mark.rule("RELAX-GRAMMAR-13")
@pytest.mark.rule("RELAX-GRAMMAR-13", rejects=True)
def test_shape_struct_info() -> None:
    found = ShapeStructInfo(values=[n, 4], ndim=2)
    assert found.values is not None
    assert (found.values[0], found.ndim) == (n, 2)
    refused(lambda: ShapeStructInfo(values=[PrimValue(3)], ndim=1), "dimension")


@pytest.mark.rule("RELAX-GRAMMAR-14")
@pytest.mark.rule("RELAX-GRAMMAR-14", rejects=True)
@pytest.mark.rule("RELAX-WF-22")
def test_prim_struct_info() -> None:
    assert structural_equal(PrimStructInfo("int64", value=n + 1).value, n + 1)
    assert codes(Function([Var("p", Pr("int64", n))], SeqExpr([], Tuple([])))) == []
    refused(lambda: PrimStructInfo(), "dtype")


@pytest.mark.rule("RELAX-GRAMMAR-15")
@pytest.mark.rule("RELAX-GRAMMAR-16")
@pytest.mark.rule("RELAX-GRAMMAR-16", rejects=True)
@pytest.mark.rule("RELAX-GRAMMAR-17")
def test_other_struct_infos() -> None:
    assert structural_equal(relax.ObjectStructInfo(), relax.ObjectStructInfo())
    assert Tu(Tu(), Ob).fields[0].fields == ()
    refused(lambda: TupleStructInfo([Var("x", Ob)]), "StructInfo", "Var")
    assert Fn([Ts()], Ts(), False).purity is False


# -------------------------------------------------------------------------------------------------- expressions


@pytest.mark.rule("RELAX-GRAMMAR-18")
@pytest.mark.rule("RELAX-GRAMMAR-18", rejects=True)
def test_constants() -> None:
    assert Constant(np.zeros((2, 3), np.float32)).data.ndim == 2
    refused(lambda: Constant("abc"))


@pytest.mark.rule("RELAX-GRAMMAR-19")
@pytest.mark.rule("RELAX-GRAMMAR-20")
@pytest.mark.rule("RELAX-GRAMMAR-21")
def test_variables() -> None:
    """Compared by identity; a DataflowVar is a kind of its own; a GlobalVar names a definition of the module."""
    first, second = Var("x"), Var("x")
    assert first is not second
    assert first != second
    x, lv = Var("x", Ts((3,), "float32")), DataflowVar("lv", Ts((3,), "float32"))
    outside = Function([x], SeqExpr([BindingBlock([VarBinding(lv, exp(x))])], x))
    assert codes(outside) == ["RELAX-WF-1"]
    main = GlobalVar("main")
    program = Function([x], SeqExpr([], x))
    assert IRModule({main: program})["main"] is program
    assert IRModule({main: program})[GlobalVar("main")] is program


@pytest.mark.rule("RELAX-GRAMMAR-22")
@pytest.mark.rule("RELAX-GRAMMAR-31")
@pytest.mark.rule("RELAX-GRAMMAR-31", rejects=True)
@pytest.mark.rule("RELAX-GRAMMAR-32")
@pytest.mark.rule("RELAX-GRAMMAR-32", rejects=True)
@pytest.mark.rule("RELAX-VALUE-04")
def test_tuples_shapes_items() -> None:
    x = Var("x", Ob)
    assert len(Tuple([x, Tuple([]), ShapeExpr([n])])) == 3
    assert run(ShapeExpr([])) == ()
    refused(lambda: ShapeExpr([PrimValue(3)]), "dimension")
    assert run(TupleGetItem(Tuple([StringImm("a"), StringImm("b")]), 1)) == "b"
    refused(lambda: TupleGetItem(Tuple([]), PrimValue(1)), "index")


@pytest.mark.rule("RELAX-GRAMMAR-23")
@pytest.mark.rule("RELAX-GRAMMAR-23", rejects=True)
@pytest.mark.rule("RELAX-GRAMMAR-34")
@pytest.mark.rule("RELAX-GRAMMAR-35")
@pytest.mark.rule("RELAX-GRAMMAR-36")
@pytest.mark.rule("RELAX-GRAMMAR-36", rejects=True)
@pytest.mark.rule("RELAX-GRAMMAR-37")
@pytest.mark.rule("RELAX-GRAMMAR-37", rejects=True)
@pytest.mark.rule("RELAX-EXPR-08")
def test_sequences_blocks_bindings() -> None:
    x = Var("x", Ts((), "float32"))
    assert run(SeqExpr([], StringImm("x"))) == "x"
    v, w, lv, gv = Var("v"), Var("w"), DataflowVar("lv"), Var("gv")
    blocks = [
        BindingBlock([VarBinding(v, add(x, x))]),
        DataflowBlock([VarBinding(lv, add(v, v)), VarBinding(gv, lv)]),
        BindingBlock([MatchCast(None, gv, Ts((), "float32")), VarBinding(w, gv)]),
    ]
    assert float(run(SeqExpr(blocks, w), params=[x], args=[np.float32(1)]).numpy()) == 4
    refused(lambda: SeqExpr([VarBinding(v, x)], v), "block", "VarBinding")
    refused(lambda: BindingBlock([x]), "binding", "Var")
    refused(lambda: VarBinding(GlobalVar("g"), x), "GlobalVar")
    refused(lambda: MatchCast(v, x, None), "struct_info")


@pytest.mark.rule("RELAX-GRAMMAR-25")
@pytest.mark.rule("RELAX-GRAMMAR-26")
@pytest.mark.rule("RELAX-GRAMMAR-26", rejects=True)
@pytest.mark.rule("RELAX-GRAMMAR-29")
@pytest.mark.rule("RELAX-GRAMMAR-29", rejects=True)
@pytest.mark.rule("RELAX-GRAMMAR-30")
@pytest.mark.rule("RELAX-GRAMMAR-40")
def test_calls_of_packed_functions() -> None:
    """Literals arrive as host values; building a call looks nothing up, running it does."""
    seen: list[Any] = []
    functions = table(see=lambda *values: seen.append(values))
    call = Call(ExternFunc("test.see"), [StringImm("hi"), DataTypeImm("float16")])
    run(call, functions=functions)
    assert seen == [("hi", DataType("float16"))] * 3
    assert isinstance(seen[0][1], DataType)
    refused(lambda: DataTypeImm("float17"), "float17")
    x = Var("x", Ts((3,)))
    missing = Call(ExternFunc("not.registered"), [x], None, [Ts(ndim=2)])
    assert missing.sinfo_args[0].ndim == 2
    program = IRModule({"main": Function([x], SeqExpr([], missing), Ob, False, {"global_symbol": "main"})})
    fails_everywhere(
        relax.transform.Normalize()(program), np.zeros(3, np.float32), says="not.registered", code="packed-missing"
    )


@pytest.mark.rule("RELAX-GRAMMAR-27")
@pytest.mark.rule("RELAX-EXPR-19")
@pytest.mark.rule("RELAX-GRAMMAR-28")
@pytest.mark.rule("RELAX-GRAMMAR-28", rejects=True)
@pytest.mark.rule("RELAX-WF-21")
def test_functions_and_branches() -> None:
    x = Var("x", Ts((3,)))
    found = Function([x], SeqExpr([], x), None, None, None)
    assert found.is_pure is True
    assert codes(Function([Var("x", Ob)], SeqExpr([], Tuple([])), None, True, {"relax.force_pure": True})) == []
    assert If(PrimValue(True), x, x).false_branch is x
    with pytest.raises(TypeError, match="false_branch"):
        If(PrimValue(True), x)
    refused(lambda: If(PrimValue(True), x, None), "false_branch")


@pytest.mark.rule("RELAX-GRAMMAR-33")
@pytest.mark.rule("RELAX-GRAMMAR-33", rejects=True)
@pytest.mark.rule("RELAX-WF-9")
def test_operators_are_found_by_name() -> None:
    op = baton.ir.Op.get("relax.add")
    assert op is baton.ir.Op.get("relax.add")
    refused(lambda: baton.ir.Op.get("relax.no_such"), "relax.no_such")
    x = Var("x", Ts((3,), "float32"))
    assert codes(Function([x], SeqExpr([BindingBlock([VarBinding(Var("v"), Call(op, [x, x]))])], x))) == []


def test_shape_infos_of_a_module_read_alike() -> None:
    """A guard on the helpers above: what `run` gives is not the same for everything."""
    assert run(ShapeExpr([2, 3])) != run(ShapeExpr([2]))
    assert structural_equal(Sh([2]), Sh([2]))


def test_annotations_compare_by_what_they_say() -> None:
    """`==` of StructInfos is structural, as in TVM; other nodes compare by identity, and tables of nodes still do."""
    assert Ts((2, 3), "float32") == Ts((2, 3), "float32")
    assert Ts((2, 3), "float32") != Ts((2, 4), "float32")
    assert Ts((2,)) != Sh([2])
    assert Sh([2]) != "R.Shape([2])"
    one = Sh([2])
    assert {one: 1}[one] == 1
    assert Var("x", one) != Var("x", one)
