"""Rewriters made of modules and of tuples of patterns: names of what they call, signatures, blocks of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import relax, tir
from baton._src.ir.module import IRModule
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.well_formed import well_formed
from baton._src.support.diagnostics import DiagnosticError
from baton.relax import dpl
from baton.relax.dpl import PatternMatchingRewriter, is_op, is_tuple, wildcard
from baton.script import ir as I
from baton.script import relax as R
from baton.script import tir as T
from tests.relax.build import module
from tests.relax.machines import table


def same_result(before: IRModule, after: IRModule, *args: Any) -> None:
    """`after` is another module, well-formed, and gives the same."""
    assert after is not before
    assert well_formed(after) == []
    found, expected = (Interpreter(m)["main"](*args) for m in (after, before))
    for a, b in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, expected))):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)


@I.ir_module
class Exponents:
    @R.function(private=True)
    def helper(a: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return R.exp(a)

    @R.function
    def main(x: R.Tensor((3,), "float32")):
        y = R.add(x, x)
        z = Exponents.helper(y)
        return R.multiply(z, z)


@R.rewriter
class Twice:
    @R.function
    def pattern(x: R.Tensor((3,), "float32")):
        return R.add(x, x)

    @R.function
    def replacement(x: R.Tensor((3,), "float32")):
        return Twice.helper(x)

    @R.function(private=True)
    def helper(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return Twice.scaled(x)

    @R.function(private=True)
    def scaled(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return R.multiply(R.const(2.0), x)


@R.rewriter
class Square:
    @R.function
    def pattern(x: R.Tensor((3,), "float32")):
        return R.multiply(x, x)

    @R.function
    def replacement(x: R.Tensor((3,), "float32")):
        return Square.helper(x)

    @R.function(private=True)
    def helper(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        return R.power(x, R.const(2.0))


X = np.array([0.5, -1, 2], np.float32)


@pytest.mark.rule("RELAX-DPL-1")
@pytest.mark.parametrize("rewriter", [Twice, Square, Twice | Square, Square | Twice])
def test_functions_of_rewriters_do_not_replace_those_of_the_module(rewriter: PatternMatchingRewriter) -> None:
    """The module's `helper`, and another rewriter's, were called in place of the rewriter's own."""
    after = rewriter(Exponents)
    same_result(Exponents, after, X)
    assert rewriter(after) is after


@pytest.mark.parametrize(
    "result",
    ["R.reshape(x, (3, 1))", 'R.astype(x, "float16")', "(x, x)"],
)
def test_replacements_stand_for_their_patterns(result: str) -> None:
    """Another shape or dtype made modules that are not well-formed."""
    whole = module(f"""
@R.function
def pattern(x: R.Tensor((3,), "float32")):
    return R.add(x, x)

@R.function
def replacement(x: R.Tensor((3,), "float32")):
    return {result}
""")
    with pytest.raises(DiagnosticError, match="cannot stand for the pattern"):
        PatternMatchingRewriter.from_module(whole)


@pytest.mark.rule("RELAX-DPL-1")
def test_patterns_hold_casts() -> None:
    """What a match_cast of the pattern says has to be known of what matches; its variables hold in the replacement."""

    @R.rewriter
    class Flat:
        @R.function
        def pattern(x: R.Tensor("float32")):
            n = T.int64()
            y = R.match_cast(x, R.Tensor((n, 1), "float32"))
            return R.add(y, y)

        @R.function
        def replacement(x: R.Tensor("float32")):
            n = T.int64()
            y = R.match_cast(x, R.Tensor((n, 1), "float32"))
            return R.multiply(y, R.const(2.0))

    @I.ir_module
    class Column:
        @R.function
        def main(x: R.Tensor(("k", 1), "float32")):
            return R.add(x, x)

    @I.ir_module
    class Row:
        @R.function
        def main(x: R.Tensor((1, "k"), "float32")):
            return R.add(x, x)

    same_result(Column, Flat(Column), np.ones((3, 1), np.float32))
    assert Flat(Row) is Row


