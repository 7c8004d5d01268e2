"""SimplifyExpr: simplify chains and identities. SimplifyExprPostAlterOp: those that layout changes introduce.

    x + 0, x - 0, x * 1, x / 1, also with zeros(...) and ones_like(y)        x

and the rules of `simplify_chains` and `simplify_arithmetic`. Values are the same, except for the sign of zeros and the
rounding order of floats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from baton._src.ir.expr import GraphExpr
from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, dtype_of, is_call, shape_of
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.operators import simplify_arithmetic
from baton._src.passes.relay.operators.simplify_chains import casts, reshapes, transposes
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Call, Constant, Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

MAX_STEPS = 8
"""Most rules that are applied to one call, one after another."""

NEUTRAL: dict[str, tuple[float, bool]] = {
    "add": (0, True),
    "subtract": (0, False),
    "multiply": (1, True),
    "divide": (1, False),
}
"""The neutral element of each operator, and whether it may also be the left operand."""
FILLED = {0: ("zeros", "zeros_like"), 1: ("ones", "ones_like")}
"""Operators that make tensors filled with these numbers."""

Rule = Callable[[Build, Call], Any]


@dataclass(frozen=True)
class SimplifyExpr(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        return _simplified(function, _RULES)


@dataclass(frozen=True)
class SimplifyExprPostAlterOp(RelayFunctionPass):
    """See the module's docstring."""

    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        return _simplified(function, _RULES_BEHIND_LAYOUTS)


def _simplified(function: Function, rules: Sequence[Rule]) -> Any:
    build = Build()

    def step(old: GraphExpr, new: GraphExpr) -> Any:
        found = new
        for _ in range(MAX_STEPS):  # what one rule makes may be what another looks for
            made = next((m for rule in rules if (m := _tried(rule, build, found)) is not None), None)
            if made is None:
                break
            found = made
        return found if found is not new else None

    return rewrite(function, step)


def _tried(rule: Rule, build: Build, expr: GraphExpr) -> Any:
    return rule(build, expr) if isinstance(expr, Call) else None


def _identity_arithmetic(build: Build, call: Call) -> Any:
    for name, (neutral, commutes) in NEUTRAL.items():
        if is_call(call, name):
            left, right = call.args
            if _is_made_of(right, neutral) and _keeps_type(left, call):
                return left
            if commutes and _is_made_of(left, neutral) and _keeps_type(right, call):
                return right
    return None


def _is_made_of(expr: GraphExpr, number: float) -> bool:
    """Whether an operand is this number, or a tensor filled with it."""
    if isinstance(expr, Constant):
        return expr.data.data.size == 1 and bool(expr.data.data.reshape(()).item() == number)
    return is_call(expr, *FILLED[int(number)])


def _keeps_type(operand: Any, call: Call) -> bool:
    shape = shape_of(operand)
    return shape is not None and shape == shape_of(call) and dtype_of(operand) == dtype_of(call)


_RULES: tuple[Rule, ...] = (_identity_arithmetic, reshapes, transposes, casts, *simplify_arithmetic.RULES)
_RULES_BEHIND_LAYOUTS: tuple[Rule, ...] = (
    _identity_arithmetic,
    reshapes,
    casts,
    simplify_arithmetic.needless_clip,
    simplify_arithmetic.cast_of_clipped,
)
