"""`relax.ir.instrument`: check that every pass is given, and gives, a well-formed module."""

from __future__ import annotations

from baton._src.ir.module import IRModule
from baton._src.relax.well_formed import well_formed
from baton._src.support.diagnostics import Severity
from baton._src.transform.context import PassInfo
from baton._src.transform.instruments import PassInstrument

_MAKE_IT_SO = frozenset({"Normalize", "NormalizeGlobalVar", "ResolveGlobals"})
"""The passes that are there to make a module well-formed."""


class WellFormedInstrument(PassInstrument):
    """Checks the modules before and after passes. Errors: `AssertionError`, with what is wrong."""

    def run_before_pass(self, module: IRModule, info: PassInfo) -> None:
        self._check(module, "before", info.name)

    def run_after_pass(self, module: IRModule, info: PassInfo) -> None:
        self._check(module, "after", info.name)

    def _check(self, module: IRModule, when: str, name: str) -> None:
        found = [] if name in _MAKE_IT_SO else well_formed(module, nested=False)
        errors = [d for d in found if d.severity is Severity.ERROR]
        if errors:
            listed = "\n".join(d.render() for d in errors)
            raise AssertionError(f"the module is not well-formed {when} the pass {name}:\n{listed}")
