"""The dataflow pattern language: matching one expression, a block, rewriting, and rules written as Relax functions."""

from __future__ import annotations

from typing import Any

import pytest

from baton import relax
from baton._src.passes.relax.rewrite_patterns import MOST_ROUNDS
from baton._src.support.diagnostics import DiagnosticError
from baton.relax import dpl
from baton.relax.dpl import (
    PatternContext,
    PatternMatchingRewriter,
    SameShapeConstraint,
    VarPattern,
    has_attr,
    has_dtype,
    is_call_packed,
    is_call_tir,
    is_const,
    is_dfv,
    is_expr,
    is_gv,
    is_op,
    is_shape,
    is_tuple,
    is_tuple_get_item,
    is_var,
    make_fused_bias_activation_pattern,
    reject,
    rewrite_bindings,
    rewrite_call,
    wildcard,
)
from baton.script import ir as I
from baton.script import relax as R
from baton.script import tir as T
from tests.passes.relax.programs import arrays, evaluate, same_values
from tests.relax.build import load


@R.function
def chain(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    with R.dataflow():
        a = R.add(x, y)
        b = R.nn.relu(a)
        c = R.add(b, b)
        d = R.exp(c)
        R.output(d)
    return d


@R.function
def forked(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
    with R.dataflow():
        a = R.nn.relu(x)
        b = R.exp(a)
        c = R.sin(a)
        d = R.add(b, c)
        R.output(d)
    return d


@I.ir_module
class Module:
    @T.prim_func
    def k(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
        for i in range(2):
            b[i] = a[i]

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = R.call_tir(Module.k, (x,), out_sinfo=R.Tensor((2,), "float32"))
        return y


VALUES = relax.analysis.get_var2val(chain)
BOUND = {v.name_hint: e for v, e in VALUES.items()}
BLOCK = chain.body.blocks[0]


def names(found: dict[Any, Any] | None, *patterns: Any) -> list[str]:
    assert found is not None
    return [found[p].name_hint for p in patterns]


def value_of(function: Any, *shapes: Any) -> Any:
    return evaluate(relax_module(function), "main", *arrays(*shapes))


def relax_module(function: Any) -> Any:
    from_function = function.with_attr("global_symbol", "main")
    return __import__("baton").IRModule({"main": from_function})


@pytest.mark.rule("RELAX-DPL-1")
def test_calls_match_through_variables() -> None:
    add = is_op("relax.add")(wildcard(), wildcard())
    pattern = is_op("relax.nn.relu")(add)
    assert pattern.match(BOUND["b"], VALUES)
    found = pattern.extract_matched_expr(BOUND["b"], VALUES)
    assert found is not None
    assert found[add] is BOUND["a"]
    assert is_expr(BOUND["a"]).match(BOUND["a"])


@pytest.mark.rule("RELAX-DPL-1", rejects=True)
def test_without_the_map_variables_are_what_they_are() -> None:
    assert not is_op("relax.nn.relu")(is_op("relax.add")(wildcard(), wildcard())).match(BOUND["b"])
    assert not is_op("relax.add")(wildcard()).match(BOUND["a"])
    assert is_op("relax.add")(wildcard(), varg_default_wildcard=True).match(BOUND["a"])
    with pytest.raises(Exception, match="is it"):
        is_op("add")


@pytest.mark.rule("RELAX-DPL-1")
def test_leaves() -> None:
    x, dataflow = chain.params[0], BLOCK.bindings[0].var
    assert is_var().match(x)
    assert is_var("x").match(x)
    assert not is_var("y").match(x)
    assert is_dfv().match(dataflow)
    assert not is_dfv().match(x)
    assert is_const().match(relax.const(1.0))
    assert not is_const().match(x)
    assert is_gv("f").match(relax.GlobalVar("f"))
    assert not is_gv("g").match(relax.GlobalVar("f"))
    assert is_shape([2, 3]).match(relax.ShapeExpr([2, 3]))
    assert not is_shape([2]).match(relax.ShapeExpr([2, 3]))
    assert is_call_packed("f").match(relax.Call(relax.ExternFunc("f"), [x]))
    assert not is_call_packed("f", []).match(relax.Call(relax.ExternFunc("f"), [x]))


@pytest.mark.rule("RELAX-DPL-1")
def test_tuples() -> None:
    x, y = chain.params
    pair = relax.Tuple([x, y])
    assert is_tuple([is_var("x"), is_var("y")]).match(pair)
    assert not is_tuple([is_var("y"), is_var("x")]).match(pair)
    assert is_tuple([is_var("y"), is_var("x")], unordered=True).match(pair)
    second = relax.TupleGetItem(pair, 1)
    assert is_tuple_get_item(wildcard(), 1).match(second)
    assert is_tuple([wildcard(), wildcard()])[1].match(second)
    assert is_tuple_get_item(wildcard()).match(second)
    assert not is_tuple_get_item(wildcard(), 0).match(second)


def test_kernel_calls() -> None:
    call = Module["main"].body.blocks[0].bindings[0].value
    assert is_call_tir("k", [is_var("x")]).match(call)
    assert is_call_tir("").match(call)
    assert not is_call_tir("other").match(call)


@pytest.mark.rule("RELAX-DPL-2")
def test_constraints_and_logic() -> None:
    a = BOUND["a"]
    assert wildcard().has_shape([2, 3]).match(a)
    assert wildcard().has_dtype("float32").match(a)
    assert (wildcard().has_dtype("int32") | is_op("relax.add")(wildcard(), wildcard())).match(a)
    assert (wildcard().has_dtype("float32") & wildcard().has_shape([2, 3])).match(a)
    assert (~is_const()).match(a)
    assert wildcard().has_struct_info(relax.TensorStructInfo(None, "float32", ndim=2)).match(a)
    sum_ = R.sum(chain.params[0], axis=[1], keepdims=True)
    assert is_op("relax.sum")(wildcard()).has_attr({"keepdims": True, "axis": [1]}).match(sum_)


@pytest.mark.rule("RELAX-DPL-2", rejects=True)
def test_constraints_that_do_not_hold() -> None:
    a = BOUND["a"]
    assert not wildcard().has_shape([3, 2]).match(a)
    assert not wildcard().has_dtype("int32").match(a)
    assert not (wildcard() & is_const()).match(a)
    assert not (~wildcard()).match(a)
    assert not wildcard().has_struct_info(relax.TensorStructInfo([4], "float32")).match(a)
    sum_ = R.sum(chain.params[0], keepdims=True)
    assert not is_op("relax.sum")(wildcard()).has_attr({"keepdims": False}).match(sum_)
    assert not is_op("relax.sum")(wildcard()).has_attr({"nothing": False}).match(sum_)


def test_same_shape() -> None:
    x = relax.Var("x", relax.TensorStructInfo([2, 3], "float32"))
    row = relax.Var("r", relax.TensorStructInfo([3], "float32"))
    left, right = wildcard(), wildcard()
    left.same_shape_as(right)
    assert is_op("relax.add")(left, right).match(R.add(x, x))
    assert not is_op("relax.add")(left, right).match(R.add(x, row))


@pytest.mark.rule("RELAX-DPL-3")
def test_a_pattern_used_twice_matches_one_thing() -> None:
    p = wildcard()
    assert is_op("relax.add")(p, p).match(BOUND["c"])


@pytest.mark.rule("RELAX-DPL-3", rejects=True)
def test_a_pattern_used_twice_refuses_two_things() -> None:
    p = wildcard()
    assert not is_op("relax.add")(p, p).match(BOUND["a"])
    assert is_op("relax.add")(p.dup(), p).match(BOUND["a"])


@pytest.mark.rule("RELAX-DPL-3")
@pytest.mark.rule("RELAX-DPL-4")
def test_a_copy_matches_other_operands() -> None:
    """`p.dup()` kept the very operands of `p`, so two equal calls of different things were none of them."""

    @R.function
    def twice(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.exp(x)
            b = R.exp(y)
            c = R.add(a, b)
            R.output(c)
        return c

    with PatternContext() as ctx:
        left = is_op("relax.exp")(wildcard())
        right, total = left.dup(), is_op("relax.add")(wildcard(), wildcard())
        left.used_by(total, 0)
        right.used_by(total, 1)
    found = ctx.match_dfb(twice.body.blocks[0])
    assert found is not None
    assert [found[p].name_hint for p in (left, right, total)] == ["a", "b", "c"]
    p = wildcard()
    doubled = is_op("relax.add")(p, p).dup()
    assert doubled.match(BOUND["c"])
    assert not doubled.match(BOUND["a"])


@pytest.mark.rule("RELAX-DPL-4", rejects=True)
def test_constraints_are_no_patterns() -> None:
    with PatternContext(), pytest.raises(DiagnosticError, match="SameShapeConstraint is not a pattern"):
        wildcard().used_by(wildcard().same_shape_as(wildcard()))


@pytest.mark.rule("RELAX-DPL-4")
def test_chains_in_a_block() -> None:
    with PatternContext() as ctx:
        relu = is_op("relax.nn.relu")(wildcard())
        add = is_op("relax.add")(wildcard(), wildcard())
        exp = is_op("relax.exp")(wildcard())
        relu >> add >> exp
    assert names(ctx.match_dfb(BLOCK), relu, add, exp) == ["b", "c", "d"]
    with PatternContext() as ctx:
        relu, exp, sin = (is_op(f"relax.{n}")(wildcard()) for n in ("nn.relu", "exp", "sin"))
        relu.fork_to(exp, sin)
    assert names(ctx.match_dfb(forked.body.blocks[0]), relu, exp, sin) == ["a", "b", "c"]


@pytest.mark.rule("RELAX-DPL-4", rejects=True)
def test_a_second_user_breaks_only_used_by() -> None:
    block = forked.body.blocks[0]
    for only in (True, False):
        with PatternContext() as ctx:
            relu, exp = is_op("relax.nn.relu")(wildcard()), is_op("relax.exp")(wildcard())
            (relu.only_used_by if only else relu.used_by)(exp)
        assert (ctx.match_dfb(block) is None) == only
    assert PatternContext.current() is None
    assert len(wildcard().used_by(wildcard()).patterns) == 2  # outside of a context an edge says nothing


def test_patterns_as_tvm_makes_them() -> None:
    """Keywords of constructors, patterns on their own, kinds of errors."""
    assert VarPattern(name_hint="x").name == is_var("x").name_hint == "x"
    assert is_tuple_get_item(tuple_value=wildcard()).index == -1
    assert is_tuple([wildcard(), wildcard()])[None].index == -1
    inner = wildcard()
    assert reject(inner).reject is inner is (~inner).reject
    assert has_dtype("float32").dtype == "float32"
    assert has_attr({"axis": 1}).attrs == {"axis": 1}
    assert isinstance(wildcard().same_shape_as(wildcard()), SameShapeConstraint)
    for wrong in (lambda: is_shape(3), lambda: is_tuple(wildcard()), lambda: wildcard().has_shape(4)):
        with pytest.raises(ValueError):
            wrong()


def test_positions_hints_and_incremental_contexts() -> None:
    block = forked.body.blocks[0]
    with PatternContext() as ctx:
        exp, add = is_op("relax.exp")(wildcard()), is_op("relax.add")(wildcard(), wildcard())
        exp.used_by(add, 1)
    assert ctx.match_dfb(block) is None
    for index in (0, 1):  # of the only user of a parameter: any position was right
        with PatternContext() as ctx:
            is_var("x").only_used_by(is_op("relax.nn.relu")(wildcard()), index)
        assert (ctx.match_dfb(block) is not None) is (index == 0)
    with PatternContext() as outer:
        unary = wildcard()
        relu = is_op("relax.nn.relu")(wildcard())
        relu ^ unary
        with PatternContext(incremental=True) as inner:
            add = is_op("relax.add")(wildcard(), wildcard())
            unary ^ add
    sin = block.bindings[2].var
    assert outer.match_dfb(block, start_hint=sin, must_include_hint=True)[unary] is sin
    assert outer.match_dfb(block, start_hint=block.bindings[3].var, must_include_hint=True) is None
    assert len(inner.edges) == 2
    assert len(outer.edges) == 1


@pytest.mark.rule("RELAX-DPL-5")
def test_rewriting_calls() -> None:
    x = wildcard()
    made = rewrite_call(
        is_op("relax.add")(x, x), lambda expr, found: R.multiply(found[x], R.const(2.0, "float32")), chain
    )
    assert "R.multiply" in repr(made)
    same_values(value_of(made, (2, 3), (2, 3)), value_of(chain, (2, 3), (2, 3)))
    assert rewrite_call(is_op("relax.add")(x, x), lambda expr, found: expr, chain) is chain


@pytest.mark.rule("RELAX-DPL-5")
def test_unused_bindings_go() -> None:
    inner = wildcard()
    made = rewrite_call(is_op("relax.exp")(is_op("relax.add")(inner, inner)), lambda e, found: found[inner], chain)
    assert [b.var.name_hint for b in made.body.blocks[0].bindings] == ["a", "b", "d"]


def test_rewriting_in_a_circle_is_an_error() -> None:
    x, y = wildcard(), wildcard()
    with pytest.raises(Exception, match="does not terminate"):
        rewrite_call(is_op("relax.add")(x, y), lambda expr, found: R.add(found[y], found[x]), chain)


def test_wrapping_what_matches_again_is_an_error() -> None:
    """Each round made a longer program: many minutes passed before it was told."""
    with PatternContext() as ctx:
        add = is_op("relax.add")(wildcard(), wildcard())
    with pytest.raises(Exception, match="does not terminate"):
        rewrite_call(add, lambda expr, found: R.sin(expr), chain)
    with pytest.raises(Exception, match="does not terminate"):
        rewrite_bindings(ctx, lambda found, values: {found[add]: R.sin(values[found[add]])}, chain)


@pytest.mark.rule("RELAX-DPL-5")
def test_rewriting_bindings() -> None:
    with PatternContext() as ctx:
        relu = is_op("relax.nn.relu")(wildcard())
        exp = is_op("relax.exp")(wildcard())
        relu ^ exp

    def rewrite(matched: Any, values: Any) -> Any:
        return {matched[exp]: R.cos(values[matched[relu]].args[0])}

    made = rewrite_bindings(ctx, rewrite, forked)
    assert "R.cos(x)" in repr(made)
    assert "R.exp" not in repr(made)


@R.function
def projections(x: R.Tensor((4, 8)), wq: R.Tensor((8, 8)), wk: R.Tensor((8, 8)), wv: R.Tensor((8, 8))):
    with R.dataflow():
        q = R.matmul(x, wq)
        k = R.matmul(x, wk)
        v = R.matmul(x, wv)
        R.output(q, k, v)
    return (q, k, v)


@pytest.mark.rule("RELAX-DPL-5")
@pytest.mark.parametrize("how", ["slices", "split"])
def test_projections_become_one_product(how: str) -> None:
    """Guards expressions that replacements share: the product is made once, else three were, and matched again."""
    with PatternContext() as ctx:
        x, *weights = (wildcard() for _ in range(4))
        products = [is_op("relax.matmul")(x, w) for w in weights]

    def rewrite(matched: Any, values: Any) -> Any:
        whole = relax.op.matmul(matched[x], relax.op.concat([matched[w] for w in weights], axis=1))
        if how == "slices":
            parts = [relax.op.strided_slice(whole, [1], [8 * n], [8 * n + 8]) for n in range(3)]
        else:
            split = relax.op.split(whole, 3, axis=1)
            parts = [relax.TupleGetItem(split, n) for n in range(3)]
        return {matched[p]: part for p, part in zip(products, parts)}

    made = rewrite_bindings(ctx, rewrite, projections)
    assert repr(made).count("R.matmul") == repr(made).count("R.concat") == 1
    shapes = [(4, 8), *[(8, 8)] * 3]
    same_values(value_of(made, *shapes), value_of(projections, *shapes))


@pytest.mark.rule("RELAX-DPL-5")
def test_an_equal_expression_is_no_change() -> None:
    """Guards rewriters that make what matched anew: rewriting came to no end."""
    x, y = wildcard(), wildcard()
    assert rewrite_call(is_op("relax.add")(x, y), lambda expr, found: R.add(found[x], found[y]), chain) is chain
    with PatternContext() as ctx:
        relu = is_op("relax.nn.relu")(wildcard())
    assert rewrite_bindings(ctx, lambda found, values: {found[relu]: R.nn.relu(*values[found[relu]].args)}, forked)


def test_rules_written_as_functions() -> None:
    @R.rewriter
    class Doubled:
        @R.function
        def pattern(x: R.Tensor(("n", 3), "float32")):
            return R.add(x, x)

        @R.function
        def replacement(x: R.Tensor(("n", 3), "float32")):
            y = R.multiply(x, R.const(2.0, "float32"))
            return y

    assert isinstance(Doubled, PatternMatchingRewriter)
    made = Doubled(chain)
    assert "R.multiply" in repr(made)
    same_values(value_of(made, (2, 3), (2, 3)), value_of(chain, (2, 3), (2, 3)))
    other = PatternMatchingRewriter.from_pattern(
        is_op("relax.exp")(wildcard()), lambda expr, found: R.sin(expr.args[0])
    )
    both = (Doubled | other)(relax_module(chain))["main"]
    assert "R.sin" in repr(both)
    assert "R.multiply" in repr(both)


def test_annotations_of_rules_are_checked() -> None:
    @R.rewriter
    class Wide:
        @R.function
        def pattern(x: R.Tensor(("n", 4), "float32")):
            return R.add(x, x)

        @R.function
        def replacement(x: R.Tensor(("n", 4), "float32")):
            return x

    assert Wide(chain) is chain


def test_rules_with_several_results() -> None:
    @R.rewriter
    class Both:
        @R.function
        def pattern(x: R.Tensor(("n", 3), "float32")):
            a = R.exp(x)
            b = R.sin(x)
            return (a, b)

        @R.function
        def replacement(x: R.Tensor(("n", 3), "float32")):
            a = R.cos(x)
            b = R.tan(x)
            return (a, b)

    text = repr(Both(forked))
    assert "R.cos(a)" in text
    assert "R.tan(a)" in text
    assert "R.sin" not in text


def test_the_usual_fused_pattern() -> None:
    pattern = make_fused_bias_activation_pattern("relax.matmul", with_bias=True, activation="relax.nn.relu")
    x = relax.Var("x", relax.TensorStructInfo([2, 2], "float32"))
    assert pattern.match(R.nn.relu(R.add(R.matmul(x, x), x)))
    assert not pattern.match(R.nn.relu(R.matmul(x, x)))


def test_rewriters_by_their_classes() -> None:
    """ExprPatternRewriter, OrRewriter and TupleRewriter: rules as values."""
    module = load("""
@I.ir_module
class M:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            a = R.exp(x)
            b = R.log(y)
            c = R.add(a, b)
            R.output(c)
        return c
""")
    one, other = wildcard(), wildcard()
    to_abs = dpl.ExprPatternRewriter(is_op("relax.exp")(one), lambda _, found: relax.op.abs(found[one]))
    to_sqrt = dpl.ExprPatternRewriter(is_op("relax.log")(other), lambda _, found: relax.op.sqrt(found[other]))
    text = dpl.OrRewriter(to_abs, to_sqrt)(module).script()
    assert "R.abs(x)" in text
    assert "R.sqrt(y)" in text
    left, right = is_op("relax.exp")(one), is_op("relax.log")(other)
    swapped = dpl.TupleRewriter(
        [left, right], lambda _, found: (relax.op.negative(found[other]), relax.op.negative(found[one]))
    )(module)
    assert 'a: R.Tensor((4,), dtype="float32") = R.negative(y)' in swapped.script()
    assert 'b: R.Tensor((4,), dtype="float32") = R.negative(x)' in swapped.script()


def test_replacements_keep_their_casts() -> None:
    """Guards checks that a replacement makes: its match_cast was left out."""

    @R.rewriter
    class Checked:
        @R.function
        def pattern(x: R.Tensor(("n", 3), "float32")):
            return R.exp(x)

        @R.function
        def replacement(x: R.Tensor(("n", 3), "float32")):
            n = T.int64()
            whole = R.concat([x, x], axis=0)
            half = R.match_cast(R.strided_slice(whole, [0], [0], [n]), R.Tensor((n, 3), "float32"))
            return R.sin(half)

    made = Checked(chain)
    assert "R.match_cast" in repr(made)


def test_sizes_of_replacements_are_computed() -> None:
    """Guards 8 columns where a rule speaks of k + k: the product had 4 + 4."""

    @R.rewriter
    class Joined:
        @R.function
        def pattern(
            x: R.Tensor(("m", "n"), "float32"), w: R.Tensor(("n", "k"), "float32"), v: R.Tensor(("n", "k"), "float32")
        ):
            return (R.matmul(x, w), R.matmul(x, v))

        @R.function
        def replacement(
            x: R.Tensor(("m", "n"), "float32"), w: R.Tensor(("n", "k"), "float32"), v: R.Tensor(("n", "k"), "float32")
        ):
            both = R.split(R.matmul(x, R.concat([w, v], axis=1)), 2, axis=1)
            return (both[0], both[1])

    @R.function
    def main(x: R.Tensor((2, 8), "float32"), w: R.Tensor((8, 4), "float32"), v: R.Tensor((8, 4), "float32")):
        with R.dataflow():
            first = R.matmul(x, w)
            second = R.matmul(x, v)
            R.output(first, second)
        return (first, second)

    made = Joined(main)
    assert repr(made).count("R.matmul") == 1
    assert "+" not in repr(made)
    same_values(value_of(made, (2, 8), (8, 4), (8, 4)), value_of(main, (2, 8), (8, 4), (8, 4)))


def test_many_matches_are_no_circle() -> None:
    """Guards functions of more matches than rounds are allowed, and a time linear in them."""
    count = MOST_ROUNDS + 100
    x = relax.Var("x", relax.TensorStructInfo((2, 3)))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            value: Any = x
            for _ in range(count - 1):
                value = builder.emit(relax.op.sin(value))
            value = builder.emit_output(relax.op.sin(value))
        builder.emit_func_output(value)
    with PatternContext() as ctx:
        sin = is_op("relax.sin")(wildcard())
    made = rewrite_bindings(
        ctx, lambda found, values: {found[sin]: R.cos(*values[found[sin]].args)}, builder.get()["main"]
    )
    assert repr(made).count("R.cos") == count
    assert "R.sin" not in repr(made)


def test_matches_of_one_round_do_not_change_one_anothers_users() -> None:
    """Guards `>>`: once the first sine reads the other exponential, that one is not the second sine's alone."""
    with PatternContext() as ctx:
        exp = is_op("relax.exp")(wildcard())
        sin = is_op("relax.sin")(wildcard())
        exp >> sin

    @R.function
    def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            a = R.exp(x)
            c = R.exp(y)
            b = R.sin(a)
            d = R.sin(c)
            R.output(b, d)
        return (b, d)

    def rewrite(found: Any, values: Any) -> Any:
        other = next(v for v in values if v.name_hint in "ac" and v is not found[exp])
        return {found[sin]: R.add(found[exp], other)}

    made = rewrite_bindings(ctx, rewrite, main)
    assert repr(made).count("R.add") == repr(made).count("R.sin") == 1


def test_operators_of_patterns_exist() -> None:
    """Guards misspelled names: such a pattern matched nothing, and nothing said why."""
    with pytest.raises(DiagnosticError, match=r"no Relax operator named 'relax\.nn\.rellu'"):
        is_op("relax.nn.rellu")


@pytest.mark.rule("RELAX-DPL-1")
def test_operands_of_commutative_operators_match_in_either_order() -> None:
    """Guards biases and scales on the left, which TVM's patterns match too; other operators keep their order."""
    data, bias = wildcard(), is_const()
    x = chain.params[0]
    for op, either in ((R.add, True), (R.multiply, True), (R.subtract, False)):
        pattern = is_op(f"relax.{op.__name__}")(data, bias)
        for operands in ((x, relax.const(1.0)), (relax.const(1.0), x)):
            found = pattern.extract_matched_expr(op(*operands))
            assert (found is not None) == (either or operands[0] is x)
            assert found is None or found[data] is x
    same = is_op("relax.add")(data, data)
    assert not same.match(R.add(*chain.params))


def test_names_of_kernels_match_with_their_numbers() -> None:
    """Guards kernels that the builder numbered: a pattern for `matmul` is one for `matmul1`, as in TVM."""
    assert is_gv("matmul").match(relax.GlobalVar("matmul1"))
    assert not is_gv("matmul1").match(relax.GlobalVar("matmul"))


def test_a_rewriter_that_declines_sees_the_other_alternative() -> None:
    """Guards patterns joined by `|`, nested too: the second was tried only where the first does not match."""

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        return R.add(x, R.const(1.0, "float32"))

    product = is_op("relax.multiply")(wildcard(), wildcard())
    general, special = is_op("relax.add")(wildcard(), wildcard()), is_op("relax.add")(wildcard(), is_const())
    either = product | (general | special)
    seen = []

    def rewrite(expr: Any, found: Any) -> Any:
        seen.append((general in found, special in found, found[either] is expr))
        return R.exp(expr.args[0]) if special in found else expr

    assert "R.exp(x)" in repr(rewrite_call(either, rewrite, main))
    assert seen == [(True, False, True), (False, True, True)]


def test_alternatives_report_what_the_matching_one_does() -> None:
    """Guards scripts that read operands of `matched[either]`: it was the variable, where each alternative gives the
    value."""

    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            half = R.divide(x, R.const(2.0, "float32"))
            out = R.exp(half)
            R.output(out)
        return out

    either = is_op("relax.multiply")(wildcard(), wildcard()) | is_op("relax.divide")(wildcard(), wildcard())
    bound = relax.analysis.get_var2val(main)
    found = is_op("relax.exp")(either).extract_matched_expr(R.exp(main.body.blocks[0].bindings[0].var), bound)
    assert found[either].op.name == "relax.divide"
    anything = wildcard() | is_const()
    half = main.body.blocks[0].bindings[0].var
    assert is_op("relax.exp")(anything).extract_matched_expr(R.exp(half), bound)[anything] is half
