"""AttachExternModules: make the functions of an `nn` model's external modules callable.

    module, params, extern_modules = model.export_tvm(spec, allow_extern=True)
    module = relax.transform.AttachExternModules(extern_modules)(module)

`load()` of each is called. What it gives joins the module attribute `external_mods`. Of its functions (it is a module
that `baton.build` gives, or a mapping) those that the external module names are registered under their names. What it
does not have is provided by something else when the program runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from baton._src.frontends.nn.extern import ExternModule
from baton._src.ir.module import IRModule
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.packed_func import PROCESS_FUNCTIONS, FunctionTable, PackedFunc


@dataclass(frozen=True)
class AttachExternModules(Pass):
    """See the module. `table`: where functions go. Error `api`: one of the modules is no `nn.ExternModule`."""

    extern_modules: Sequence[ExternModule]
    table: FunctionTable = field(default=PROCESS_FUNCTIONS)

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        loaded = [self._loaded(extern) for extern in self.extern_modules]
        if not loaded:
            return module
        return module.with_attr("external_mods", [*module.attrs.get("external_mods", []), *loaded])

    def _loaded(self, extern: ExternModule) -> Any:
        """The loaded external module; its functions are registered."""
        if not isinstance(extern, ExternModule):
            raise fail("api", f"AttachExternModules takes nn.ExternModules, not a {type(extern).__name__}")
        found = extern.load()
        for symbol in extern.symbols:
            code = _function(found, symbol)
            if code is not None:
                self.table.register(symbol, code if isinstance(code, PackedFunc) else PackedFunc(code, symbol), True)
        return found


def _function(found: Any, symbol: str) -> Any:
    """A function of what was loaded; None if it has none of this name."""
    if isinstance(found, Mapping):
        return found.get(symbol)
    has = getattr(found, "implements_function", None)
    return found.get_function(symbol) if has is not None and has(symbol) else None
