"""The gradient rule of an operator: the one that a script registered, else its own.

@register_gradient("round", level=20)       # straight through
def _(call, grad): return [grad]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import Op
from baton._src.ir.node import set_note
from baton._src.ir.op_def import NotApplicable
from baton._src.passes.relay.building import Build
from baton._src.relay.nodes import Call
from baton._src.support.diagnostics import fail

Rule = Callable[[Build, tuple[Any, ...], Any, Any, Any], Any]
"""`rule(build, typed arguments, attributes, the typed call, the result's gradient)`: a gradient for each argument."""


def gradient_rule(op: Op) -> Rule | NotApplicable:
    """What differentiates calls of `op`."""
    registered = (op.columns or {}).get("FPrimalGradient")
    if registered is None:
        own: Rule | NotApplicable = op.definition.gradient
        return own
    function = registered[0]

    def rule(build: Build, args: tuple[Any, ...], attrs: Any, out: Any, grad: Any) -> list[Any]:
        call = Call(op, args, attrs, span=out.span)
        set_note(call, "checked_type_", out.checked_type_)
        found = list(function(call, grad))
        if len(found) != len(args):
            message = f"the gradient registered for {op.name} gives {len(found)} gradients of {len(args)} arguments"
            raise fail("relay-gradient", message, span=out.span)
        return [build.typed(piece) for piece in found]

    return rule
