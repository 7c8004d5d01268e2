"""`relay.Prelude`: lists, options, trees, tensor arrays, ready for use in a module."""

from __future__ import annotations

from baton._src.ir.module import IRModule
from baton._src.ops.catalogue import CATALOGUE
from baton._src.relay.prelude import load
from baton._src.relay.prelude.load import import_text


def import_from_std(module: IRModule, name: str) -> None:
    """Add a standard file to `module`, in place; `prelude.rly` is all of them that `Prelude` has."""
    if name.removesuffix(".rly") == "prelude":
        Prelude(module)
    else:
        Prelude.extend(module, import_text(name.removesuffix(".rly"), module, CATALOGUE))


class Prelude:
    """`Prelude(mod)` adds everything to `mod`, in place as in TVM; `prelude.mod` is the module."""

    def __init__(self, mod: IRModule | None = None) -> None:
        self.mod = mod if mod is not None else IRModule()
        self.extend(self.mod, load.Prelude(CATALOGUE, self.mod).module)

    @staticmethod
    def extend(mod: IRModule, extended: IRModule) -> None:
        """Add to the user's module what is new in `extended`."""
        known = {v.name_hint for v in mod.functions}
        for var, function in extended.functions.items():
            if var.name_hint not in known:
                mod.functions[var] = function
        mod.type_definitions.update(extended.type_definitions)

    def import_from_std(self, name: str) -> None:
        """Add one of the files (`nat.rly`, `gradient.rly`, ...)."""
        import_from_std(self.mod, name)
