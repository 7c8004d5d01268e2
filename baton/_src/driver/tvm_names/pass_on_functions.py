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
    """What `transform` makes of the functions whose names match from their beginning; the others stay as they are, and
    so do those that it removes. Private ones are public meanwhile: something that is not seen may call them.

    Functions that it adds are taken over. Error (a `ValueError`) for no match, if that is asked for.
    """

    transform: Pass
    func_name_regex: str
    error_if_no_function_matches_regex: bool = False

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        chosen = {v.name_hint: v for v in module.functions if re.match(self.func_name_regex, v.name_hint)}
        if not chosen and self.error_if_no_function_matches_regex:
            raise fail("api", f"no function of the module matches {self.func_name_regex!r}", kind=ValueError)
        if not chosen:
            return module
        private = {name for name, v in chosen.items() if "global_symbol" not in module.functions[v].attrs}
        exposed = {chosen[name]: module.functions[chosen[name]].with_attr("global_symbol", name) for name in private}
        changed = self.transform(module.with_functions({**module.functions, **exposed}))
        others = {v.name_hint for v in module.functions} - chosen.keys()
        made = {v: f for v, f in changed.functions.items() if v.name_hint not in others}
        made = {v: f.without_attr("global_symbol") if v.name_hint in private else f for v, f in made.items()}
        known = {v.name_hint for v in made}
        return changed.with_functions(
            {**made, **{v: f for v, f in module.functions.items() if v.name_hint not in known}}
        )
