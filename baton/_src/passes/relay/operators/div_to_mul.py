"""DivToMul: division by a floating constant becomes multiplication by its reciprocal.

%x / 4f      becomes      %x * 0.25f
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, is_call
from baton._src.passes.relay.fold_constant import FoldConstant
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Constant, Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class DivToMul(RelayFunctionPass):
    """See the module's docstring. Division stays where the reciprocal is not finite or has lost digits: by zero, by
    numbers next to it, and by the largest ones."""

    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str | Pass, ...]] = (
        InferType(),
        FoldConstant(),
    )

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        build = Build()

        def rule(old: Any, new: Any) -> Any:
            if not is_call(new, "divide") or not isinstance(new.args[1], Constant):
                return None
            divisor = new.args[1].data
            if not divisor.dtype.is_float:
                return None
            with np.errstate(all="ignore"):
                reciprocal = (1 / divisor.data.astype(np.float64)).astype(divisor.data.dtype)
            if not np.isfinite(reciprocal).all() or (np.abs(reciprocal) < divisor.dtype.smallest_normal).any():
                return None
            return build.op("multiply", new.args[0], build.const(reciprocal, divisor.dtype))

        return rewrite(function, rule)
