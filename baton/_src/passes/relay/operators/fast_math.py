"""FastMath: exp, tanh, erf and softmax become their approximations, where the catalogue has them."""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relay.building import is_call
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

FAST = {"exp": "fast_exp", "tanh": "fast_tanh", "erf": "fast_erf", "nn.softmax": "nn.fast_softmax"}


@dataclass(frozen=True)
class FastMath(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 4
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        def rule(old: Any, new: Any) -> Any:
            if is_call(new, *FAST):
                fast = FAST[new.op.definition.name]
                if fast in CATALOGUE:
                    return new.with_fields(op=CATALOGUE.relay(fast))
            return None

        return rewrite(function, rule)
