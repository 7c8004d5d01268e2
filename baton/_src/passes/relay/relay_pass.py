"""The bases of Relay's passes: over one function at a time, or over the whole module with types inferred."""

from __future__ import annotations

from typing import ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.effect_lets import effects_in_lets
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.nodes import Function
from baton._src.transform.context import PassContext
from baton._src.transform.passes import FunctionPass


class RelayFunctionPass(FunctionPass):
    """Transforms each Relay function separately. With `typed`, functions are passed, and returned, with types, and what
    has effects is bound by lets: whatever the pass does with the graph between, their order stays."""

    function_class: ClassVar[type] = Function
    typed: ClassVar[bool] = True
    keeps_effects: ClassVar[bool] = False
    """Whether the pass takes care of effects in the graph itself."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        if not self.typed:
            return super().run(module, ctx)
        module = infer_type(module)
        return infer_type(super().run(module if self.keeps_effects else effects_in_lets(module), ctx))

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Function:
        """The function rewritten; the same object if nothing changed."""
        raise NotImplementedError
