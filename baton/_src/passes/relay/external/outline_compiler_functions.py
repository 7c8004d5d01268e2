"""Outline functions for external compilers as functions of the module; inline the composite functions within them; mark
those whose compilation is done.

    (fn (%a, Compiler="mine", global_symbol="mine_0") { exp(%a) })(%x)      becomes      @mine_0(%x)
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.attrs import DictAttrs
from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.passes.relay.external.external_regions import is_composite
from baton._src.passes.relay.external.partition_graph import compiler_of
from baton._src.passes.relay.forms.inlining import inline_call
from baton._src.relay.analysis import free_vars
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Function
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class OutlineCompilerFunctionsWithExistingGlobalSymbols(Pass):
    """Functions for `compiler_filter` (any compiler, if empty) that have a `global_symbol`. Error `api`: the module has
    another function of that name.
    """

    opt_level: ClassVar[int] = 0
    compiler_filter: str = ""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        outlined: dict[str, tuple[GlobalVar, Function]] = {}

        def rule(old: GraphExpr, new: GraphExpr) -> Any:
            function = new.op if isinstance(new, Call) else None
            if not isinstance(function, Function) or "global_symbol" not in function.attrs:
                return None
            compiler = compiler_of(function)
            if not compiler or self.compiler_filter not in ("", compiler) or free_vars(function):
                return None
            name = str(function.attrs["global_symbol"])
            var, known = outlined.setdefault(name, (GlobalVar(name), function))
            if known is not function or name in module:
                raise fail("api", f"@{name} is defined already", span=new.span, help="give each a global_symbol")
            return new.with_fields(op=var)

        made = {v: rewrite(f, rule) if isinstance(f, Function) else f for v, f in module.functions.items()}
        return infer_type(module.with_functions({**made, **dict(outlined.values())}))


@dataclass(frozen=True)
class InlineComposites(Pass):
    """In the functions for the compiler `target` (all, if empty) calls of composite functions become their bodies."""

    opt_level: ClassVar[int] = 0
    target: str = ""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        def rule(old: GraphExpr, new: GraphExpr) -> Any:
            if isinstance(new, Call) and is_composite(new.op):
                return inline_call(new.op, new)
            return None

        made = dict(module.functions)
        for var, function in module.functions.items():
            compiler = compiler_of(function)
            if compiler and self.target in ("", compiler):
                made[var] = rewrite(function, rule)
        return infer_type(module.with_functions(made))


@dataclass(frozen=True)
class MarkCompilerFunctionsAsExtern(Pass):
    """Functions of the module for `compiler_filter` (any compiler, if empty) lose their attributes and get `Extern`:
    they are compiled, and code that looks for `Compiler` skips them. Their bodies still define their meaning.
    """

    opt_level: ClassVar[int] = 0
    compiler_filter: str = ""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        made = dict(module.functions)
        for var, function in module.functions.items():
            compiler = compiler_of(function)
            if compiler and self.compiler_filter in ("", compiler):
                made[var] = function.with_fields(attrs=DictAttrs(Extern=1))
        return module.with_functions(made)


__all__ = ["InlineComposites", "MarkCompilerFunctionsAsExtern", "OutlineCompilerFunctionsWithExistingGlobalSymbols"]
