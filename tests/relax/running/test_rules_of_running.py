"""Rules on values, scopes, signatures and shape variables that whole programs show, run by all three machines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import relax
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relax.nodes import (
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    Var,
    VarBinding,
)
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.expr import Var as TirVar
from tests.relax.build import RELAX, Ob, Ts, codes, load, module, packed, refused
from tests.relax.machines import MODES, everywhere, f32, fails_everywhere, machine, table

add, exp = RELAX["add"], RELAX["exp"]
PASSES = relax.transform


def numbers(value: Any) -> Any:
    return value.numpy().tolist()


# -------------------------------------------------------------------------------------------------- expressions


@pytest.mark.rule("RELAX-EXPR-03")
@pytest.mark.rule("RELAX-EXPR-03", rejects=True)
def test_prim_values_are_immutable_and_nest() -> None:
    body = """
@R.function(pure=False)
def main(x: R.Tensor((2,), "float32")) -> R.Object:
    r = R.call_packed("test.use", (R.prim_value(3), x))
    return r
"""
    assert everywhere(body, f32(1, 2), functions=table(use=lambda pair: pair[0] + pair[1].shape[0])) == 5

    def write(pair: Any) -> None:
        pair[0][...] = 4

    for mode in MODES:
        with pytest.raises(Exception, match=r"item assignment|immutable"):
            machine(body, mode, table(use=write))["main"](f32(1, 2))


@pytest.mark.rule("RELAX-EXPR-04")
@pytest.mark.rule("RELAX-EXPR-06")
@pytest.mark.rule("RELAX-EXPR-07")
@pytest.mark.rule("RELAX-EXPR-09")
def test_callees_conditions_items() -> None:
    body = """
