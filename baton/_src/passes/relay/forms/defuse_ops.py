"""DefuseOps: calls of `Primitive` functions become their bodies again.

(fn (%p, Primitive=1) { exp(%p) + 1f })(%x)      becomes      exp(%x) + 1f
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.passes.relay.forms.inlining import inline_call
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class DefuseOps(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        def rule(old: GraphExpr, new: GraphExpr) -> Any:
            if isinstance(new, Call) and isinstance(new.op, Function) and new.op.attrs.get("Primitive"):
                return inline_call(new.op, new)
            return None

        return rewrite(function, rule)
