"""InlineScalarArguments: which scalars move into groups, which are read, and when there are several groups."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.passes.relax.fusion.annotate_tir_op_pattern import AnnotateTIROpPattern
from baton._src.passes.relax.fusion.fuse_ops import FuseOps
from baton._src.passes.relax.fusion.fuse_tir import FuseTIR
from baton._src.passes.relax.fusion.inline_scalar_arguments import MOST_READ, InlineScalarArguments
from baton._src.passes.relax.operators.legalize_ops import LegalizeOps
from baton._src.relax.nodes import Call, Constant, Function, SeqExpr, Tuple, VarBinding
from baton._src.transform.passes import Sequential
from tests.passes.relax.programs import R, arrays, bindings, called, check, const, program, tensor

GROUPS = Sequential([LegalizeOps(), AnnotateTIROpPattern(), FuseOps()])
INLINE = InlineScalarArguments()


def _layers(scalars: list[list[float]]) -> IRModule:
    """For each list a group that multiplies by its scalars; sums, which are no part of them, lie between."""

    def build(b: Any, x: Any) -> Any:
        for factors in scalars:
            for factor in factors:
                x = b.emit(R.multiply(x, const(factor)))
            x = b.emit(R.cumsum(x, axis=0))
        return x

    return program([tensor("x", 3, 4)], build)


def _groups(module: IRModule) -> list[str]:
    return [v.name_hint for v, f in module.functions.items() if isinstance(f, Function) and f.attrs.get("Primitive")]


def _scalars_passed(module: IRModule) -> list[list[float]]:
    """The constants among the arguments of each call of a group."""
    values = (b.value for b in bindings(module))
    calls = [v for v in values if isinstance(v, Call) and isinstance(v.op, GlobalVar)]
    return [[a.data.data.item() for a in c.args if isinstance(a, Constant)] for c in calls]


def test_what_all_calls_agree_on_moves_in() -> None:
    """Guards the mixture: 2.0 becomes part of the one group, the other factor is passed."""
    before = GROUPS(_layers([[2.0, 0.5], [2.0, 0.25], [2.0, 0.5]]))
    assert _scalars_passed(before) == [[2.0, 0.5], [2.0, 0.25], [2.0, 0.5]]
    after = check(INLINE, before, *arrays((3, 4)))
    assert _groups(after) == _groups(before) == ["fused_multiply_multiply"]
    assert _scalars_passed(after) == [[0.5], [0.25], [0.5]]


def test_a_single_call_keeps_all_inside() -> None:
    """Guards programs without repeated layers: no scalar is passed, and the group keeps its name."""
    after = check(INLINE, GROUPS(_layers([[2.0, 0.5, 0.25]])), *arrays((3, 4)))
    assert _scalars_passed(after) == [[]]
    assert called(after)[0] == "fused_multiply_multiply_multiply"


def test_zeros_of_either_sign_and_nan_are_told_apart_by_their_bits() -> None:
    """Guards that 0.0 is not taken for -0.0, and that a NaN agrees with itself."""
    after = check(INLINE, GROUPS(_layers([[0.0, float("nan")], [-0.0, float("nan")]])))
    assert [[str(s) for s in passed] for passed in _scalars_passed(after)] == [["0.0"], ["-0.0"]]


@pytest.mark.parametrize("different", [MOST_READ, MOST_READ + 1])
def test_groups_that_differ_in_much_are_several(different: int) -> None:
    """Guards the limit: one group that reads `MOST_READ` scalars, or a group for each list of more."""
    one, other = [1.5] + [1.0] * different, [1.5] + [0.5] * different
    after = check(INLINE, GROUPS(_layers([one, other, one])), *arrays((3, 4)))
    if different == MOST_READ:
        assert len(_groups(after)) == 1
        assert [len(passed) for passed in _scalars_passed(after)] == [MOST_READ] * 3
    else:
        assert len(_groups(after)) == 2
        assert _scalars_passed(after) == [[], [], []]
        names = [n for n in called(after) if n.startswith("fused")]
        assert names[0] == names[2] != names[1]


def test_a_group_that_is_also_a_value_stays_as_it_is() -> None:
    """Guards that the parameters of a group somebody else may call are not changed."""
    before = GROUPS(_layers([[2.0, 0.5]]))
    (group,) = (v for v in before.functions if v.name_hint.startswith("fused"))
    main = before["main"]
    (block,) = main.body.blocks
    value = Tuple([group]).with_fields(struct_info_=None)
    kept = VarBinding(block.bindings[0].var.with_fields(name_hint="kept", struct_info_=None), value)
    body = main.body.with_fields(blocks=(block.with_fields(bindings=(kept, *block.bindings)),))
    functions = {v: f.with_fields(body=body) if f is main else f for v, f in before.functions.items()}
    module = before.with_functions(functions)
    assert INLINE(module) is module


def test_a_group_that_is_returned_or_public_or_used_by_a_group_stays_as_it_is() -> None:
    """Guards everybody else who knows a group's parameters: callers from outside, and groups, which are not changed."""
    before = GROUPS(_layers([[2.0, 0.5]]))
    (group,) = (v for v in before.functions if v.name_hint.startswith("fused"))
    public = before[group].with_attr("global_symbol", group.name_hint)
    returned = Function([], SeqExpr([], group), None, True, {"global_symbol": "returned"})
    also = before["main"].with_fields(attrs={"Primitive": 1})
    for module in (
        before.with_functions({**before.functions, group: public}),
        before.with_functions({**before.functions, GlobalVar("returned"): returned}),
        before.with_functions({**before.functions, GlobalVar("also"): also}),
    ):
        assert INLINE(module) is module


def test_fused_kernels_compute_with_what_is_left() -> None:
    """Guards the way to kernels: one for layers that differ in a scalar, which it reads."""
    after = check(FuseTIR(inline=True), INLINE(GROUPS(_layers([[2.0, 0.5], [2.0, 0.25]]))), *arrays((3, 4)))
    fused = [b.value for b in bindings(after) if isinstance(b.value, Call) and len(b.value.args[1].fields) == 2]
    assert len({call.args[0] for call in fused}) == 1
    assert len(fused) == 2
