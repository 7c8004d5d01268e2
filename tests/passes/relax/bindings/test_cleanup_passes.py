"""FoldConstant, DeadCodeElimination, EliminateCommonSubexpr, CanonicalizeBindings: before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.passes.relax.bindings.canonicalize_bindings import CanonicalizeBindings
from baton._src.passes.relax.bindings.dead_code_elimination import DeadCodeElimination
from baton._src.passes.relax.bindings.eliminate_common_subexpr import EliminateCommonSubexpr, MergeEqualBindings
from baton._src.passes.relax.operators.fold_constant import FoldConstant
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.check.report import StructInfoWarning
from baton._src.relax.nodes import (
    Constant,
    If,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.diagnostics import DiagnosticError
from tests.passes.relax.programs import R, arrays, bindings, called, check, const, dim, printing, program, tensor
from tests.relax.build import module
from tests.relax.machines import everywhere, f32, fails_everywhere

# ------------------------------------------------------------------------------------------------- FoldConstant


def test_constants_fold_through_chains() -> None:
    """(1 + 2) * x; the sum is a literal operand afterwards."""
    before = program([tensor("x", 2)], lambda b, x: R.multiply(R.add(const([1, 2]), const([3, 4])), x))
    expected = program([tensor("x", 2)], lambda b, x: R.multiply(const([4, 6]), x))
    check(FoldConstant(), before, *arrays((2,)), expected=expected)


@pytest.mark.rule("RELAX-PASS-08")
def test_kernels_on_constants_are_run() -> None:
    before = LegalizeOps()(program([tensor("x", 2)], lambda b, x: R.add(R.exp(const([0.0, 1.0])), x)))
    after = check(FoldConstant(), before, *arrays((2,)))
    assert called(after) == ["add"]
    folded = bindings(after)[0].value.args[1].fields[0]
    np.testing.assert_allclose(folded.data.data, np.exp([0.0, 1.0]), rtol=1e-6)


@pytest.mark.rule("RELAX-PASS-08", rejects=True)
def test_parameters_and_effects_are_left_alone() -> None:
    before = LegalizeOps()(program([tensor("x", 2)], lambda b, x: R.add(x, const([1.0, 2.0]))))
    assert FoldConstant()(before) is before
    printed = program([tensor("x", 2)], lambda b, x: (b.emit(printing(const(1.0))), x)[1], dataflow=False)
    assert FoldConstant()(printed) is printed


def test_results_that_grow_beyond_the_limit_stay() -> None:
    """A broadcast of one number to 4 KB, with a limit of 1 KB; a transpose of 4 KB is no larger than its operand."""
    grown = program([tensor("x", 1024)], lambda b, x: R.add(R.broadcast_to(const([1.0]), (1024,)), x))
    assert FoldConstant(max_bytes=1024)(grown) is grown
    assert called(FoldConstant(max_bytes=4096)(grown)) == ["add"]
    big = const(np.zeros((32, 32)))
    moved = program([tensor("x", 32, 32)], lambda b, x: R.add(R.permute_dims(big), x))
    assert called(FoldConstant(max_bytes=16)(moved)) == ["add"]


def test_an_output_keeps_its_binding() -> None:
    after = FoldConstant()(program([tensor("x", 1)], lambda b, x: R.add(const(1.0), const(2.0))))
    (binding,) = bindings(after)
    assert isinstance(binding.value, Constant)
    assert type(binding.var) is Var


# ------------------------------------------------------------------------------------------ DeadCodeElimination


@pytest.mark.rule("RELAX-PASS-07")
def test_unused_bindings_and_functions_disappear() -> None:
    def build(b: Any, x: Any) -> Any:
        unused = b.emit(R.exp(x))
        b.emit(R.add(unused, unused))
        return R.multiply(x, x)

    before = program([tensor("x", 3)], build)
    helper = program([tensor("x", 3)], lambda b, x: R.exp(x))["main"].without_attr("global_symbol")
    before = IRModule({**before.functions, "helper": helper})
    expected = program([tensor("x", 3)], lambda b, x: R.multiply(x, x))
    check(DeadCodeElimination(), before, *arrays((3,)), expected=expected)
    assert "helper" in DeadCodeElimination(entry_functions=("helper",))(before)
    with pytest.raises(DiagnosticError, match="no function 'halper'"):
        DeadCodeElimination(entry_functions=("halper",))(before)


@pytest.mark.rule("RELAX-PASS-07", rejects=True)
def test_effects_and_casts_stay_with_what_they_need() -> None:
    n = dim("n")

    def build(b: Any, x: Any) -> Any:
        e = b.emit(R.exp(x))
        b.emit(printing(e))
        b.match_cast(x, TensorStructInfo([n], "float32"))
        return x

    before = program([Var("x", TensorStructInfo(None, "float32", ndim=1))], build, dataflow=False, pure=False)
    after = check(DeadCodeElimination(), before)
    assert after is before


def test_branches_are_swept_and_dead_ones_dropped() -> None:
    def build(b: Any, x: Any, c: Any) -> Any:
        dead = If(c, SeqExpr([], R.exp(x)), SeqExpr([], x))
        b.emit(dead)
        return If(c, SeqExpr([], R.add(R.exp(x), x)), SeqExpr([], x))

    after = check(
        DeadCodeElimination(), program([tensor("x", 2), tensor("c", dtype="bool")], build, dataflow=False),
        *arrays((2,)), True,
    )  # fmt: skip
    assert [type(b.value).__name__ for b in bindings(after)] == ["If"]


# --------------------------------------------------------------------------------------- EliminateCommonSubexpr

SHARE = MergeEqualBindings()


@pytest.mark.rule("RELAX-PASS-06")
def test_equal_bindings_become_one() -> None:
    def build(b: Any, x: Any, y: Any) -> Any:
        a, c = b.emit(R.add(x, y)), b.emit(R.add(x, y))
        return R.multiply(a, c)

    def merged(b: Any, x: Any, y: Any) -> Any:
        a = b.emit(R.add(x, y))
        return R.multiply(a, a)

    def copied(b: Any, x: Any, y: Any) -> Any:
        a = b.emit(R.add(x, y))
        b.emit(a)
        return R.multiply(a, a)

    params = [tensor("x", 2), tensor("y", 2)]
    check(SHARE, program(params, build), *arrays((2,), (2,)), expected=program(params, merged))
    kept = EliminateCommonSubexpr()
    check(kept, program(params, build), *arrays((2,), (2,)), expected=program(params, copied))


def test_equal_calls_of_external_functions_become_one() -> None:
    """Each mention of a function by its name is another object."""
    before = module("""
