"""Attributes of Relax operators in TVM's registry that scripts set.

register_op_attr("relax.add", "FLegalize", lambda builder, call: builder.call_te(mine, *call.args))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.filled_columns import LEGALIZE
from baton._src.ops.catalogue import CATALOGUE
from baton._src.passes.relax.te_gradients import register_gradient
from baton._src.support.diagnostics import fail

_FIXED = (
    "FInferStructInfo", "FCallPacked", "FRelaxInferLayout", "FInferMixedPrecision", "TMixedPrecisionPolicy",
    "FNormalize", "FValidate", "FPurity", "FLowerBuiltin", "FDataDependent", "RequiresArgumentShapes",
)  # fmt: skip
"""Columns of TVM that here are part of an operator's definition."""


def fill_relax_column(op_name: str, attr_key: str, value: Any, level: int) -> None:
    """Fill a column of an operator there is; `DiagnosticError` for others, and for columns that nobody would read."""
    op = CATALOGUE.relax(op_name)
    if attr_key in _FIXED:
        help = "FLegalize and FPrimalGradient can be registered; R.call_dps_packed calls functions of your own"
        raise fail("op-column", f"{attr_key} of {op_name} is part of baton's definition of the operator", help=help)
    if attr_key == "FPrimalGradient":
        register_gradient(op_name, value, level)
    op.set_attr(attr_key, value, level)


def register_legalize(op_name: str, legal_func: Callable[..., Any] | None = None) -> Any:
    """Let `legal_func(builder, call)` say what a call of the operator becomes in `LegalizeOps`; a decorator without
    one. TVM has it as `relax.transform.legalize_ops.common.register_legalize`.
    """

    def registered(rule: Callable[..., Any]) -> Callable[..., Any]:
        fill_relax_column(op_name, LEGALIZE, rule, 10)
        return rule

    return registered if legal_func is None else registered(legal_func)