@R.function
def main(x: R.Tensor((2,), "float32")) -> R.Object:
    @R.function
    def fn(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        r = R.add(y, y)
        return r
    f = fn
    g = f
    a = g(x)
    b = a
    if R.const(True):
        c = R.add(b, x)
    else:
        c = x
    t = (a, b, c)
    return t[2]
"""
    assert numbers(everywhere(body, f32(1, 2))) == [3, 6]


@pytest.mark.rule("RELAX-EXPR-12")
@pytest.mark.rule("RELAX-EXPR-15")
@pytest.mark.rule("RELAX-EXPR-15", rejects=True)
def test_scopes_of_sequences_and_functions() -> None:
    """What a sequence or function binds is gone after it; its value is not."""
    x = Var("x", Ts((3,), "float32"))
    v, w, y = Var("v"), Var("w"), Var("y")
    nested = SeqExpr([BindingBlock([VarBinding(w, exp(x))])], w)
    outer = Function([x], SeqExpr([BindingBlock([VarBinding(v, nested)])], v))
    assert codes(outer) == []
    param = Var("p", Ts((3,), "float32"))
    inner = Function([param], SeqExpr([BindingBlock([VarBinding(y, exp(param))])], y), Ts((3,), "float32"))
    f, used = Var("f"), Var("used")
    good = Function([x], SeqExpr([BindingBlock([VarBinding(f, inner), VarBinding(used, Call(f, [x]))])], used))
    assert codes(good) == []
    bad = Function([x], SeqExpr([BindingBlock([VarBinding(f, inner), VarBinding(used, exp(y))])], used))
    assert codes(bad) == ["RELAX-SCOPE-3"]


@pytest.mark.rule("RELAX-EXPR-16", rejects=True)
def test_an_anonymous_function_cannot_call_itself() -> None:
    """Its future name is not bound inside of it."""
    x, p, own, r = Var("x", Ts((3,))), Var("p", Ts((3,))), Var("own"), Var("r")
    literal = Function([p], SeqExpr([BindingBlock([VarBinding(r, Call(own, [p]))])], r), Ts((3,)))
    program = Function([x], SeqExpr([BindingBlock([VarBinding(own, packed("apply", literal))])], own), None, False)
    assert codes(program, check_struct_info=False) == ["RELAX-WF-3"]


@pytest.mark.rule("RELAX-EXPR-17")
@pytest.mark.rule("RELAX-EXPR-17", rejects=True)
@pytest.mark.rule("RELAX-SINFO-02", rejects=True)
@pytest.mark.rule("RELAX-SINFO-01")
def test_arguments_are_checked_as_by_match_cast() -> None:
    body = """
@R.function
def size(x: R.Tensor(("n",), "float32")) -> R.Shape(ndim=1):
    n = T.int64()
    return R.shape([n])

@R.function(private=True)
def three(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
    return x

@R.function
def main(x: R.Tensor(ndim=1, dtype="float32")) -> R.Object:
    y = cls.three(x)
    return y

@R.function
def known(x: R.Tensor((3,), "float32")) -> R.Object:
    y = cls.three(x)
    return y
"""
    with pytest.warns(UserWarning, match="match_cast|MatchCast"):
        program = module(body)
    assert everywhere(program, f32(1, 2, 3, 4, 5), entry="size") == (5,)
    assert numbers(everywhere(program, f32(1, 2, 3))) == [1, 2, 3]
    error = fails_everywhere(program, f32(1, 2, 3, 4), code="value-mismatch")
    assert "expected 3" in str(error)


# ------------------------------------------------------------------------------------------------------ modules


@pytest.mark.rule("RELAX-MOD-2")
@pytest.mark.rule("RELAX-MOD-2", rejects=True)
def test_any_public_function_is_an_entry() -> None:
    body = """
@R.function
def main(x: R.Tensor((1,), "float32")) -> R.Object:
    return x

@R.function
def other(x: R.Tensor((1,), "float32")) -> R.Object:
    y = R.add(x, x)
    return y
"""
    assert numbers(everywhere(body, f32(2))) == [2]
    assert numbers(everywhere(body, f32(2), entry="other")) == [4]
    for mode in MODES:
        with pytest.raises(DiagnosticError, match="nope"):
            machine(body, mode)["nope"]


@pytest.mark.rule("RELAX-MOD-3")
def test_a_pass_may_add_functions() -> None:
    text = """
@R.function
def main(x: R.Tensor((1,), "float32")) -> R.Object:
    @R.function
    def inner(y: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        z = R.add(y, x)
        return z
    return inner(x)

@R.function
def other(x: R.Tensor((1,), "float32")) -> R.Object:
    return x
"""
    before = module(text)
    after = PASSES.LambdaLift()(before)
    names = {v.name_hint for v in after.functions}
    assert {"main", "other"} < names
    assert after["other"] is before["other"]


# ------------------------------------------------------------------------------------------------------- values


@pytest.mark.rule("RELAX-VALUE-01")
@pytest.mark.rule("RELAX-VALUE-03")
@pytest.mark.rule("RELAX-VALUE-04")
@pytest.mark.rule("RELAX-VALUE-05")
def test_values() -> None:
    body = """
@R.function(pure=False)
def main(x: R.Tensor) -> R.Object:
    @R.function
    def f(y: R.Tensor) -> R.Tensor:
        return y
    unit = R.print(R.str(""), format="")
    return (x, (f, R.shape([2])), (), R.const(1.0), unit)
"""
    x, (f, shape), unit, scalar, printed = everywhere(body, f32(1, 2, 3))
    assert (x.ndim, tuple(x.shape)) == (1, (3,))
    assert callable(f)
    assert (shape, unit, printed) == ((2,), (), ())
    assert tuple(scalar.shape) == ()


@pytest.mark.rule("RELAX-VALUE-10")
def test_packed_functions_return_anything() -> None:
    body = """
@R.function(pure=False)
def main() -> R.Object:
    r = R.call_packed("test.make", sinfo_args=R.Object)
    return r
"""
    opaque = object()
    for mode in MODES:
        assert machine(body, mode, table(make=lambda: opaque))["main"]() is opaque


# -------------------------------------------------------------------------------- scopes, normal form, criteria


@pytest.mark.rule("RELAX-SCOPE-5")
@pytest.mark.rule("RELAX-WF-10")
@pytest.mark.rule("RELAX-WF-20")
@pytest.mark.parametrize("dtype", ["uint8", "float16", "bool", "int8", "float64"])
def test_annotations_and_casts_bind(dtype: str) -> None:
    x, v, q = Var("x", Ts(None, dtype, 1)), Var("v"), TirVar("q", "int64")
    w = Var("w", Ts((2, 3), dtype, ndim=2))
    program = Function([x, w], SeqExpr([BindingBlock([MatchCast(v, x, Ts((q,), dtype))])], v))
    assert codes(program) == []


@pytest.mark.rule("RELAX-WF-7-3")
@pytest.mark.rule("RELAX-WF-11")
def test_branches_beside_dataflow_and_functions_inside() -> None:
    """An If between blocks, and inside a function defined in a block; capturing what leaves the block."""
    x = Var("x", Ts((3,), "float32"))
    lv, gv, picked, out = DataflowVar("lv"), Var("gv"), Var("picked"), Var("out")
    param, f, r, t = Var("p", Ts((3,), "float32")), Var("f"), Var("r"), Var("t")
    inner = Function(
        [param],
        SeqExpr([BindingBlock([VarBinding(t, add(param, gv)), VarBinding(r, If(PrimValue(True), t, param))])], r),
        Ts((3,), "float32"),
    )
    blocks = [
        DataflowBlock([VarBinding(lv, exp(x)), VarBinding(gv, exp(lv)), VarBinding(f, inner)]),
        BindingBlock([VarBinding(picked, If(PrimValue(True), gv, x))]),
        DataflowBlock([VarBinding(out, add(picked, gv))]),
    ]
    assert codes(Function([x], SeqExpr(blocks, out))) == []


@pytest.mark.rule("RELAX-NF-10")
@pytest.mark.rule("RELAX-NF-10", rejects=True)
def test_normal_form_after_reading() -> None:
    """The reader's functions are normal; a program that is not cannot pass for one."""
    text = '@R.function\ndef main(x: R.Tensor((3,), "float32")):\n    return R.add(R.exp(x), R.exp(R.exp(x)))\n'
    assert codes(load(text), normalized=True) == []
    x, v = Var("x", Ts((3,), "float32")), Var("v")
    nested = Function([x], SeqExpr([BindingBlock([VarBinding(v, add(exp(x), x))])], v), Ob)
    assert codes(nested, normalized=True) == ["RELAX-NF-1"]


@pytest.mark.rule("RELAX-SINFO-03")
def test_inlining_sharpens_what_is_known() -> None:
    text = """
@R.function(private=True)
def f(x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
    y = R.exp(x)
    return y

@R.function
def main(x: R.Tensor((3,), "float32")) -> R.Tensor(ndim=1, dtype="float32"):
    y = cls.f(x)
    return y
"""
    before = module(text)
    assert before["main"].body.body.struct_info.shape is None
    after = PASSES.CanonicalizeBindings()(PASSES.InlinePrivateFunctions()(before))
    last = after["main"].body.blocks[-1].bindings[-1]
    assert tuple(int(d) for d in last.value.struct_info.shape.values) == (3,)


@pytest.mark.rule("RELAX-DIM-3")
@pytest.mark.rule("RELAX-DIM-5")
def test_shape_variables_of_casts() -> None:
    body = """
@R.function
def main(x: R.Tensor(ndim=1, dtype="float32"), c: R.Tensor((), "bool")) -> R.Object:
    if c:
        m = T.int64()
        y = R.match_cast(x, R.Tensor((m,), "float32"))
        r = R.shape([m * 2])
    else:
        r = R.shape([1])
    q = T.int64()
    z = R.match_cast(x, R.Tensor((q,), "float32"))
    w = R.zeros(R.shape([q]), "float32")
    return (r, w)
"""
    shape, w = everywhere(body, f32(1, 2, 3), np.bool_(True))
    assert (shape, tuple(w.shape)) == ((6,), (3,))


@pytest.mark.rule("RELAX-MATCH-9", rejects=True)
@pytest.mark.rule("RELAX-SIG-1", rejects=True)
@pytest.mark.rule("RELAX-SIG-8", rejects=True)
@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "@R.function\ndef main(t: R.Tensor(ndim=2)) -> R.Object:\n    n = T.int64()\n"
            "    y = R.match_cast(t, R.Tensor((n * 2, n)))\n    return y\n",
            "RELAX-WF-5",
        ),
        ('@R.function\ndef main(t: R.Tensor(("n + 1",))) -> R.Object:\n    return t\n', "RELAX-WF-6"),
        ('@R.function\ndef main(t: R.Tensor(ndim=1)) -> R.Tensor(("k",)):\n    return t\n', "RELAX-WF-4"),
    ],
)
def test_variables_are_bound_from_left_to_right(text: str, code: str) -> None:
    assert code in [d.code for d in refused(text).diagnostics]


