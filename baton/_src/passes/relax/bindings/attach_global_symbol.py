"""AttachGlobalSymbol: every Relax function and kernel without a `global_symbol` gets its own name as one.

It ends the pipelines: from then on nothing distinguishes private functions from public ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from baton._src.ir.module import IRModule
from baton._src.relax.nodes import Function
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class AttachGlobalSymbol(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        changed = {
            var: function.with_attr("global_symbol", var.name_hint)
            for var, function in module.functions.items()
            if isinstance(function, (Function, PrimFunc)) and "global_symbol" not in function.attrs
        }
        return module.with_functions({**module.functions, **changed}) if changed else module
