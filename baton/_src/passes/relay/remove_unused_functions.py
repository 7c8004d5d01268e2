"""RemoveUnusedFunctions: keep only functions reachable from the entries, in one traversal.

@main -> @f    @g        becomes        @main -> @f
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from baton._src.ir.module import IRModule
from baton._src.relay.expressions import global_vars
from baton._src.relay.nodes import Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class RemoveUnusedFunctions(Pass):
    """`entry_functions` (None: `main`, if there is one) are reachable by definition; functions of other languages stay.

    Error `module-missing`: the module has no function of such a name.
    """

    opt_level: ClassVar[int] = 1
    entry_functions: Sequence[str] | None = None

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        by_name = {v.name_hint: v for v in module.functions}
        wanted = [n for n in ("main",) if n in by_name] if self.entry_functions is None else self.entry_functions
        todo = [module.get_global_var(name) for name in wanted]
        reached = set(todo)
        while todo:
            function = module.functions[todo.pop()]
            for name in global_vars(function) if isinstance(function, Function) else ():
                var = by_name.get(name.name_hint)
                if var is not None and var not in reached:
                    reached.add(var)
                    todo.append(var)
        kept = {v: f for v, f in module.functions.items() if v in reached or not isinstance(f, Function)}
        return module if len(kept) == len(module.functions) else module.with_functions(kept)
