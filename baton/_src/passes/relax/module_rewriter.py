"""`ModuleRewriter`: a `BindingRewriter` of all functions of a module, which may add others: kernels, outlined parts.

class _Rewriter(ModuleRewriter):
    def rewrite_value(self, binding, value):
        kernel = self.add(self.unique_var("relu"), function)
        return Call(kernel, ...)

_Rewriter(module).rewritten()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Function


class ModuleRewriter(BindingRewriter):
    """See the module. `builder` has the module's functions and those that were added."""

    at: GlobalVar
    """The variable of the function that is rewritten."""

    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.module = module
        self.builder = BlockBuilder(module)
        self.context.functions = self.builder.context.functions

    def unique_var(self, name: str) -> GlobalVar:
        """A variable for a function to be added, with an unused name like `name`."""
        return GlobalVar(self.builder.get_unique_name(name))

    def add(self, var: GlobalVar, function: Any) -> GlobalVar:
        """Add a function to the module, or replace that of `var`."""
        self.builder.update_func(var, function)
        return var

    def rewritten(self, chosen: Callable[[GlobalVar, Function], bool] = lambda var, function: True) -> IRModule:
        """The module with each `chosen` Relax function rewritten, plus the functions that were added. The same object
        if no function changed.
        """
        changed: dict[GlobalVar, Function] = {}
        for var, function in self.module.functions.items():
            if isinstance(function, Function) and chosen(var, function):
                self.at = var
                changed[var] = self.function(function)
        if all(found is self.module.functions[var] for var, found in changed.items()):
            return self.module
        return self.module.with_functions({**self.builder.context.functions, **changed})
