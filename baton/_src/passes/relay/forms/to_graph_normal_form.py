"""ToGraphNormalForm: lets become graph edges; the value replaces its variable everywhere.

    let %v1 = log(%x); add(%v1, %y)      becomes      add(log(%x), %y)

Lets of recursive functions stay, those of polymorphic functions that need their names (a node has one type), and lets
with effects (references), whose order matters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.effects import Effects
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.passes.relay.type_instances import needs_its_name
from baton._src.relay.expressions import walk, with_values
from baton._src.relay.nodes import Function, Let
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext


@dataclass(frozen=True)
class ToGraphNormalForm(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 1
    keeps_effects: ClassVar[bool] = True

    def rewriter(self, module: IRModule, ctx: PassContext) -> Callable[[Any], Any]:
        found = Effects(module)
        return lambda function: _rewritten(function, found.of_nodes(function))


def _rewritten(function: Function, effects: set[Any]) -> Any:
    order = walk(function)
    inlined = {n.var: n.value for n in order if isinstance(n, Let) and not _stays(n, effects)}
    for let in order:
        if isinstance(let, Let) and needs_its_name(let, order):
            inlined.pop(let.var, None)
    return with_values(function, order, inlined)


def _stays(let: Let, effects: set[Any]) -> bool:
    if let.value in effects:
        return True
    return isinstance(let.value, Function) and any(node is let.var for node in walk(let.value))
