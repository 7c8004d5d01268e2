"""Normalize and NormalizeGlobalVar: bring functions into normal form, and make names agree with symbols.

gv = R.add(R.exp(x), y)      ->      lv = R.exp(x); gv = R.add(lv, y)
"""

from __future__ import annotations

from baton._src.ir.global_names import normalize_global_vars
from baton._src.ir.module import IRModule
from baton._src.relax.block_builder import BlockBuilder
from baton._src.relax.nodes import Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class Normalize(Pass):
    """Bring every function into normal form, with its StructInfo. Normal functions stay the same objects."""

    opt_level = 1

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        changed = {}
        for var, function in module.functions.items():
            if isinstance(function, Function):
                found = BlockBuilder(module).normalize(function)
                if found is not function:
                    changed[var] = found
        return module.with_functions({**module.functions, **changed}) if changed else module


@dataclass(frozen=True)
class NormalizeGlobalVar(Pass):
    """Name every public function by its `global_symbol`; private functions in the way get new names."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return normalize_global_vars(module)
