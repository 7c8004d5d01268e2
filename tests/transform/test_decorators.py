"""Passes made of users' functions and classes."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import DiagnosticError
from baton._src.transform.context import PassContext
from baton._src.transform.decorators import UserModulePass, module_pass
from baton._src.transform.passes import Pass, Sequential


@pytest.mark.rule("RELAY-PASS-06")
def test_functions_and_classes_become_passes() -> None:
    @module_pass(opt_level=1)
    def mark(module: IRModule, ctx: PassContext) -> IRModule:
        return IRModule(attrs={**module.attrs, "level": ctx.opt_level})

    @module_pass(opt_level=0, name="Named")
    class Adder:
        def __init__(self, key: str) -> None:
            self.key = key

        def transform_module(self, module: IRModule, ctx: PassContext) -> IRModule:
            return IRModule(attrs={**module.attrs, self.key: 1})

    adder = Adder("x")
    assert isinstance(mark, Pass)
    assert isinstance(adder, UserModulePass)
    assert (mark.info.name, mark.info.opt_level, adder.info.name) == ("mark", 1, "Named")
    with PassContext(opt_level=3):
        assert Sequential([mark, adder])(IRModule()).attrs == {"level": 3, "x": 1}


@pytest.mark.rule("RELAY-PASS-06", rejects=True)
def test_a_pass_must_return_a_module() -> None:
    @module_pass(opt_level=0)
    def wrong(module: IRModule, ctx: PassContext) -> Any:
        return 3

    with pytest.raises(DiagnosticError, match="wrong returned int, not an IRModule"):
        wrong(IRModule())


def test_errors_of_users_passes_travel_unchanged() -> None:
    @module_pass(opt_level=0)
    def careless(module: IRModule, ctx: PassContext) -> IRModule:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        careless(IRModule())


def test_mistakes_in_declarations() -> None:
    with pytest.raises(DiagnosticError, match="needs an opt_level"):
        module_pass(lambda module, ctx: module)
    with pytest.raises(DiagnosticError, match="needs a method transform_module"):

        @module_pass(opt_level=1)
        class Empty:
            pass
