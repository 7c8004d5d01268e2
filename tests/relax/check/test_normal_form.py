"""Normal form: each criterion, the order of evaluation, and that depth costs no Python stack."""

from __future__ import annotations

import pytest

from baton._src.ir.structural import structural_equal
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.call_builders import call_tir
from baton._src.relax.check.findings import Findings
from baton._src.relax.check.normal_form import check_normal_form
from baton._src.relax.nodes import (
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    GlobalVar,
    If,
    PrimValue,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from baton._src.relax.text.printer import script
from baton._src.support.diagnostics import DiagnosticError
from tests.relax.build import RELAX, Ob, Sh, Ts, Tu, n, packed


def codes(function: Function) -> list[str]:
    findings = Findings()
    check_normal_form(function, findings)
    return [d.code for d in findings.diagnostics]


def normal(function: Function) -> Function:
    """Normalised; normalising again gives the same object."""
    found = BlockBuilder().normalize(function)
    assert codes(found) == []
    assert BlockBuilder().normalize(found) is found
    return found


def statements(function: Function) -> list[str]:
    return [line.strip() for line in script(function).splitlines() if " = " in line or "return" in line]


def x_of(info: object = None) -> Var:
    return Var("x", Ts((n,), "float32") if info is None else info)


@pytest.mark.rule("RELAX-NF-1")
@pytest.mark.rule("RELAX-NF-6")
def test_nested_calls_are_bound_in_evaluation_order() -> None:
    """f(g(x), h(k(x))): left to right, inner before outer."""
    x = x_of()
    body = packed("f", packed("g", x), packed("h", packed("k", x)))
    found = normal(Function([x], body, is_pure=False))
    order = [b.value.op.global_symbol for b in found.body.blocks[0].bindings]
    assert order == ["g", "k", "h", "f"]
    assert found.body.body is found.body.blocks[0].bindings[-1].var


@pytest.mark.rule("RELAX-NF-1", rejects=True)
def test_nested_call_is_not_normal() -> None:
    """A nested argument is reported, and only that."""
    x = x_of()
    y = Var("y")
    seq = SeqExpr([BindingBlock([VarBinding(y, RELAX["add"](RELAX["exp"](x), x))])], y)
    assert codes(Function([x], seq)) == ["RELAX-NF-1"]


@pytest.mark.rule("RELAX-NF-1b")
@pytest.mark.rule("RELAX-NF-1b", rejects=True)
def test_tuples_are_leaves() -> None:
    """A tuple stays in place, nested ones too; what is no leaf inside is bound."""
    x, y = x_of(), Var("y", Ts((n,), "float32"))
    function = Function([x, y], RELAX["concat"]((x, RELAX["exp"](y))))
    found = normal(function)
    assert [type(b.value) for b in found.body.blocks[0].bindings] == [Call, Call]
    nested = normal(Function([x, y], Tuple([Tuple([x, y]), x])))
    assert nested.body.blocks == ()
    v = Var("v")
    bad = SeqExpr([BindingBlock([VarBinding(v, RELAX["concat"]((RELAX["exp"](y), x)))])], v)
    assert codes(Function([x, y], bad)) == ["RELAX-NF-1b"]


@pytest.mark.rule("RELAX-NF-2")
@pytest.mark.rule("RELAX-NF-2", rejects=True)
@pytest.mark.rule("RELAX-NF-8")
def test_sequences_are_flattened() -> None:
    """A SeqExpr as a value gives its bindings to the scope around it."""
    x, a, v = x_of(), Var("a"), Var("v")
    inner = SeqExpr([BindingBlock([VarBinding(a, RELAX["exp"](x))])], RELAX["add"](a, a))
    function = Function([x], SeqExpr([BindingBlock([VarBinding(v, inner)])], v))
    assert "RELAX-NF-2" in codes(function)
    found = normal(function)
    assert [b.var for b in found.body.blocks[0].bindings] == [a, v]


@pytest.mark.rule("RELAX-NF-3")
@pytest.mark.rule("RELAX-NF-3", rejects=True)
@pytest.mark.rule("RELAX-NF-7")
def test_bodies_and_branches_are_wrapped() -> None:
    """A leaf body becomes SeqExpr([], leaf); branches likewise."""
    x = x_of()
    assert codes(Function([x], x)) == ["RELAX-NF-3"]
    assert normal(Function([x], x)).body.blocks == ()
    found = normal(Function([x], If(PrimValue(True), RELAX["add"](x, x), x)))
    value = found.body.blocks[0].bindings[0].value
    assert len(value.true_branch.blocks[0].bindings) == 1
    assert value.false_branch.blocks == ()


@pytest.mark.rule("RELAX-NF-4")
@pytest.mark.rule("RELAX-NF-4", rejects=True)
@pytest.mark.rule("RELAX-NF-4b")
@pytest.mark.rule("RELAX-NF-4c")
def test_blocks_are_merged_and_empty_ones_dropped() -> None:
    """Neighbours of one kind become one; a DataflowBlock stays apart; nothing but empty blocks leaves none."""
    x = x_of()
    names = [Var(c) for c in "ab"]
    lv = [DataflowVar(c) for c in "cd"]
    out = Var("out")
    exp = RELAX["exp"]
    blocks = [
        BindingBlock([VarBinding(names[0], exp(x))]),
        BindingBlock([]),
        BindingBlock([VarBinding(names[1], exp(x))]),
        DataflowBlock([VarBinding(lv[0], exp(x))]),
        DataflowBlock([VarBinding(lv[1], exp(lv[0])), VarBinding(out, exp(lv[1]))]),
    ]
    function = Function([x], SeqExpr(blocks, out))
    assert codes(function) == ["RELAX-NF-4", "RELAX-NF-4", "RELAX-NF-4"]
    found = normal(function)
    assert [(type(b), len(b.bindings)) for b in found.body.blocks] == [(BindingBlock, 2), (DataflowBlock, 3)]
    assert normal(Function([x], SeqExpr([BindingBlock([]), BindingBlock([])], x))).body.blocks == ()


@pytest.mark.rule("RELAX-NF-5")
@pytest.mark.rule("RELAX-NF-5", rejects=True)
def test_a_sequence_ends_in_a_leaf() -> None:
    """After a DataflowBlock the body is bound in a new ordinary block."""
    x, out = x_of(), Var("out")
    seq = SeqExpr([DataflowBlock([VarBinding(out, RELAX["exp"](x))])], RELAX["add"](out, out))
    assert codes(Function([x], seq)) == ["RELAX-NF-5"]
    found = normal(Function([x], seq))
    assert [type(b) for b in found.body.blocks] == [DataflowBlock, BindingBlock]


@pytest.mark.rule("RELAX-NF-9")
@pytest.mark.rule("RELAX-NF-9", rejects=True)
def test_ordinary_block_inside_dataflow_is_malformed() -> None:
    """Only DataflowBlocks can be flattened into a DataflowBlock."""
    x, a, v = x_of(), Var("a"), Var("v")
    lv = DataflowVar("lv")
    bad = SeqExpr([BindingBlock([VarBinding(a, RELAX["exp"](x))])], a)
    with pytest.raises(DiagnosticError, match="RELAX-NF-9"):
        BlockBuilder().normalize(Function([x], SeqExpr([DataflowBlock([VarBinding(v, bad)])], v)))
    good = SeqExpr([DataflowBlock([VarBinding(lv, RELAX["exp"](x))])], RELAX["exp"](lv))
    found = normal(Function([x], SeqExpr([DataflowBlock([VarBinding(Var("w"), good)])], x)))
    assert [type(b) for b in found.body.blocks] == [DataflowBlock]


@pytest.mark.rule("RELAX-NF-11")
def test_equal_names_stay_apart() -> None:
    """An inner x that moves outwards does not become the outer one."""
    x, inner, v = x_of(), Var("x"), Var("v")
    seq = SeqExpr([BindingBlock([VarBinding(inner, RELAX["exp"](x))])], inner)
    function = Function([x], SeqExpr([BindingBlock([VarBinding(v, seq)])], Tuple([v, x])))
    found = normal(function)
    assert found.body.body.fields == (v, x)
    assert statements(found)[-1] == "return (v, x)"


@pytest.mark.rule("RELAX-NF-12")
@pytest.mark.rule("RELAX-NF-13")
def test_nesting_does_not_change_what_is_inferred() -> None:
    """exp(add(x, x)) written nested or bound has one StructInfo."""
    x, y, lv = x_of(), x_of(), Var("lv")
    nested = normal(Function([x], RELAX["exp"](RELAX["add"](x, x))))
    bound = normal(Function([y], SeqExpr([BindingBlock([VarBinding(lv, RELAX["add"](y, y))])], RELAX["exp"](lv))))
    assert structural_equal(nested, bound)
    assert structural_equal(nested.ret_struct_info, bound.ret_struct_info)


@pytest.mark.rule("RELAX-OP-03")
def test_call_tir_arguments_are_in_line() -> None:
    """A variable bound to a tuple is replaced by it, an unknown one by its items."""
    x, y, t = x_of(), Var("y", Ts((n,), "float32")), Var("t")
    kernel = GlobalVar("k", struct_info_=Ob)
    call = call_tir(kernel, t, Ts((n,), "float32"))
    seq = SeqExpr([BindingBlock([VarBinding(t, Tuple([x, y]))])], call)
    found = normal(Function([x, y], seq))
    assert found.body.blocks[0].bindings[1].value.args[1].fields == (x, y)
    whole = Var("whole", Tu(Ts((n,), "float32"), Sh([n])))
    unknown = normal(Function([whole], call_tir(kernel, whole, Ts((n,), "float32"))))
    items = [b.value for b in unknown.body.blocks[0].bindings[:2]]
    assert all(isinstance(i, TupleGetItem) for i in items)


@pytest.mark.parametrize("kind", ["calls", "sequences", "tuples", "branches"])
def test_depth_needs_no_python_stack(kind: str) -> None:
    """Nests of any depth are normalised in time linear in their size (100,000 in the benchmark, 20,000 here)."""
    x = x_of()
    expr: object = x
    for _ in range(20_000):
        match kind:
            case "calls":
                expr = packed("f", expr)
            case "sequences":
                expr = SeqExpr([BindingBlock([VarBinding(Var("a"), expr)])], x)
            case "tuples":
                expr = Tuple([expr])
            case _:
                expr = If(PrimValue(True), expr, x)
    found = BlockBuilder().normalize(Function([x], expr, is_pure=False))
    assert found.struct_info_ is not None


def test_what_is_nested_twice_is_bound_once_a_block() -> None:
    """Guards effects and size: one expression object in two places is evaluated once, anew in the next block."""
    x = x_of()
    builder = BlockBuilder()
    with builder.function("main", [x], pure=False):
        shared = packed("f", x)
        with builder.dataflow():
            inside = RELAX.exp(x)
            builder.emit(RELAX.add(inside, inside))
            first = builder.emit_output(RELAX.multiply(inside, x))
        builder.emit(packed("g", shared, shared, inside))
        builder.emit_func_output(builder.emit(packed("h", shared, first)))
    text = script(builder.get()["main"])
    assert text.count('"f"') == 1
    assert text.count("R.exp") == 2  # a DataflowVar is no one's outside
