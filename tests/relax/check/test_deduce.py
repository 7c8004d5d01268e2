"""StructInfo of expressions, purity, and the builder's interface."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.analysis.purity import contains_impure_call
from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.structural import assert_structural_equal
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.purity import infer_purity
from baton._src.relax.check.recursion import detect_recursion
from baton._src.relax.check.report import StructInfoWarning
from baton._src.relax.literals import const
from baton._src.relax.nodes import (
    Call,
    Constant,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    PrimValue,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.special_builders import SPECIAL_BUILDERS
from baton._src.relax.struct_info import FuncStructInfo, StructInfo
from baton._src.support.diagnostics import DiagnosticError
from baton._src.te.computation import compute
from baton._src.tir.expr import FloatImm
from baton._src.tir.expr import Var as TirVar
from baton._src.values.packed_func import PROCESS_FUNCTIONS
from tests.relax.build import RELAX, Fn, Ob, Pr, Sh, Ts, Tu, codes, info, k, m, module, n, packed, refuses


def tensor(*args: Any, **kwargs: Any) -> Var:
    return Var("x", Ts(*args, **kwargs))


@pytest.mark.rule("RELAX-MATCH-11")
@pytest.mark.rule("RELAX-MATCH-11", rejects=True)
@pytest.mark.parametrize(
    ("declared", "implied"),
    [
        ("R.Tensor", True),
        ("R.Object", True),
        ("R.Tensor((n,))", True),
        ('R.Tensor((n,), "float32")', False),
        ("R.Tensor((3,))", False),
        ("R.Shape", False),
    ],
)
def test_a_cast_implies_what_its_variable_is_declared(declared: str, implied: bool) -> None:
    """Nothing checks more than the cast: a run went on with tensors that were not what the variable says."""
    text = f"""
@R.function
def main(x: R.Tensor):
    n = T.int64()
    v: {declared} = R.match_cast(x, R.Tensor((n,)))
    return v
"""
    if implied:
        assert codes(module(text)) == []
    else:
        with pytest.raises(DiagnosticError, match="is declared"):
            module(text)


@pytest.mark.rule("RELAX-MATCH-10")
def test_a_script_warns_once() -> None:
    """Bindings are judged when they are read and in the whole function: one warning for both."""
    with pytest.warns(StructInfoWarning) as found:
        module("""
@R.function
def main(x: R.Tensor((3,))):
    v = R.match_cast(x, R.Shape(ndim=1))
    return v
