"""Passes of one language on programs of the other."""

from __future__ import annotations

from typing import Any

import pytest

import baton
from baton import relax, relay, tir
from baton._src.support.diagnostics import DiagnosticError
from baton.script import relax as R
from baton.script import tir as T


def of_relay() -> Any:
    x = relay.var("x", shape=(2,))
    return baton.IRModule.from_expr(relay.Function([x], relay.nn.relu(x)))


@R.function
def doubled(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
    y: R.Tensor((2,), "float32") = R.add(x, x)
    return y


@T.prim_func
def kernel(a: T.Buffer((2,), "float32")) -> None:
    for i in range(2):
        with T.block("a"):
            v = T.axis.spatial(2, i)
            a[v] = T.float32(0)


def test_passes_of_the_other_language_are_refused() -> None:
    """Guards a silence: such passes gave the module back as it was, as if they had optimised it."""
    program = baton.IRModule({"main": doubled})
    with pytest.raises(DiagnosticError, match="FoldConstant is a pass over Relax") as error:
        relax.transform.FoldConstant()(of_relay())
    assert "use relay.transform.FoldConstant; or translate" in str(error.value)
    with pytest.raises(DiagnosticError, match="FlattenAtrousConv is a pass over Relay") as error:
        relay.transform.FlattenAtrousConv()(program)
    assert "use a pass of relax.transform" in str(error.value)

    @relay.transform.function_pass(opt_level=0)
    def mine(function: Any, module: Any, ctx: Any) -> Any:
        return function

    with pytest.raises(DiagnosticError, match="mine is a pass over Relay"):
        baton.transform.Sequential([mine])(program)


def test_modules_of_both_and_of_kernels_are_taken() -> None:
    """Guards pipelines over modules that hold no function of either language, or of both."""
    kernels = baton.IRModule({"kernel": kernel})
    both = baton.IRModule({"main": doubled, "other": of_relay()["main"]})
    for step in (relax.transform.FoldConstant(), relay.transform.FoldConstant(), tir.transform.Simplify()):
        assert len(step(kernels).functions) == len(step(baton.IRModule({})).functions) + 1
        assert len(step(both).functions) == 2
    tir.transform.Simplify()(of_relay())
