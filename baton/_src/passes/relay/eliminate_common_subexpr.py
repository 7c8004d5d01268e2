"""EliminateCommonSubexpr: calls of the same operator with the same attributes and arguments become one node.

    a = b + c;  d = b + c        becomes      a = d = b + c

Arguments are compared by identity, scalars by value. Calls without arguments, of functions, and of stateful operators
are left alone; `fskip(expr)` exempts more. Projections of one tuple with one index merge too. Source: seed 003.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from baton._src.ir.expr import GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.passes.relay.effects import is_stateful
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Constant, Function, TupleGetItem
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class EliminateCommonSubexpr(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 3
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)
    fskip: Callable[[Any], bool] | None = None

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        known: dict[Any, list[Any]] = {}

        def rule(old: GraphExpr, new: GraphExpr) -> Any:
            key = _key(new)
            if key is None or (self.fskip is not None and self.fskip(new)):
                return None
            for candidate in known.setdefault(key, []):
                if _same_attributes(candidate, new):
                    return candidate
            known[key].append(new)
            return None

        return rewrite(function, rule)


def _key(node: Any) -> Any:
    """A key that equal expressions share, with the text of their attributes: one tensor may be sliced a thousand times.
    None for expressions that must not be merged.
    """
    if isinstance(node, TupleGetItem):
        return node.tuple_value, node.index
    if not isinstance(node, Call) or not node.args or not isinstance(node.op, Op) or is_stateful(node.op):
        return None
    return node.op, tuple(_argument(a) for a in node.args), repr(node.attrs)


def _argument(arg: Any) -> Any:
    if isinstance(arg, Constant) and arg.data.shape == ():
        return str(arg.data.dtype), arg.data.data.tobytes()
    return arg


def _same_attributes(left: Any, right: Any) -> bool:
    if isinstance(left, TupleGetItem):
        return True
    return left.attrs is right.attrs or structural_equal(left.attrs, right.attrs)  # 0.0 == -0.0, but not here
