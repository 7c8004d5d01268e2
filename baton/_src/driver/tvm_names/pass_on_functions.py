"""`tvm.ir.transform.ApplyPassToFunction`: a pass of modules, for some functions only."""

from __future__ import annotations

import re

from baton._src.ir.module import IRModule
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class ApplyPassToFunction(Pass):
    """What `transform` makes of the functions whose whole names match; the others stay as they are.

    Functions that it adds are taken over. Error (a `ValueError`) for no match, if that is asked for.
    """

    transform: Pass
    func_name_regex: str
    error_if_no_function_matches_regex: bool = False

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        chosen = {v.name_hint for v in module.functions if re.fullmatch(self.func_name_regex, v.name_hint)}
        if not chosen and self.error_if_no_function_matches_regex:
            raise fail("api", f"no function of the module matches {self.func_name_regex!r}", kind=ValueError)
        if not chosen:
            return module
        changed = self.transform(module)
        kept = {v: f for v, f in module.functions.items() if v.name_hint not in chosen}
        known = {v.name_hint for v in kept}
        made = {v: f for v, f in changed.functions.items() if v.name_hint not in known}
        return changed.with_functions({**made, **kept})