@R.function
def main(x: R.Tensor((2,), "float32")):
    with R.dataflow():
        a = R.call_dps_packed("test.f", (x,), out_sinfo=R.Tensor((2,), "float32"))
        b = R.call_dps_packed("test.f", (x,), out_sinfo=R.Tensor((2,), "float32"))
        c = R.call_dps_packed("test.g", (x,), out_sinfo=R.Tensor((2,), "float32"))
        d = R.add(R.add(a, b), c)
        R.output(d)
    return d
""")
    assert called(SHARE(before)) == ["call_dps_packed"] * 2 + ["add"] * 2


def test_equal_casts_are_one_check() -> None:
    """Those that define other shape variables stay."""
    before = module("""
@R.function
def main(x: R.Tensor(ndim=2, dtype="float32")):
    n, m, k = T.int64(), T.int64(), T.int64()
    a = R.match_cast(x, R.Tensor((n, m), "float32"))
    b = R.match_cast(x, R.Tensor((n, m), "float32"))
    c = R.match_cast(x, R.Tensor((n, k), "float32"))
    return R.add(R.add(a, b), c)
""")
    after = check(EliminateCommonSubexpr(), before, *arrays((2, 3)))
    kinds = [type(b).__name__ for b in bindings(after)]
    assert kinds[:3] == ["MatchCast", "VarBinding", "MatchCast"]
    assert EliminateCommonSubexpr(call_only=True)(before) is before


def test_casts_of_other_sizes_are_checks_of_their_own() -> None:
    """Guards squeezes of open axes: the check of one computed size was taken for that of another."""
    before = module("""