""")
    assert len(found) == 1


@pytest.mark.rule("RELAX-SINFO-08")
def test_derivations_are_found_by_name() -> None:
    """`opaque_func(derive_func="name")`, as in TVM: a name stayed a name, which no call could be judged by."""
    PROCESS_FUNCTIONS.register("test.derive", lambda call, context: call.sinfo_args[0], override=True)
    for name in ("test.derive", "default_derive"):
        known = FuncStructInfo.opaque_func(derive_func=name)
        made = BlockBuilder().normalize(Call(Var("f", known), [], None, [Ts((2,))]))
        assert_structural_equal(made.struct_info, Ts((2,)))
        assert repr(known) == f'R.Callable(derive_func="{name}")'
    with pytest.raises(DiagnosticError, match=r"no derive_func named 'test\.absent'"):
        FuncStructInfo.opaque_func(derive_func="test.absent")


@pytest.mark.rule("RELAX-DERIVE-02")
@pytest.mark.rule("RELAX-DERIVE-03")
@pytest.mark.rule("RELAX-DERIVE-04")
@pytest.mark.rule("RELAX-DERIVE-05")
@pytest.mark.rule("RELAX-DERIVE-09")
@pytest.mark.rule("RELAX-DERIVE-10")
@pytest.mark.rule("RELAX-DERIVE-16")
@pytest.mark.rule("RELAX-VALUE-13")
@pytest.mark.rule("RELAX-SINFO-08")
@pytest.mark.rule("RELAX-SINFO-09")
@pytest.mark.rule("RELAX-SURVEY-4")
@pytest.mark.rule("RELAX-GRAMMAR-39")
@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (const([[1.0, 2.0]]), Ts((1, 2), "float32")),
        (PrimValue(3), Pr("int64", 3)),
        (PrimValue(FloatImm("float32", float("nan"))), Pr("float32")),
        (StringImm("a"), Ob),
        (DataTypeImm("int8"), Ob),
        (ShapeExpr([n, 2]), Sh([n, 2])),
        (Tuple([ShapeExpr([2]), Tuple([])]), Tu(Sh([2]), Tu())),
        (If(PrimValue(True), tensor((2,)), tensor((3,))), Ts(ndim=1)),
        (TupleGetItem(Var("t", Tu(Ob, Sh())), 1), Sh()),
        (packed("f", tensor()), Ob),
        (packed("f", tensor(), infos=[Ts((2,)), Sh()]), Tu(Ts((2,)), Sh())),
        (Call(Var("f", Fn(None, Ob, False, lambda call, context: call.args[0].struct_info)), [tensor((2,))]), Ts((2,))),
        (RELAX["exp"](tensor((n,), "float32")), Ts((n,), "float32")),
        (RELAX["add"](tensor((n,), "float32"), tensor((m,), "float32")), Ts(None, "float32", 1)),
        (RELAX["concat"]((tensor((n,), "float32"), tensor((m,), "float32"))), Ts((n + m,), "float32")),
        (SPECIAL_BUILDERS["shape_of"](tensor((n, 2))), Sh([n, 2])),
        (SPECIAL_BUILDERS["shape_of"](tensor(ndim=2)), Sh(ndim=2)),
        (SPECIAL_BUILDERS["shape_of"](tensor()), Sh()),
        (SPECIAL_BUILDERS["tensor_to_shape"](tensor((2,), "int64")), Sh(ndim=2)),
        (SPECIAL_BUILDERS["shape_to_tensor"](ShapeExpr([n, 2])), Ts((2,), "int64")),
        (SPECIAL_BUILDERS["null_value"](), Ob),
        (SPECIAL_BUILDERS["builtin.alloc_tensor"](ShapeExpr([n, 2]), "float32", 0), Ts((n, 2), "float32")),
        (SPECIAL_BUILDERS["memory.view"](tensor((2, 3), "float32"), [6]), Ts((6,), "float32")),
        (SPECIAL_BUILDERS["inspect.tensor_shape_i"](tensor((n, 2)), 0), Pr("int64", n)),
        (SPECIAL_BUILDERS["call_builtin_with_ctx"]("vm.f", ()), Tu()),
    ],
)
def test_deduction(expr: Any, expected: StructInfo) -> None:
    """Every kind of expression."""
    assert_structural_equal(info(expr), expected, map_free_vars=True)


@pytest.mark.rule("RELAX-DERIVE-05", rejects=True)
@pytest.mark.rule("RELAX-EXPR-06", rejects=True)
@pytest.mark.rule("RELAX-DERIVE-09", rejects=True)
@pytest.mark.rule("RELAX-EXPR-07", rejects=True)
@pytest.mark.rule("RELAX-DERIVE-11", rejects=True)
@pytest.mark.rule("RELAX-EXPR-04", rejects=True)
@pytest.mark.rule("RELAX-DERIVE-12", rejects=True)
@pytest.mark.rule("RELAX-SINFO-01", rejects=True)
@pytest.mark.rule("RELAX-DERIVE-16", rejects=True)
@pytest.mark.rule("RELAX-GRAMMAR-39", rejects=True)
@pytest.mark.rule("RELAX-VALUE-12", rejects=True)
@pytest.mark.rule("RELAX-OP-06", rejects=True)
@pytest.mark.rule("RELAX-OP-08", rejects=True)
@pytest.mark.rule("RELAX-OP-10", rejects=True)
@pytest.mark.rule("RELAX-OP-13", rejects=True)
@pytest.mark.rule("RELAX-OP-14", rejects=True)
@pytest.mark.rule("RELAX-OP-15", rejects=True)
@pytest.mark.rule("RELAX-OP-16", rejects=True)
@pytest.mark.parametrize(
    "expr",
    [
        If(tensor((), "int32"), tensor(), tensor()),
        If(tensor((2,), "bool"), tensor(), tensor()),
        If(Var("o", Ob), tensor(), tensor()),
        TupleGetItem(Var("o", Ob), 0),
        TupleGetItem(Var("t", Tu(Ob)), 2),
        TupleGetItem(Var("t", Tu(Ob)), -1),
        Call(tensor(), [tensor()]),
        Call(Var("f", Fn([Ob], Ob)), [tensor(), tensor()]),
        Call(Var("f", Fn([Ts((3,))], Ob)), [tensor((4,))]),
        Call(Var("f", Fn([Ts((k, k))], Ob)), [tensor((3, 4))]),
        Call(Op("relax.unregistered"), [tensor()]),
        Call(Var("f", Fn(None, Ob, False, lambda call, context: 3)), []),
        Call(Op("relax.print"), [tensor()]),
        SPECIAL_BUILDERS["call_builtin_with_ctx"]("vm.f", (), sinfo_args=[Ob, Ob]),
        Call(SPECIAL_BUILDERS["null_value"]().op, [tensor()]),
        SPECIAL_BUILDERS["shape_of"](PrimValue(1)),
        SPECIAL_BUILDERS["tensor_to_shape"](tensor((2, 2), "int64")),
        SPECIAL_BUILDERS["tensor_to_shape"](tensor((2,), "float32")),
        SPECIAL_BUILDERS["builtin.alloc_tensor"](tensor(), "float32", 0),
        SPECIAL_BUILDERS["memory.view"](tensor((2, 3), "float32"), [7]),
    ],
)
def test_refused(expr: Any) -> None:
    """What is certainly wrong."""
    refuses(expr)


@pytest.mark.rule("RELAX-OP-06", rejects=True)
def test_trusted_calls_take_packed_functions() -> None:
    """An operator is no value, and at least the function must be given."""
    refuses(SPECIAL_BUILDERS["call_pure_packed"](RELAX["exp"](tensor()).op, tensor()), "RELAX-WF-9")
    refuses(Call(SPECIAL_BUILDERS["call_pure_packed"]("f").op, []))


@pytest.mark.rule("RELAX-VALUE-12", rejects=True)
def test_operators_refuse_objects() -> None:
    """An opaque value is no operand."""
    with pytest.raises(DiagnosticError, match="tensor"):
        info(RELAX["add"](Var("o", Ob), tensor()))


@pytest.mark.rule("RELAX-DERIVE-12")
@pytest.mark.rule("RELAX-DERIVE-13")
@pytest.mark.rule("RELAX-DERIVE-11")
@pytest.mark.rule("RELAX-SURVEY-5")
@pytest.mark.rule("RELAX-SURVEY-5", rejects=True)
def test_calls() -> None:
    """Shape variables of the callee take the arguments' dims; the undecided is an error when strict."""
    a, b, free = TirVar("a", "int64"), TirVar("b", "int64"), TirVar("q", "int64")
    callee = Var("f", Fn([Ts((a, b))], Ts((a * b,))))
    assert_structural_equal(info(Call(callee, [tensor((2, k))])), Ts((k * 2,)), map_free_vars=True)
    assert_structural_equal(info(Call(callee, [tensor(ndim=2)])), Ts(ndim=1))
    assert_structural_equal(info(Call(Var("f", Fn([Ts((free,))], Ts((free,)))), [tensor((3,))])), Ts((3,)))
    narrow = Var("f", Fn([Ts((2, 2))], Ob))
    assert info(Call(narrow, [tensor(ndim=2)])) is not None
    assert "match_cast" in refuses(Call(narrow, [tensor(ndim=2)]), strict=True)


