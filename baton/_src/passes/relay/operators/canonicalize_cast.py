"""CanonicalizeCast: a cast to a wider dtype whose result several operators use is repeated at each of them.

    %1 = cast(%x, "int32"); (f(%1), g(%1))      becomes      (f(cast(%x)), g(cast(%x)))

so that each use can fuse its own cast, and the tensor in memory is the narrow one.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import dtype_of, is_call
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Function
from baton._src.relay.scopes import Scopes
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class CanonicalizeCast(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        scopes = Scopes(function)

        def rule(old: Any, new: Any) -> Any:
            if not isinstance(new, Call) or is_call(new, "cast"):
                return None
            before = old.args
            args = [a.copy() if _widens(b) and scopes.shared(b) else a for a, b in zip(new.args, before)]
            return new.with_fields(args=tuple(args)) if any(x is not y for x, y in zip(args, new.args)) else None

        return rewrite(function, rule)


def _widens(expr: Any) -> bool:
    return is_call(expr, "cast") and dtype_of(expr).bits > dtype_of(expr.args[0]).bits