@R.function
def main(x: R.Tensor(("n",), "float32"), y: R.Tensor(("m",), "float32")):
    n, m = T.int64(), T.int64()
    a = R.match_cast(R.shape([n * 2 - 1]), R.Shape([1]))
    b = R.match_cast(R.shape([m * 2 - 1]), R.Shape([1]))
    c = R.match_cast(R.shape([n * 2 - 1]), R.Shape([1]))
    return (a, b, c)
""")
    assert [type(b).__name__ for b in bindings(MergeEqualBindings()(before))].count("MatchCast") == 2


@pytest.mark.rule("RELAX-PASS-06", rejects=True)
def test_what_differs_or_has_effects_is_kept() -> None:
    """Other order of operands, other attributes, other scalars, printing, packed calls, allocations."""

    def build(b: Any, x: Any) -> Any:
        b.emit(printing(x))
        b.emit(printing(x))
        parts = [R.sum(x, axis=[0]), R.sum(x, axis=[1]), R.add(x, const(1.0)), R.add(x, const(2.0))]
        return Tuple([b.emit(p) for p in parts])

    before = program([tensor("x", 2, 2)], build, dataflow=False, pure=False)
    assert EliminateCommonSubexpr()(before) is before


def test_equal_scalars_and_projections_merge_and_call_only_restricts() -> None:
    def build(b: Any, x: Any) -> Any:
        t = b.emit(R.split(x, 2, axis=0))
        left, again = b.emit(TupleGetItem(t, 0)), b.emit(TupleGetItem(t, 0))
        return R.add(R.add(left, const(1.0)), R.add(again, const(1.0)))

    before = program([tensor("x", 4)], build)
    assert len(called(check(SHARE, before, *arrays((4,))))) == 4
    assert len(called(EliminateCommonSubexpr(call_only=True)(before))) == 6


def test_tuples_nested_deeply_are_compared_without_python_stack() -> None:
    """The pass recursed once a level: a RecursionError of 1000."""

    def nested(x: Any, times: int) -> Any:
        for _ in range(times):
            x = Tuple([x])
        return x

    before = program([tensor("x", 2)], lambda b, x: Tuple([b.emit(nested(x, 3000)), b.emit(nested(x, 3000))]))
    assert len(bindings(MergeEqualBindings()(before))) == 2  # one of them, and the result


def test_scopes_are_respected() -> None:
    """What is computed in one branch does not serve the other, nor what follows; what comes before serves both."""

    def build(b: Any, x: Any, c: Any) -> Any:
        e = b.emit(R.exp(x))
        chosen = b.emit(If(c, SeqExpr([], R.add(R.exp(x), R.sin(x))), SeqExpr([], R.add(R.cos(x), R.sin(x)))))
        return R.add(R.add(chosen, R.sin(x)), e)

    before = program([tensor("x", 2), tensor("c", dtype="bool")], build, dataflow=False)
    after = check(SHARE, before, *arrays((2,)), False)
    branch = next(b.value for b in bindings(after) if isinstance(b.value, If))
    names = [
        [b.value.op.name for block in s.blocks for b in block.bindings]
        for s in (branch.true_branch, branch.false_branch)
    ]
    assert names == [["relax.sin", "relax.add"], ["relax.cos", "relax.sin", "relax.add"]]
    assert "sin" in called(after)


# ------------------------------------------------------------------------------------------ CanonicalizeBindings


@pytest.mark.rule("RELAX-PASS-05")
def test_copies_and_tuple_detours_disappear() -> None:
    def build(b: Any, x: Any, y: Any) -> Any:
        copied = b.emit(x)
        pair = b.emit(Tuple([copied, y]))
        first = b.emit(TupleGetItem(pair, 0))
        return R.add(first, copied)

    params = [tensor("x", 2), tensor("y", 2)]
    after = check(CanonicalizeBindings(), program(params, build), *arrays((2,), (2,)))
    swept = DeadCodeElimination()(after)
    assert called(swept) == ["add"]
    assert bindings(swept)[0].value.args == (swept["main"].params[0], swept["main"].params[0])


def test_a_tuple_taken_apart_and_put_together_is_itself() -> None:
    def build(b: Any, x: Any) -> Any:
        t = b.emit(R.split(x, 2, axis=0))
        return R.concat(b.emit(Tuple([b.emit(TupleGetItem(t, 0)), b.emit(TupleGetItem(t, 1))])), axis=0)

    after = DeadCodeElimination()(check(CanonicalizeBindings(), program([tensor("x", 4)], build), *arrays((4,))))
    assert called(after) == ["split", "concat"]


def test_an_output_takes_the_place_of_what_it_copies() -> None:
    """lv = exp(x); gv = lv   ->   gv = exp(x)"""
    bb = BlockBuilder()
    x = tensor("x", 2)
    with bb.function("main", [x]):
        with bb.dataflow():
            lv = bb.emit(R.exp(x))
            gv = bb.emit_output(lv)
        bb.emit_func_output(gv)
    expected = program([tensor("x", 2)], lambda b, x: R.exp(x))
    check(CanonicalizeBindings(), bb.get(), *arrays((2,)), expected=expected)


@pytest.mark.rule("RELAX-PASS-05", rejects=True)
def test_casts_that_may_fail_stay_and_certain_ones_go() -> None:
    n = dim("n")

    def build(b: Any, x: Any, y: Any) -> Any:
        known = b.match_cast(y, TensorStructInfo([2], "float32"))
        bound = b.match_cast(x, TensorStructInfo([n], "float32"))
        return R.add(b.emit(R.sum(R.exp(bound))), b.emit(R.sum(R.exp(known))))

    params = [Var("x", TensorStructInfo(None, "float32", ndim=1)), tensor("y", 2)]
    after = check(CanonicalizeBindings(), program(params, build), *arrays((3,), (2,)))
    kinds = [type(b).__name__ for b in bindings(after)]
    assert kinds.count("MatchCast") == 1


@pytest.mark.rule("RELAX-PURE-08")
def test_an_unused_if_with_a_cast_in_a_branch_stays() -> None:
    """It was removed where a cast by itself stays: a program that fails before it prints printed."""
    program = module("""
