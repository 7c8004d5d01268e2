"""RemoveStandaloneReshapes: calls of functions that only change the shape become the reshape itself.

    (fn (%p, Primitive=1) { reshape(%p, newshape=[6]) })(%x)        becomes        reshape(%x, newshape=[6])

A fused function that is nothing but reshapes would be a kernel that copies; as an operator it is a view.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, is_call, shape_of
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext

RESHAPES = ("reshape", "squeeze", "expand_dims", "nn.batch_flatten", "reshape_like")


@dataclass(frozen=True)
class RemoveStandaloneReshapes(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 0

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        build = Build()

        def rule(old: GraphExpr, new: GraphExpr) -> Any:
            if not isinstance(new, Call) or not isinstance(new.op, Function) or not new.op.attrs.get("Primitive"):
                return None
            shape, inner = shape_of(old), new.op.body
            while is_call(inner, *RESHAPES):
                inner = inner.args[0]
            if shape is None or inner not in new.op.params or inner is new.op.body:
                return None
            return build.op("reshape", new.args[new.op.params.index(inner)], newshape=shape)

        return rewrite(function, rule)
