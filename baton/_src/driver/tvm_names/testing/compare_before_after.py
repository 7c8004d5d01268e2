"""`tvm.testing.CompareBeforeAfter`: a test written as a program before a pass and the expected program after it.

class TestFold(tvm.testing.CompareBeforeAfter):
    transform = tvm.tir.transform.Simplify()

    def before(A: T.Buffer(1, "int32")):
        A[0] = 1 + 2

    def expected(A: T.Buffer(1, "int32")):
        A[0] = 3
"""

from __future__ import annotations

import importlib
import inspect
from typing import Any, ClassVar

from baton._src.driver.tvm_names.tir.schedule_testing import assert_structural_equal_ignore_global_symbol
from baton._src.ir.module import IRModule
from baton._src.ir.node import Node
from baton._src.relax.nodes import Function
from baton._src.script.decorators import IR_MODULE, PRIM_FUNC
from baton._src.script.entrance import read_object
from baton._src.script.options import Decorator, Options
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.passes import Pass


class CompareBeforeAfter:
    """`before` and `expected` are functions (plain, they are read as TVMScript), modules, or methods that give them;
    `transform` is a pass or a method that gives one. `expected` may be the kind of error that is raised instead.
    """

    check_well_formed: ClassVar[bool] = True
    """Whether the programs that are read are checked."""
    transform: ClassVar[Any]

    def __init_subclass__(cls) -> None:
        for name in ("before", "expected"):
            if name in vars(cls):
                setattr(cls, name, _program_fixture(vars(cls)[name]))
        if "transform" in vars(cls):
            cls.transform = _pass_fixture(vars(cls)["transform"])

    def test_compare(self, before: Any, expected: Any, transform: Any) -> None:
        """Run the pass and compare."""
        if inspect.isclass(expected) and issubclass(expected, Exception):
            with importlib.import_module("pytest").raises(expected):
                transform(_module(before))
            return
        assert_structural_equal_ignore_global_symbol(transform(_module(before)), _module(expected))


def _fixture(give: Any) -> Any:
    return importlib.import_module("pytest").fixture(give)


def _is_fixture(given: Any) -> bool:
    """Whether pytest has made it a fixture: functions carry a mark up to its version 8.3, then there is a class."""
    return hasattr(given, "_pytestfixturefunction") or type(given).__name__ == "FixtureFunctionDefinition"


def _takes_self(function: Any) -> bool:
    return inspect.isfunction(function) and "self" in inspect.signature(function).parameters


def _program_fixture(given: Any) -> Any:
    if _is_fixture(given):
        return given
    if _takes_self(given):
        return _fixture(given)
    if inspect.isfunction(given):
        return _fixture(lambda self: read_object(given, _options(PRIM_FUNC, self), given.__globals__))
    if inspect.isclass(given) and not issubclass(given, (Exception, Node)):
        return _fixture(lambda self: _options(IR_MODULE, self)(given))
    return _fixture(lambda self: given)


def _options(decorator: Decorator, test: Any) -> Options:
    return Options(decorator, check_well_formed=test.check_well_formed)


def _pass_fixture(given: Any) -> Any:
    if _is_fixture(given):
        return given
    if isinstance(given, Pass):
        return _fixture(lambda self: given)
    if _takes_self(given):
        return _fixture(given)
    raise TypeError(f"transform must be a pass or a method that returns one, got a {type(given).__name__}")


def _module(program: Any) -> Any:
    return IRModule({"main": program}) if isinstance(program, (PrimFunc, Function)) else program