@pytest.mark.rule("RELAX-SIG-7", rejects=True)
@pytest.mark.rule("RELAX-SIG-8")
def test_function_parameters_are_callable() -> None:
    body = """
@R.function
def main(x: R.Tensor(("n",), "float32"), g: R.Callable([R.Tensor], R.Tensor)) -> R.Tensor(("n",), "float32"):
    return x

@R.function
def same(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
    return x
"""
    assert numbers(everywhere(body, f32(1, 2), entry="same")) == [1, 2]
    error = fails_everywhere(body, f32(1, 2), f32(1), code="value-mismatch")
    assert "argument g" in str(error)


@pytest.mark.rule("RELAX-COMPAT-01", rejects=True)
@pytest.mark.rule("RELAX-SEM-07", rejects=True)
def test_certain_contradictions_and_impure_kernels_are_refused() -> None:
    text = """
@R.function(private=True)
def three(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
    return x

@R.function
def main(x: R.Tensor((2,), "float32")) -> R.Object:
    y = cls.three(x)
    return y
"""
    error = refused(text)
    assert error.code == "relax-struct-info"
    assert "(2,)" in str(error)
    assert "(3,)" in str(error)
    kernel = """
@T.prim_func(private=True)
def add_one(a: T.Buffer((T.int64(2),), "float32"), b: T.Buffer((T.int64(2),), "float32")):
    for i in range(2):
        with T.block("b"):
            v = T.axis.spatial(2, i)
            b[v] = a[v] + T.float32(1)

@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), out: R.Tensor((2,), "float32")) -> R.Object:
    u = cls.add_one(x, out)
    return (u, out)
"""
    unit, out = everywhere(kernel, f32(1, 2), f32(0, 0))
    assert unit == ()
    assert numbers(out) == [2, 3]
    assert refused(kernel.replace("(pure=False)", "")).code == "relax-purity"


