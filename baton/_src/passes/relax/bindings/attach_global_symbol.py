"""AttachGlobalSymbol: every Relax function and kernel gets its own name as `global_symbol`.

It is the last pass of pipelines: afterwards private functions cannot be distinguished from public ones. In a module
with the attribute `system_lib_prefix` kernels, and their calls, get names with this prefix, so that several such
modules can be in one library.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import substitute
from baton._src.relax.nodes import Function
from baton._src.support.dataclass import dataclass
from baton._src.tir.prim_func import PrimFunc
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class AttachGlobalSymbol(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        prefix = str(module.attrs.get("system_lib_prefix", ""))
        if prefix:
            module = _with_prefix(module, prefix)
        changed = {
            var: function.with_attr("global_symbol", var.name_hint)
            for var, function in module.functions.items()
            if isinstance(function, (Function, PrimFunc)) and function.attrs.get("global_symbol") != var.name_hint
        }
        return module.with_functions({**module.functions, **changed}) if changed else module


def _with_prefix(module: IRModule, prefix: str) -> IRModule:
    """The module with the names of kernels, and what calls them, changed; those that have the prefix already stay."""
    renamed: dict[Any, GlobalVar] = {
        var: GlobalVar(f"{prefix}{var.name_hint}").with_fields(struct_info_=var.struct_info_)
        for var, function in module.functions.items()
        if isinstance(function, PrimFunc) and not var.name_hint.startswith(prefix)
    }
    functions = {renamed.get(v, v): substitute(f, renamed) for v, f in module.functions.items()}
    return module.with_functions(functions) if renamed else module
