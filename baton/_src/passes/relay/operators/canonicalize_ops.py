"""CanonicalizeOps: express operators by simpler ones where possible.

nn.bias_add(%x, %b, axis=1)      becomes      %x + expand_dims(%b, axis=1, num_newaxis=rank - 2)
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, is_call
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class CanonicalizeOps(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        build = Build()

        def rule(old: Any, new: Any) -> Any:
            if not is_call(new, "nn.bias_add"):
                return None
            x, bias = new.args
            rank = len(x.checked_type.shape)
            after = rank - 1 - new.attrs.axis % rank
            return build.op("add", x, build.op("expand_dims", bias, axis=1, num_newaxis=after) if after else bias)

        return rewrite(function, rule)
