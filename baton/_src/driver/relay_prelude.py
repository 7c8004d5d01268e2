"""`relay.Prelude`: lists, options, trees, tensor arrays, ready for use in a module."""

from __future__ import annotations

from baton._src.ir.module import IRModule
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.prelude import load
from baton._src.relay.prelude.load import import_text


class Prelude:
    """`Prelude(mod)` adds everything to `mod`, in place as in TVM; `prelude.mod` is the module."""

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = mod if mod is not None else IRModule()
        self._take(load.Prelude(CATALOGUE, self.mod).module)

    def _take(self, extended: IRModule) -> None:
        """Add to the user's module what is new in `extended`."""
        known = {v.name_hint for v in self.mod.functions}
        for var, function in extended.functions.items():
            if var.name_hint not in known:
                self.mod.functions[var] = function
        self.mod.type_definitions.update(extended.type_definitions)

    def import_from_std(self, name: str) -> None:
        """Add one of the files (`nat.rly`, `gradient.rly`, ...)."""
        self._take(import_text(name.removesuffix(".rly"), self.mod, CATALOGUE))