@pytest.mark.rule("RELAX-DERIVE-07")
@pytest.mark.rule("RELAX-DERIVE-07", rejects=True)
@pytest.mark.rule("RELAX-MATCH-10")
@pytest.mark.rule("RELAX-MATCH-10", rejects=True)
@pytest.mark.rule("RELAX-MATCH-11", rejects=True)
def test_annotated_bindings_and_casts() -> None:
    """The annotation wins unless it contradicts; what is undecided warns; a cast that cannot pass warns."""
    builder = BlockBuilder()
    with builder.testing_scope([n, m]):
        builder.emit_normalized(VarBinding(Var("v", Ts()), const([1, 2])))
        assert builder.warnings == []
        builder.emit_normalized(VarBinding(Var("v", Ts((2,))), tensor(ndim=1)))
        assert len(builder.warnings) == 1
        with pytest.raises(DiagnosticError, match="declared"):
            builder.emit_normalized(VarBinding(Var("v", Ts((3,))), const([1, 2])))
        builder.match_cast(tensor(ndim=2), Ts((n, m)))
        assert len(builder.warnings) == 1
        builder.match_cast(tensor((3,)), Sh())
        assert "always fails" in builder.warnings[-1].message
    bad = """
@R.function
def main(x: R.Tensor((2,))) -> R.Object:
    v: R.Shape = R.match_cast(x, R.Tensor((2,)))
    return v
"""
    with pytest.raises(DiagnosticError) as error:
        module(bad)
    assert error.value.code == "relax-struct-info"