@R.function(pure=False)
def main(x: R.Object, c: R.Tensor((), "bool")) -> R.Object:
    if c:
        y = R.match_cast(x, R.Shape(ndim=1))
        r: R.Object = x
    else:
        z: R.Object = x
        r: R.Object = z
    R.print(R.str("later"))
    return x
""")
    swept = DeadCodeElimination()(program)["main"]
    kinds = [type(b.value).__name__ for block in swept.body.blocks for b in block.bindings]
    assert kinds == ["If", "Call"]
    fails_everywhere(program, f32(1), np.bool_(True), says="expected a shape")
    everywhere(program, f32(1), np.bool_(False))


@pytest.mark.rule("RELAX-DERIVE-07")
@pytest.mark.parametrize("branch", [False, True])
def test_an_unused_annotation_that_says_more_than_is_known_is_checked(branch: bool) -> None:
    """As a cast is: the compiled program went on where the interpreter failed."""
    said = 'y: R.Tensor((3,), "float32") = x'
    text = f"if R.const(True):\n        {said}\n        r = x\n    else:\n        r = x" if branch else said
    with pytest.warns(StructInfoWarning, match="cannot be ruled out"):
        program = module(f"""
@R.function
def main(x: R.Tensor(ndim=1, dtype="float32")) -> R.Tensor(ndim=1, dtype="float32"):
    {text}
    return x
""")
    fails_everywhere(program, f32(1, 2), says="expected 3")
    everywhere(program, f32(1, 2, 3))
