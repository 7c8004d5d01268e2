"""Passes that users' passes require by name."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.driver.passes_by_name import find_pass
from baton._src.driver.wiring import wire
from baton._src.support.diagnostics import DiagnosticError
from baton._src.transform.context import PassContext
from baton._src.transform.decorators import module_pass
from baton._src.transform.instruments import PassInstrument
from baton._src.transform.passes import Sequential
from tests.passes.relax.programs import R, program, tensor


class Order(PassInstrument):
    """Notes the passes that run."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def run_before_pass(self, module: Any, info: Any) -> None:
        self.names.append(info.name)


def test_required_passes_run_first() -> None:
    wire()

    @module_pass(opt_level=0, required=["LegalizeOps", "DeadCodeElimination"])
    def mine(module: Any, ctx: Any) -> Any:
        return module

    order = Order()
    with PassContext(instruments=[order]):
        Sequential([mine])(program([tensor("x", 2)], lambda b, x: R.exp(x)))
    assert order.names == ["sequential", "LegalizeOps", "DeadCodeElimination", "mine"]


def test_names_of_either_language() -> None:
    assert find_pass("InferType").name == "InferType"
    assert find_pass("FoldConstant").name == "FoldConstant"
    assert find_pass("tir.Simplify").name == "tir.Simplify"
    with pytest.raises(DiagnosticError, match="'Nothing', but there is no such pass"):
        find_pass("Nothing")
    with pytest.raises(DiagnosticError, match="no default options"):
        find_pass("BindParams")
