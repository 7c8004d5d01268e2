"""SplitArgs: a concatenation of very many tensors becomes a tree of concatenations, for targets whose kernels take few
arguments.

concatenate((%a, %b, %c, %d))    with two at most:    concatenate((concatenate((%a, %b)), concatenate((%c, %d))))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, is_call
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Tuple
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class SplitArgs(RelayFunctionPass):
    """See the module's docstring. A limit below two is none."""

    opt_level: ClassVar[int] = 1
    max_function_args: int

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        if self.max_function_args < 2:
            return function
        build = Build()

        def rule(old: Any, new: Any) -> Any:
            if not is_call(new, "concat") or not isinstance(new.args[0], Tuple):
                return None
            fields = list(new.args[0].fields)
            if len(fields) <= self.max_function_args:
                return None
            while len(fields) > self.max_function_args:
                groups = [fields[i : i + self.max_function_args] for i in range(0, len(fields), self.max_function_args)]
                fields = [g[0] if len(g) == 1 else self._joined(build, new, g) for g in groups]
            return self._joined(build, new, fields)

        return rewrite(function, rule)

    def _joined(self, build: Build, call: Any, fields: list[Any]) -> Any:
        return build.call(call.with_fields(args=(build.tuple(*fields),)))