@I.ir_module
class Products:
    @R.function
    def main(a: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32"), c: R.Tensor((3,), "float32")):
        total = R.add(a, b)
        product = R.multiply(b, c)
        return (total, product)


def reversed_difference(x: Any, y: Any, z: Any) -> tuple[Any, Any]:
    """x + y and x * z in other words, with the roles that the operands have."""
    return R.subtract(x, R.negative(y)), R.negative(R.multiply(R.negative(x), z))


@pytest.mark.parametrize("way", ["tuple", "rewriter", "module"])
def test_fields_of_a_tuple_agree_on_their_operands(way: str) -> None:
    """`b` is x in both, though `a + b` alone matches with x = a, too: y was taken for what x is."""
    x, y, z = wildcard(), wildcard(), wildcard()
    fields = is_op("relax.add")(x, y), is_op("relax.multiply")(x, z)
    whole = is_tuple(fields)

    def rewrite(expr: Any, found: Any) -> Any:
        assert whole not in found or isinstance(found[whole], relax.Tuple)
        return relax.Tuple(reversed_difference(found[x], found[y], found[z]))

    @R.rewriter
    class Rule:
        @R.function
        def pattern(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32"), z: R.Tensor((3,), "float32")):
            return (R.add(x, y), R.multiply(x, z))

        @R.function
        def replacement(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32"), z: R.Tensor((3,), "float32")):
            return (R.subtract(x, R.negative(y)), R.negative(R.multiply(R.negative(x), z)))

    rewriters = {
        "tuple": PatternMatchingRewriter.from_pattern(whole, rewrite),
        "rewriter": dpl.TupleRewriter(fields, rewrite),
        "module": Rule,
    }
    after = rewriters[way](Products)
    same_result(Products, after, X, X + 1, X * 3)
    assert "R.subtract(b" in repr(after)


def test_tuples_are_not_matched_over_effects() -> None:
    """A block with a call that may write is left alone: its bindings keep their order."""
    before = module("""
@R.function(pure=False)
def main(a: R.Tensor((3,), "float32"), b: R.Tensor((3,), "float32"), c: R.Tensor((3,), "float32")):
    total = R.add(a, b)
    R.call_packed("test.inc", b, sinfo_args=R.Tuple())
    product = R.multiply(b, c)
    return (total, product)
""")
    x, y, z = wildcard(), wildcard(), wildcard()
    fields = is_op("relax.add")(x, y), is_op("relax.multiply")(x, z)
    rewriter = dpl.TupleRewriter(fields, lambda e, m: relax.Tuple(reversed_difference(m[x], m[y], m[z])))
    assert rewriter(before) is before
    assert Interpreter(before, table(inc=lambda x: None))["main"](X, X, X)


@pytest.mark.parametrize("made", [lambda x: R.astype(x, "float16"), lambda x: R.reshape(x, (3, 1))])
def test_replacements_of_another_type_are_refused(made: Any) -> None:
    """The users of `total` are written for a float32 of three elements; modules were ill-formed."""
    x, y = wildcard(), wildcard()
    pattern = is_op("relax.add")(x, y)
    with pytest.raises(DiagnosticError, match="the rewriter replaces total"):
        dpl.rewrite_call(pattern, lambda expr, found: made(found[x]), Products["main"])
    one = dpl.TupleRewriter([pattern], lambda expr, found: relax.Tuple([made(found[x])]))
    with pytest.raises(DiagnosticError, match="the value of total is"):
        one(Products)


@pytest.mark.rule("RELAX-DPL-1")
def test_sizes_of_a_struct_info_pattern_are_any_sizes_that_agree() -> None:
    """`n` stands for the size found, the same one in every operand; only sizes written so matched."""
    n, m = (tir.Var(name, "int64") for name in "nm")
    square, rows = (relax.TensorStructInfo(shape, "float32") for shape in ([n, n], [n, m]))
    vector = relax.TensorStructInfo([n], "float32")

    def matches(first: Any, shape: Any, second: Any = None, other: Any = None) -> bool:
        x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
        if second is None:
            return wildcard().has_struct_info(first).match(x)
        y = relax.Var("y", relax.TensorStructInfo(other, "float32"))
        pair = is_tuple([wildcard().has_struct_info(first), wildcard().has_struct_info(second)])
        return pair.match(relax.Tuple([x, y]))

    k = tir.Var("k", "int64")
    assert matches(rows, [k, 4])
    assert matches(square, [k, k])
    assert not matches(square, [k, 4])
    assert matches(rows, [2, 3], vector, [2])
    assert not matches(rows, [2, 3], vector, [3])


@R.rewriter
class PlusZero:
    @R.function
    def pattern(x: R.Tensor((3,), "float32")):
        return R.add(x, R.const(0.0, "float32"))

    @R.function
    def replacement(x: R.Tensor((3,), "float32")):
        return x


def test_an_operand_that_takes_the_place_of_a_call_stays_bound() -> None:
    """Its binding, the one before, was taken away although others use it: the result named a variable without one."""
    before = module(
        """
        @R.function
        def main(x: R.Tensor((3,), "float32")):
            y = R.exp(x)
            z = R.add(y, R.const(0.0, "float32"))
            return R.multiply(y, z)
        """
    )
    same_result(before, PlusZero(before), X)


ZEROS = (wildcard(), is_op("relax.exp")(wildcard()))
BOTH = dpl.TupleRewriter(
    [is_op("relax.add")(ZEROS[0], dpl.is_const()), ZEROS[1]],
    lambda found, parts: relax.Tuple([found.fields[0].args[0], found.fields[1]]),
)


@pytest.mark.parametrize("rule", [PlusZero, BOTH])
def test_an_operand_that_is_written_later_does_not_take_the_place_of_a_call(rule: PatternMatchingRewriter) -> None:
    before = module(
        """
        @R.function(pure=False)
        def main(x: R.Tensor((3,), "float32")):
            with R.dataflow():
                e = R.exp(x)
                y = R.multiply(x, x)
                z = R.add(y, R.const(0.0, "float32"))
                R.output(e, y, z)
            R.call_packed("increase", y, sinfo_args=(R.Tuple(),))
            return R.add(R.multiply(y, z), e)
        """
    )
    assert rule(before) is before


@R.rewriter
class SecondHalf:
    @R.function
    def pattern(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        return R.strided_slice(x, [0], [n // 2], [n])

    @R.function
    def replacement(x: R.Tensor(("n",), "float32")):
        halves = R.split(x, 2)
        return halves[1]


def test_computed_positions_are_part_of_the_pattern() -> None:
    """Any shape or scalar matched one that mentions shape variables: the first half became the second one."""
    before = module("""
@R.function
def main(x: R.Tensor((6,), "float32"), y: R.Tensor(("m",), "float32")):
    m = T.int64()
    with R.dataflow():
        a = R.strided_slice(x, [0], [0], [3])
        b = R.strided_slice(x, [0], [3], [6])
        c = R.strided_slice(y, [0], [m // 2], [m])
        d = R.strided_slice(y, [0], [1], [m])
        R.output(a, b, c, d)
    return (a, b, c, d)
""")
    after = SecondHalf(before)
    same_result(before, after, np.arange(6, dtype="float32"), np.arange(4, dtype="float32"))
    calls = [b.value.op.name for b in after["main"].body.blocks[0].bindings if isinstance(b.value, relax.Call)]
    assert sorted(calls) == ["relax.split"] * 2 + ["relax.strided_slice"] * 2