@pytest.mark.rule("RELAX-DERIVE-06")
@pytest.mark.rule("RELAX-DERIVE-14")
@pytest.mark.rule("RELAX-DERIVE-14", rejects=True)
@pytest.mark.rule("RELAX-ERASE-5")
@pytest.mark.rule("RELAX-SURVEY-2")
def test_functions() -> None:
    """Parameters default to objects; results are deduced, erased to the signature, checked against the promise."""
    plain = Var("x")
    assert_structural_equal(info(Function([plain], plain)), Fn([Ob], Ob))
    text = """
@R.function
def main(x: R.Tensor(ndim=1)):
    n = T.int64()
    y = R.match_cast(x, R.Tensor((n,)))
    return y
"""
    found = module(text)["main"].struct_info
    assert isinstance(found, FuncStructInfo)
    assert_structural_equal(found.ret, Ts(ndim=1))
    x = tensor((2,))
    assert "promises" in refuses(Function([x], x, Ts((3,))))


@pytest.mark.rule("RELAX-DERIVE-08")
@pytest.mark.rule("RELAX-DERIVE-08", rejects=True)
def test_recursive_local_functions_are_annotated() -> None:
    """By the variable, or by the whole signature."""
    for annotated in (True, False):
        x, f = tensor((2,)), Var("f")
        function = Function([x], Call(f, [x]), Ts((2,)) if annotated else None)
        builder = BlockBuilder()
        with builder.testing_scope([]):
            if annotated:
                builder.emit_normalized(VarBinding(f, function))
            else:
                with pytest.raises(DiagnosticError, match="annotated"):
                    builder.emit_normalized(VarBinding(f, function))


@pytest.mark.rule("RELAX-DERIVE-15")
@pytest.mark.rule("RELAX-DERIVE-01")
@pytest.mark.rule("RELAX-PURE-11")
def test_signatures_of_kernels_and_later_functions() -> None:
    """Buffers are tensors, scalars prims, nothing is returned; order of definition does not matter."""
    found = module("""
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    y = cls.later(x)
    cls.k(x, R.prim_value(2))
    return y

@T.prim_func(private=True)
def k(A: T.Buffer((T.int64(2),), "float32"), c: T.int64):
    T.evaluate(0)

@R.function
def later(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    return x
""")
    kernel = found.get_global_var("k").struct_info
    assert kernel.purity is False
    assert_structural_equal(kernel.ret, Tu())
    assert_structural_equal(kernel.params[0], Ts((2,), "float32"))
    assert kernel.params[1].dtype == "int64"


PARITY = """
@R.function
def even(i: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
    y = cls.odd(i)
    return y

@R.function
def odd(i: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
    y = cls.even(i)
    return y
"""


@pytest.mark.rule("RELAX-PURE-13")
@pytest.mark.rule("RELAX-PURE-13", rejects=True)
@pytest.mark.rule("RELAX-ANALYSIS-2")
def test_purity_is_inferred_over_cycles() -> None:
    """A cycle without effects is pure, one effect makes all of it impure, and claiming otherwise is an error."""
    found = module(PARITY)
    assert [[v.name_hint for v in group] for group in detect_recursion(found)] == [["even", "odd"]]
    assert set(infer_purity(found).values()) == {True}
    loud = PARITY.replace("    y = cls.odd(i)", "    R.print(i)\n    y = cls.odd(i)")
    with pytest.raises(DiagnosticError) as error:
        module(loud)
    assert error.value.code == "relax-purity"
    honest = module(loud.replace("@R.function", "@R.function(pure=False)"))
    assert set(infer_purity(honest).values()) == {False}
    assert contains_impure_call(honest["even"])