@pytest.mark.rule("RELAX-OPSHAPE-17")
def test_the_catalogue_has_both_facets_everywhere() -> None:
    """A guard on `RELAX-OPSHAPE-17`: no operator's definition lacks one."""
    for name in CATALOGUE.relax_names():
        definition = CATALOGUE.relax(name).definition
        assert isinstance(definition.pure, bool), name
        assert callable(definition.infer), name


@pytest.mark.rule("RELAX-VALUE-11")
def test_kernels_are_called_directly_and_kept_as_values() -> None:
    """The call writes its result into the argument and returns the unit; a variable holds the kernel as well."""
    body = """
@T.prim_func(private=True)
def add_one(A: T.Buffer((T.int64(2),), "float32"), B: T.Buffer((T.int64(2),), "float32")):
    for i in range(T.int64(2)):
        with T.block("b"):
            v = T.axis.spatial(T.int64(2), i)
            B[v] = A[v] + T.float32(1)

@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), out: R.Tensor((2,), "float32")) -> R.Object:
    unit = cls.add_one(x, out)
    kernel = cls.add_one
    again = R.zeros(R.shape([2]), "float32")
    _ = kernel(out, again)
    return (unit, out, again)
"""
    unit, out, again = everywhere(body, f32(1, 2), f32(0, 0))
    assert tuple(unit) == ()
    assert (numbers(out), numbers(again)) == ([2, 3], [3, 4])
