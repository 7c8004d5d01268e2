"""Rules of scripts in LegalizeOps: when they are asked, and what becomes of what they give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, topi
from baton._src.ir.filled_columns import FILLED
from baton._src.support.diagnostics import DiagnosticError
from baton.script import from_source
from tests.passes.relax.programs import called
from tests.relax.machines import everywhere, table


def module(*shape: str) -> Any:
    """exp of a tensor of which `shape` is known."""
    annotation = f'R.Tensor({"".join(f"{part}, " for part in shape)}dtype="float32")'
    return from_source(f"""
@I.ir_module
class Module:
    @R.function
    def main(x: {annotation}):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y
""")


def legalized(before: Any, rule: Any, **options: Any) -> Any:
    return relax.transform.LegalizeOps({"relax.exp": rule}, **options)(before)


@pytest.mark.rule("RELAX-PASS-16")
@pytest.mark.parametrize("shape", [(), ("ndim=2",)])
def test_rules_are_asked_only_where_sizes_are_known(shape: tuple[str, ...]) -> None:
    """Guards rules written as in TVM, with call_te: they were asked about tensors of unknown rank, and broke."""

    def rule(builder: Any, call: Any) -> Any:
        return builder.call_te(topi.tanh, *call.args)

    before = module(*shape)
    with pytest.warns(UserWarning, match=r"relax.exp is not legalized: not all shapes"):
        assert legalized(before, rule, enable_warning=True) is before
    assert called(legalized(module('("n", 3)'), rule)) == ["tanh"]


def test_rules_that_scripts_register_hold_where_sizes_are_known_only_when_running() -> None:
    """The operator is compiled at first use, by the same rules."""
    op, x = tvm.ir.Op.get("relax.exp"), np.ones((2, 3), np.float32)
    machine = relax.VirtualMachine(relax.build(module(), "llvm"), tvm.cpu())
    filled = set(FILLED)
    op.set_attr("FLegalize", lambda builder, call: builder.call_te(topi.negative, *call.args))
    try:
        np.testing.assert_array_equal(machine["main"](tvm.nd.array(x)).numpy(), -x)
    finally:
        op.reset_attr("FLegalize")
        FILLED.intersection_update(filled)


@pytest.mark.rule("RELAX-PASS-16")
def test_what_a_rule_gives_is_legalized_in_turn() -> None:
    """Guards against operators left by rules that are written with operators: only what they emitted was visited."""

    def returned(builder: Any, call: Any) -> Any:
        return relax.op.multiply(call.args[0], relax.op.tanh(call.args[0]))

    def emitted(builder: Any, call: Any) -> Any:
        return relax.op.multiply(call.args[0], builder.emit(relax.op.tanh(call.args[0])))

    for rule in (returned, emitted):
        after = legalized(module('("n",)'), rule)
        assert called(after) == ["tanh", "multiply"]
        assert relax.analysis.well_formed(after)
        assert {v.name_hint for v in after.functions} == {"main", "tanh", "multiply"}


@pytest.mark.rule("RELAX-PURE-14")
def test_packed_functions_in_place_of_pure_operators_are_pure_calls() -> None:
    """Guards DataflowBlocks: the impure call in one made the module ill-formed."""

    def packed(builder: Any, call: Any) -> Any:
        return relax.Call(relax.ExternFunc("test.twice"), call.args, None, [call.struct_info])

    after = legalized(module("(2,)"), packed)
    assert called(after) == ["call_pure_packed"]
    assert relax.analysis.well_formed(after)
    twice = table(twice=lambda x: tvm.nd.array(x.numpy() * 2))
    np.testing.assert_array_equal(everywhere(after, np.ones(2, np.float32), functions=twice).numpy(), [2, 2])


def test_rules_that_never_end_are_named() -> None:
    """A rule that emits its own operator is asked about it again, as in TVM."""

    def endless(builder: Any, call: Any) -> Any:
        return relax.op.negative(relax.op.exp(relax.op.negative(call.args[0])))

    with pytest.raises(DiagnosticError, match=r"the rule for relax.exp does not terminate"):
        legalized(module("(2,)"), endless)


def test_rules_give_what_the_operator_gives() -> None:
    """A sum in the operator's place was an ill-formed program, or failed when it ran."""
    for rule in (lambda b, c: relax.op.sum(c.args[0]), lambda b, c: relax.op.astype(c.args[0], "float16")):
        with pytest.raises(DiagnosticError, match=r"the rule for relax.exp gives .* for R.Tensor\(\(2,\)"):
            legalized(module("(2,)"), rule)
    with pytest.raises(DiagnosticError, match=r"a rule is a function .* got 3 for relax.exp"):
        legalized(module("(2,)"), 3)


def test_rules_of_operators_that_there_are_not_are_told() -> None:
    """Guards misspelt names, whose rules were silently never asked."""
    with pytest.warns(UserWarning, match="never asked.*'relax.expp'"):
        relax.transform.LegalizeOps({"relax.expp": lambda builder, call: call})