@pytest.mark.rule("RELAX-PURE-09")
@pytest.mark.rule("RELAX-PURE-10")
@pytest.mark.rule("RELAX-PURE-10", rejects=True)
@pytest.mark.rule("RELAX-PURE-09", rejects=True)
@pytest.mark.rule("RELAX-PURE-11", rejects=True)
@pytest.mark.rule("RELAX-PURE-03")
@pytest.mark.rule("RELAX-PURE-14")
def test_force_pure() -> None:
    """It vouches for the function, not for a dataflow block; casts and trusted calls are pure anyway."""
    text = """
@R.function
def main(x: R.Tensor(ndim=1)) -> R.Object:
    {attr}
    n = T.int64()
    with R.dataflow():
        y = R.match_cast(x, R.Tensor((n,)))
        z = R.call_pure_packed("f", y, sinfo_args=R.Tensor((n,)))
        {inside}
        R.output(z)
    w = R.call_packed("f", z)
    return w
"""
    vouched = 'R.func_attr({"relax.force_pure": True})'
    module(text.format(attr=vouched, inside=""))
    for attr, inside in (("", ""), (vouched, "R.print(y)")):
        with pytest.raises(DiagnosticError) as error:
            module(text.format(attr=attr, inside=inside))
        assert [d.code for d in error.value.diagnostics] == ["relax-purity"]


def increase(a: Any) -> Any:
    """A te function; emitted twice it makes one kernel."""
    return compute(a.shape, lambda *i: a(*i) + 1.0, name="B")


@pytest.mark.rule("RELAX-BB-1")
@pytest.mark.rule("RELAX-BB-1", rejects=True)
@pytest.mark.rule("RELAX-BB-2")
@pytest.mark.rule("RELAX-BB-2", rejects=True)
@pytest.mark.rule("RELAX-BB-3")
def test_block_builder() -> None:
    """Contexts, variables, names, lookups, and what is refused."""
    builder = BlockBuilder()
    x = Var("x", Ts((n, 2), "float32"))
    with builder.function("main", [x]):
        assert BlockBuilder.current() is builder
        with builder.dataflow():
            lv = builder.emit(RELAX["exp"](x))
            assert isinstance(lv, DataflowVar)
            assert builder.current_block_is_dataflow()
            out = builder.emit_output(lv)
            assert not isinstance(out, DataflowVar)
        assert isinstance(builder.lookup_binding(lv), Call)
        with pytest.raises(DiagnosticError, match="emit_output"):
            builder.emit_output(out)
        with pytest.raises(DiagnosticError, match="opened inside"), builder.function("g", []):
            pass
        te = builder.emit_te(increase, out)
        again = builder.emit_te(increase, te)
        builder.emit_func_output((te, again))
        with pytest.raises(DiagnosticError, match="twice"):
            builder.emit_func_output(te)
    found = builder.finalize()
    assert sorted(v.name_hint for v in found) == ["increase", "main"]
    assert found["main"].attrs == {"global_symbol": "main"}
    assert BlockBuilder.current() is None
    assert [builder.get_unique_name("f") for _ in range(2)] == ["f", "f1"]
    with pytest.raises(DiagnosticError, match="without emit_func_output"), builder.function("h", []):
        pass
    with pytest.raises(DiagnosticError, match="no parameters"), builder.function("i"):
        builder.emit_func_output(Tuple([]))


def test_nothing_is_looked_up_while_building() -> None:
    """Building a call of an unknown function only makes data; normalising tells."""
    assert isinstance(packed("not.registered", Tuple([])), Call)
    assert isinstance(ExternFunc("x"), ExternFunc)
    assert isinstance(Constant([1]), Constant)
    refuses(Call(GlobalVar("nowhere"), []), "RELAX-SCOPE-1")


def test_literals_of_64_bits_narrow_only_if_they_fit() -> None:
    """Guards what TVM's scripts rely on (32 bits without a word), and that no number changes by it."""
    assert str(const(np.array([1, 2])).data.dtype) == "int32"
    assert str(const(np.array([1.5])).data.dtype) == "float32"
    assert str(const(np.array([1], "int64"), "int64").data.dtype) == "int64"
    assert const([2**40]).data.numpy().tolist() == [2**40]
