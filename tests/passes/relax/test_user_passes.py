"""Passes that users write over Relax functions and dataflow blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.relax.nodes import DataflowBlock, SeqExpr, VarBinding
from baton._src.support.diagnostics import DiagnosticError
from baton._src.transform.passes import Sequential
from baton.relax.transform import dataflowblock_pass, function_pass
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, arrays, called, check, program, same_values, tensor


@pytest.mark.rule("RELAY-PASS-06")
def test_function_passes_may_return_nested_expressions() -> None:
    """What they build is normalised."""

    @function_pass(opt_level=0)
    def double(function: Any, module: Any, ctx: Any) -> Any:
        body = SeqExpr(function.body.blocks, R.exp(R.add(function.body.body, function.body.body)))
        return function.with_fields(body=body, ret_struct_info=None)

    before = program([tensor("x", 2)], lambda b, x: R.negative(x))
    after = Sequential([double])(before)
    assert called(after) == ["negative", "add", "exp"]
    (x,) = arrays((2,))
    same_values(evaluate(after, "main", x), np.exp(-2 * x))


def test_dataflow_block_passes_see_blocks_only() -> None:
    @dataflowblock_pass(opt_level=0)
    class Negate:
        def transform_dataflowblock(self, block: Any, module: Any, ctx: Any) -> Any:
            *rest, last = block.bindings
            return DataflowBlock([*rest, VarBinding(last.var, R.negative(R.negative(last.value)))])

    before = program([tensor("x", 2)], lambda b, x: R.exp(x))
    after = check(Negate(), before, *arrays((2,)))
    assert called(after) == ["exp", "negative", "negative"]
    plain = program([tensor("x", 2)], lambda b, x: R.exp(x), dataflow=False)
    assert Negate()(plain) is plain


@pytest.mark.rule("RELAY-PASS-06", rejects=True)
def test_wrong_results_are_named() -> None:
    before = program([tensor("x", 2)], lambda b, x: R.exp(x))
    with pytest.raises(DiagnosticError, match="returned int for main, not Function"):
        function_pass(lambda f, m, c: 3, opt_level=0, name="Wrong")(before)
    with pytest.raises(DiagnosticError, match="returned int, not a DataflowBlock"):
        dataflowblock_pass(lambda b, m, c: 3, opt_level=0, name="Wrong")(before)
