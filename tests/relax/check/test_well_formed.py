"""Well-formedness: every criterion accepts and rejects what the rule table says, and says where."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
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
    ShapeExpr,
    Tuple,
    Var,
    VarBinding,
)
from baton._src.relax.normalize import Normalizer
from baton._src.relax.struct_info import FuncStructInfo, TensorStructInfo
from baton._src.relax.well_formed import well_formed
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.expr import FloatImm
from baton._src.tir.expr import Var as TirVar
from tests.relax.build import RELAX, Fn, Ob, Pr, Sh, Ts, codes, load, module, n, packed, refused

exp, add = RELAX["exp"], RELAX["add"]


def fresh(name: str = "n") -> TirVar:
    return TirVar(name, "int64")


def tensor(name: str = "x", info: Any = None) -> Var:
    return Var(name, Ts((3,), "float32") if info is None else info)


def func(params: list[Var], *blocks: Any, result: Any, ret: Any = None, **options: Any) -> Function:
    return Function(params, SeqExpr(blocks, result), ret, **options)


def B(*pairs: Any) -> BindingBlock:
    return BindingBlock([p if not isinstance(p, tuple) else VarBinding(*p) for p in pairs])


def D(*pairs: Any) -> DataflowBlock:
    return DataflowBlock([p if not isinstance(p, tuple) else VarBinding(*p) for p in pairs])


def broken_info(**fields: Any) -> TensorStructInfo:
    """A tensor info the constructor would refuse."""
    return Ts().with_fields(**fields)


def cases_rejected() -> list[Any]:
    x, y = tensor("x"), tensor("y")
    lv, lv2, gv, v, w = DataflowVar("lv"), DataflowVar("lv2"), Var("gv"), Var("v"), Var("w")
    free = fresh("q")
    inner_param = tensor("p")
    shared = fresh("s")
    holder = Var("t", Ts((3,), "float32"))
    return [
        ("RELAX-WF-1", func([x], B((lv, exp(x))), result=x)),
        ("RELAX-WF-1b", func([x], D((lv, exp(x)), (gv, exp(lv))), B((v, exp(lv))), result=v)),
        ("RELAX-WF-2", func([x, y], B((v, x), (v, y)), result=v)),
        ("RELAX-WF-2", func([x], B((v, exp(Var("free", Ts())))), result=v)),
        ("RELAX-WF-2b", func([x], B((v, add(v, x))), result=v)),
        ("RELAX-WF-3", func([x], B((v, w), (w, x)), result=v)),
        (
            "RELAX-WF-4",
            func([tensor("x", Ts(ndim=1))], B(), result=tensor("x"), ret=Ts((fresh("m"),))).with_fields(),
        ),
        ("RELAX-WF-5", func([x], B((v, ShapeExpr([free]))), result=v)),
        ("RELAX-WF-5", func([tensor("x", Ts(ndim=1))], B(MatchCast(v, x, Ts((free * 2,)))), result=v)),
        ("RELAX-WF-6", func([tensor("a", Ts((shared * free,))), tensor("b", Ts((shared,)))], result=Tuple([]))),
        ("RELAX-WF-7-3", func([x], D((v, If(PrimValue(True), x, x))), result=v)),
        ("RELAX-WF-9", func([x], B((v, Op("relax.exp"))), result=v)),
        ("RELAX-WF-9", func([x], B((v, Tuple([Op("relax.exp")]))), result=v)),
        ("RELAX-WF-10", func([x], B((Var("v", broken_info(shape=ShapeExpr([2, 3]), ndim=3)), x)), result=x)),
        ("RELAX-WF-10", func([x], B((Var("v", Sh([2]).with_fields(ndim=-1)), x)), result=x)),
        (
            "RELAX-WF-11",
            func([x], D((lv2, exp(x)), (gv, Function([inner_param], add(inner_param, lv2)))), result=gv),
        ),
        ("RELAX-WF-14", func([x], B((Var("v", broken_info(shape=PrimValue(3))), x)), result=x)),
        ("RELAX-WF-14", func([x], B((Var("v", Ts((free, 4))), x)), result=x)),
        ("RELAX-WF-14c", func([x, holder], B((Var("v", broken_info(shape=holder, ndim=1)), x)), result=x)),
        ("RELAX-WF-15", func([x], B((Var("v", Sh([free])), x)), result=x)),
        ("RELAX-WF-16", func([x], B((Var("v", Pr("int64", free)), x)), result=x)),
        ("RELAX-WF-17", func([x], B((Var("v", Fn([Ob], Ob, True, lambda c, t: Ob)), x)), result=x)),
        ("RELAX-WF-17", func([x], B((Var("v", FuncStructInfo(None, Ob)), x)), result=x)),
        ("RELAX-WF-18", func([x], B((v, PrimValue(n + 1))), result=v)),
        ("RELAX-WF-19", func([x], B((Var("v", Pr("void")), x)), result=x)),
        ("RELAX-WF-19", func([x], B((Var("v", Pr("handle")), x)), result=x)),
        ("RELAX-WF-20", func([x], B((Var("v", Ts((2,), "int4")), x)), result=x)),
        ("RELAX-WF-20", func([x], B((Var("v", Ts((2,), "float32x4")), x)), result=x)),
        ("RELAX-WF-20", func([x], B((Var("v", Ts((2,), "handle")), x)), result=x)),
        ("RELAX-WF-21", func([x], result=x, is_pure=False, attrs={"relax.force_pure": True})),
        ("RELAX-WF-22", func([x], B((Var("v", Pr("int64").with_fields(value=FloatImm("float32", 1.0))), x)), result=x)),
        ("RELAX-WF-25", func([x], B((v, ShapeExpr([FloatImm("float32", 2.5)]))), result=v)),
        ("RELAX-GRAMMAR-27", Function([DataflowVar("d", Ob)], Tuple([]))),
        ("RELAX-SCOPE-1", func([x], B((v, Call(GlobalVar("nowhere"), [x]))), result=v)),
        ("RELAX-NF-9", func([x], D((v, SeqExpr([B((w, exp(x)))], w))), result=v)),
    ]


@pytest.mark.rule("RELAX-WF-1", rejects=True)
@pytest.mark.rule("RELAX-WF-1b", rejects=True)
@pytest.mark.rule("RELAX-WF-2", rejects=True)
@pytest.mark.rule("RELAX-WF-2b", rejects=True)
@pytest.mark.rule("RELAX-WF-3", rejects=True)
@pytest.mark.rule("RELAX-WF-4", rejects=True)
@pytest.mark.rule("RELAX-WF-5", rejects=True)
@pytest.mark.rule("RELAX-WF-5b", rejects=True)
@pytest.mark.rule("RELAX-WF-6", rejects=True)
@pytest.mark.rule("RELAX-WF-7-3", rejects=True)
@pytest.mark.rule("RELAX-WF-9", rejects=True)
@pytest.mark.rule("RELAX-WF-10", rejects=True)
@pytest.mark.rule("RELAX-WF-11", rejects=True)
@pytest.mark.rule("RELAX-WF-14", rejects=True)
@pytest.mark.rule("RELAX-WF-14b", rejects=True)
@pytest.mark.rule("RELAX-WF-14c", rejects=True)
@pytest.mark.rule("RELAX-WF-15", rejects=True)
@pytest.mark.rule("RELAX-WF-16", rejects=True)
@pytest.mark.rule("RELAX-WF-17", rejects=True)
@pytest.mark.rule("RELAX-WF-18", rejects=True)
@pytest.mark.rule("RELAX-WF-19", rejects=True)
@pytest.mark.rule("RELAX-WF-20", rejects=True)
@pytest.mark.rule("RELAX-WF-21", rejects=True)
@pytest.mark.rule("RELAX-WF-22", rejects=True)
@pytest.mark.rule("RELAX-WF-25", rejects=True)
@pytest.mark.rule("RELAX-GRAMMAR-27", rejects=True)
@pytest.mark.rule("RELAX-SCOPE-1", rejects=True)
@pytest.mark.rule("RELAX-SCOPE-2", rejects=True)
@pytest.mark.rule("RELAX-SCOPE-4", rejects=True)
@pytest.mark.rule("RELAX-SCOPE-5", rejects=True)
@pytest.mark.rule("RELAX-EXPR-01", rejects=True)
@pytest.mark.rule("RELAX-EXPR-09", rejects=True)
@pytest.mark.rule("RELAX-EXPR-10", rejects=True)
@pytest.mark.rule("RELAX-DIM-1", rejects=True)
@pytest.mark.rule("RELAX-DIM-5", rejects=True)
@pytest.mark.rule("RELAX-DTYPE-1", rejects=True)
@pytest.mark.rule("RELAX-DTYPE-2", rejects=True)
@pytest.mark.parametrize("number", range(len(cases_rejected())))
def test_each_criterion_rejects(number: int) -> None:
    """The violation is found, under the code of its criterion, without checking struct info."""
    code, function = cases_rejected()[number]
    program = IRModule({"main": function.with_attr("global_symbol", "main")})
    assert code in codes(program, check_struct_info=False), codes(program, check_struct_info=False)


ACCEPTED = """
@R.function
def main(
    x: R.Tensor(("n", "m"), "float32"), s: R.Shape(["k", "n * 2"]), p: R.Prim(value="j")
) -> R.Tensor(("n", "m"), "float32"):
    n = T.int64()
    m = T.int64()
    t = R.shape_of(x)
    same: R.Tensor(t, "float32") = x
    q = T.int64()
    cast = R.match_cast(s, R.Shape([q, n * 2]))
    R.match_cast(x, R.Tensor((n, m), "float32"))
    one = R.prim_value(3)
    with R.dataflow():
        lv = R.exp(x)
        gv = R.add(lv, x)
        R.output(gv)
    @R.function
    def fact(i: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        if R.equal(i, R.const(0, "int64")):
            r = R.const(1, "int64")
        else:
            r = fact(R.subtract(i, R.const(1, "int64")))
        return r
    f: R.Callable([R.Tensor((), "int64")], R.Tensor((), "int64")) = fact
    return gv

@R.function
def even(i: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
    if R.equal(i, R.const(0, "int64")):
        r = R.const(True)
    else:
        r = cls.odd(R.subtract(i, R.const(1, "int64")))
    return r

@R.function
def odd(i: R.Tensor((), "int64")) -> R.Tensor((), "bool"):
    if R.equal(i, R.const(0, "int64")):
        r = R.const(False)
    else:
        r = cls.even(R.subtract(i, R.const(1, "int64")))
    return r
"""


@pytest.mark.rule("RELAX-WF-1")
@pytest.mark.rule("RELAX-WF-1b")
@pytest.mark.rule("RELAX-WF-2")
@pytest.mark.rule("RELAX-WF-2b")
@pytest.mark.rule("RELAX-WF-3")
@pytest.mark.rule("RELAX-WF-4")
@pytest.mark.rule("RELAX-WF-5")
@pytest.mark.rule("RELAX-WF-5b")
@pytest.mark.rule("RELAX-WF-6")
@pytest.mark.rule("RELAX-WF-7-1")
@pytest.mark.rule("RELAX-WF-8")
@pytest.mark.rule("RELAX-WF-12")
@pytest.mark.rule("RELAX-WF-13")
@pytest.mark.rule("RELAX-WF-14")
@pytest.mark.rule("RELAX-WF-14b")
@pytest.mark.rule("RELAX-WF-14c")
@pytest.mark.rule("RELAX-WF-15")
@pytest.mark.rule("RELAX-WF-16")
@pytest.mark.rule("RELAX-WF-17")
@pytest.mark.rule("RELAX-WF-18")
@pytest.mark.rule("RELAX-WF-19")
@pytest.mark.rule("RELAX-WF-23")
@pytest.mark.rule("RELAX-WF-24")
@pytest.mark.rule("RELAX-WF-27")
@pytest.mark.rule("RELAX-DIM-1")
@pytest.mark.rule("RELAX-DIM-2")
@pytest.mark.rule("RELAX-SCOPE-1")
@pytest.mark.rule("RELAX-SCOPE-2")
@pytest.mark.rule("RELAX-SCOPE-4")
def test_a_module_that_uses_everything_is_accepted() -> None:
    """Shape variables in every place, casts, local and mutual recursion, a dataflow block."""
    found = module(ACCEPTED)
    assert codes(found, normalized=True, entry_required=True) == []


@pytest.mark.rule("RELAX-WF-18")
def test_operands_may_be_computed_scalars() -> None:
    """What an operator, packed or global function or branch is given may be computed from shape variables, also in a
    tuple."""
    found = module("""
@R.function(private=True)
def ones(size: R.Prim(value="m")) -> R.Tensor(("m",), "float32"):
    m = T.int64()
    return R.ones(R.shape([m]), "float32")

@R.function(pure=False)
def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(ndim=2, dtype="float32"):
    n = T.int64()
    half = R.strided_slice(x, (R.prim_value(0),), (R.prim_value(0),), (R.prim_value(n // 2),))
    seen = R.call_packed("tests.anything", R.prim_value(n + 1), sinfo_args=R.Object)
    given = cls.ones(R.prim_value(n + 1))
    if R.prim_value(n <= 16):
        result = half
    else:
        result = x
    return result
""")
    assert codes(found, normalized=True, entry_required=True) == []


@pytest.mark.rule("RELAX-WF-18", rejects=True)
@pytest.mark.parametrize("value", ["R.prim_value(n + 1)", "(R.prim_value(n), x)", "f(R.prim_value(n))"])
def test_values_of_the_program_are_numbers(value: str) -> None:
    """Bound, in a tuple that is a value, or given to a function, a PrimValue holds one number."""
    text = f"""
@R.function
def main(x: R.Tensor(("n",)), f: R.Callable((R.Prim("int64"),), R.Object, True)) -> R.Object:
    n = T.int64()
    y = {value}
    return y
"""
    assert "RELAX-WF-18" in codes(load(text, check_well_formed=False), check_struct_info=False)


@pytest.mark.rule("RELAX-WF-7-1", rejects=True)
@pytest.mark.rule("RELAX-WF-7-2", rejects=True)
@pytest.mark.rule("RELAX-WF-7-2")
def test_recursion_inside_dataflow() -> None:
    """Calls of the function itself, or of one that calls back, cannot stand in a DataflowBlock; helpers can."""
    text = """
@R.function
def main(x: R.Tensor((3,))) -> R.Tensor((3,)):
    with R.dataflow():
        a = cls.main(x)
        b = cls.partner(x)
        c = cls.helper(x)
        R.output(a, b, c)
    return a

@R.function
def partner(x: R.Tensor((3,))) -> R.Tensor((3,)):
    y = cls.main(x)
    return y

@R.function
def helper(x: R.Tensor((3,))) -> R.Tensor((3,)):
    return x
"""
    with pytest.raises(DiagnosticError) as error:
        module(text)
    assert [d.code for d in error.value.diagnostics] == ["RELAX-WF-7-1", "RELAX-WF-7-2"]
    assert [d.span.line for d in error.value.diagnostics if d.span] == [6, 7]


@pytest.mark.rule("RELAX-WF-7-1", rejects=True)
@pytest.mark.rule("RELAX-WF-7-2", rejects=True)
def test_recursion_by_another_name_inside_dataflow() -> None:
    """A function bound to a variable, in the block or before it, is the same function."""
    text = """
@R.function
def main(x: R.Tensor((3,))) -> R.Tensor((3,)):
    again = cls.main
    @R.function
    def local(y: R.Tensor((3,))) -> R.Tensor((3,)):
        with R.dataflow():
            same = local
            z = same(y)
            R.output(z)
        return z
    with R.dataflow():
        other = again
        a = other(x)
        back = cls.partner
        b = back(a)
        c = local(b)
        R.output(c)
    return c

@R.function
def partner(x: R.Tensor((3,))) -> R.Tensor((3,)):
    return cls.main(x)
"""
    with pytest.raises(DiagnosticError) as error:
        module(text)
    found = [(d.code, d.span.line) for d in error.value.diagnostics if d.span]
    assert found == [("RELAX-WF-7-1", 10), ("RELAX-WF-7-1", 15), ("RELAX-WF-7-2", 17)]


@pytest.mark.rule("RELAX-WF-7-4")
@pytest.mark.rule("RELAX-WF-7-4", rejects=True)
@pytest.mark.rule("RELAX-PURE-02", rejects=True)
def test_impure_calls_are_found_by_struct_info_checking() -> None:
    """The syntactic check passes them."""
    x, v = tensor(), Var("v")
    program = func([x], D((v, packed("io", x))), result=v, is_pure=False)
    assert codes(program, check_struct_info=False) == []
    assert codes(program) == ["relax-purity"]


@pytest.mark.rule("RELAX-WF-8", rejects=True)
def test_recursive_function_needs_return_annotation() -> None:
    """Global and local ones."""
    x, v = tensor(), Var("v")
    main = GlobalVar("main")
    program = IRModule({main: func([x], B((v, Call(main, [x]))), result=v, attrs={"global_symbol": "main"})})
    assert "RELAX-WF-8" in codes(program, check_struct_info=False)


@pytest.mark.rule("RELAX-WF-8", rejects=True)
def test_recursive_functions_in_branches_need_return_annotations() -> None:
    """Also where only another name is called."""
    x, y, local, name, made, r = tensor(), tensor("y"), Var("local"), Var("name"), Var("made"), Var("r")
    body = SeqExpr([B((name, local), (made, Call(name, [y])))], made)
    branch = SeqExpr([B((local, Function([y], body)))], x)
    program = func([x], B((r, If(PrimValue(True), branch, SeqExpr([], x)))), result=r)
    assert codes(program, check_struct_info=False) == ["RELAX-WF-8"]


@pytest.mark.rule("RELAX-WF-12", rejects=True)
def test_some_function_must_be_public_to_build() -> None:
    """A half-built module may be private throughout; one to be built may not."""
    x = tensor()
    program = IRModule({"helper": func([x], result=x)})
    assert codes(program) == []
    assert codes(program, entry_required=True) == ["RELAX-WF-12"]


@pytest.mark.rule("RELAX-WF-13", rejects=True)
def test_global_symbol_equals_the_name() -> None:
    """The message has both names."""
    x = tensor()
    program = IRModule({"main": func([x], result=x, attrs={"global_symbol": "entry"})})
    found = well_formed(program)
    assert [d.code for d in found] == ["RELAX-WF-13"]
    assert "main" in found[0].message
    assert "entry" in found[0].message


@pytest.mark.rule("RELAX-WF-24", rejects=True)
@pytest.mark.rule("RELAX-DIM-2", rejects=True)
def test_variables_are_not_shared_between_functions() -> None:
    """Neither parameters nor shape variables."""
    x = tensor()
    program = IRModule({"f": func([x], result=x), "g": func([x], result=x)})
    assert "RELAX-WF-24" in codes(program)
    a, b = tensor("a", Ts((n,))), tensor("b", Ts((n,)))
    assert "RELAX-WF-24" in codes(IRModule({"f": func([a], result=a), "g": func([b], result=b)}))


@pytest.mark.rule("RELAX-WF-23", rejects=True)
@pytest.mark.rule("RELAX-WF-28")
def test_normal_form_counts_only_where_it_is_claimed() -> None:
    """A nested program passes the 22 criteria, and fails as a normalised one."""
    x, v = tensor(), Var("v")
    program = func([x], B((v, add(exp(x), x))), result=v)
    assert codes(program) == []
    assert codes(program, normalized=True) == ["RELAX-NF-1"]


@pytest.mark.rule("RELAX-WF-28", rejects=True)
@pytest.mark.rule("RELAX-WF-27", rejects=True)
def test_violations_in_nested_code_are_all_reported() -> None:
    """Several at once, each with the function it is in."""
    x, v = tensor(), Var("v")
    free, other = Var("free", Ts()), Var("other", Ts())
    program = func([x], B((v, add(exp(free), exp(other)))), result=v)
    found = well_formed(program)
    assert [d.code for d in found] == ["RELAX-WF-2", "RELAX-WF-2"]
    assert all("in function main" in d.breadcrumbs for d in found)


@pytest.mark.rule("RELAX-WF-26")
@pytest.mark.rule("RELAX-WF-26", rejects=True)
@pytest.mark.rule("RELAX-OP-01", rejects=True)
@pytest.mark.rule("RELAX-OP-02", rejects=True)
@pytest.mark.parametrize(
    ("call", "code"),
    [
        ('R.call_tir(cls.k, (x,), out_sinfo=R.Tensor((3,), "float32"))', None),
        ('R.call_tir(cls.main, (x,), out_sinfo=R.Tensor((3,), "float32"))', "RELAX-WF-26"),
        ('R.call_tir(cls.k, (x, x), out_sinfo=R.Tensor((3,), "float32"))', "RELAX-WF-26"),
        ('R.call_tir(cls.k, (x,), out_sinfo=R.Tensor((4,), "float32"))', "RELAX-WF-26"),
        ('R.call_tir(cls.k, (x,), out_sinfo=R.Tensor((3,), "int32"))', "RELAX-WF-26"),
        ("R.call_tir(cls.k, (x,), out_sinfo=R.Tensor((3,)))", "relax-struct-info"),
        ('R.call_tir(cls.k, (x,), out_sinfo=R.Tensor(ndim=1, dtype="float32"))', "relax-struct-info"),
        ('R.call_tir_inplace(cls.k, (x,), out_sinfo=R.Tensor((3,), "float32"), inplace_indices=[1])', "RELAX-WF-26"),
        ('R.call_tir_inplace(cls.k, (x, x), out_sinfo=R.Tensor((3,), "float32"), inplace_indices=[0])', None),
        ('R.call_tir_inplace(cls.k, (x, x), out_sinfo=R.Tensor((3,), "float32"), inplace_indices=[-1])', "RELAX-WF-26"),
    ],
)
def test_kernel_calls_are_validated(call: str, code: str | None) -> None:
    """Callee, number, shapes and dtypes of a call_tir must fit the kernel."""
    text = f"""
@T.prim_func(private=True)
def k(A: T.Buffer((T.int64(3),), "float32"), B: T.Buffer((T.int64(3),), "float32")):
    for i in range(3):
        with T.block("b"):
            v = T.axis.spatial(3, i)
            B[v] = A[v] + T.float32(1)

@R.function
def main(x: R.Tensor((3,), "float32")) -> R.Tensor:
    y = {call}
    return y
"""
    if code is None:
        module(text)
    else:
        with pytest.raises(DiagnosticError) as error:
            module(text)
        assert error.value.code == code


@pytest.mark.rule("RELAX-SCOPE-3")
@pytest.mark.rule("RELAX-SCOPE-3", rejects=True)
@pytest.mark.rule("RELAX-DIM-3", rejects=True)
@pytest.mark.rule("RELAX-EXPR-12", rejects=True)
def test_branch_variables_leave_scope() -> None:
    """Relax and shape variables of a branch are not visible after it."""
    text = """
@R.function
def main(x: R.Tensor(ndim=1), c: R.Tensor((), "bool")) -> R.Object:
    if c:
        a = R.exp(x)
        m = T.int64()
        y = R.match_cast(x, R.Tensor((m,)))
    else:
        y = x
    z = (a, R.shape([m]))
    return z
"""
    with pytest.raises(DiagnosticError) as error:
        load(text)
    assert sorted(d.code for d in error.value.diagnostics) == ["RELAX-SCOPE-3", "RELAX-WF-5"]


def test_a_long_function_is_checked_without_recursion() -> None:
    """20,000 nested calls."""
    x = tensor()
    expr: Any = x
    for _ in range(20_000):
        expr = packed("f", expr)
    program = Function([x], expr, is_pure=False)
    assert codes(program) == []
    found = Normalizer().function(program)
    assert codes(found, normalized=True) == []


@pytest.mark.parametrize("param", ['n: R.Prim(value="n")', 'n: R.Prim("int64")'])
def test_a_parameter_that_hides_a_shape_variable_is_named(param: str) -> None:
    """Guards the help: of a variable called as a bound one it was only said that it is not bound."""
    text = f"""
@R.function
def main({param}) -> R.Object:
    n = T.int64()
    return R.shape([n])
"""
    with pytest.raises(DiagnosticError, match=r"size: R\.Prim\(value='n'\)") as error:
        load(text)
    assert error.value.code == "RELAX-WF-5"


@pytest.mark.rule("RELAX-SINFO-01", rejects=True)
@pytest.mark.parametrize(
    ("statement", "help"),
    [
        ("y = pair[2]", "its last item is 1"),
        ("y = x[0]", "only tuples have items"),
        ("y = x(x)", "call a function"),
        ("y = Module.same()", 'they are: R.Tensor((2,), dtype="float32")'),
        ("y = Module.same(pair)", "convert the argument"),
        ("y: R.Tensor((3,)) = x", "declare what the value is"),
        ("y = R.assert_op(x)", "reduce it by R.all or R.any"),
        ("y = thing[0]", "R.match_cast checks at run time"),
        ("y = thing(x)", "R.match_cast checks at run time"),
        ("y = Module.same(thing)", "R.match_cast checks at run time"),
        ("y: R.Tensor = thing", "R.match_cast checks at run time"),
        ("y = R.assert_op(thing)", "R.match_cast checks at run time"),
    ],
)
def test_what_is_certainly_wrong_says_what_to_do(statement: str, help: str) -> None:
    """An object may be what is wanted, everything else is not."""
    error = refused(f"""
@R.function
def same(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    return x

@R.function(pure=False)
def main(x: R.Tensor((2,), "float32"), pair: R.Tuple(R.Object, R.Object), thing: R.Object) -> R.Object:
    {statement}
    return y
""")
    (found,) = error.diagnostics
    assert found.code == "relax-struct-info"
    assert found.span is not None
    assert found.help is not None
    assert help in found.help
