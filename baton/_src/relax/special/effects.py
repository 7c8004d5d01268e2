"""Operators with an effect on the outside, and the null object: print, assert_op, null_value (facts §10)."""

from __future__ import annotations

from typing import Any

from baton._src.relax.check.deduce import check_condition
from baton._src.relax.check.report import STRUCT_INFO
from baton._src.relax.info import OBJECT_INFO, UNIT_INFO
from baton._src.relax.nodes import Call, StringImm
from baton._src.relax.special_op import SpecialOp
from baton._src.relax.struct_info import StructInfo
from baton._src.support.diagnostics import fail


def _infer_null(call: Call, context: Any) -> StructInfo:
    return OBJECT_INFO


def _infer_print(call: Call, context: Any) -> StructInfo:
    _want_format(call, 0)
    return UNIT_INFO


def _infer_assert(call: Call, context: Any) -> StructInfo:
    check_condition(call.args[0].struct_info, context, call.span, "the condition of assert_op")
    if len(call.args) > 1:
        _want_format(call, 1)
    return UNIT_INFO


def _want_format(call: Call, position: int) -> None:
    if not isinstance(call.args[position], StringImm):
        name = str(call.op.name).removeprefix("relax.")
        raise fail(
            STRUCT_INFO,
            f"{name}: argument {position} must be the format string, got {call.args[position]!r}",
            span=call.span,
        )


NULL_VALUE = SpecialOp("null_value", doc="the null object", infer=_infer_null, pure=True, arity=(0, 0))
PRINT = SpecialOp(
    "print", doc="write the values, formatted as Python's str.format does", infer=_infer_print, pure=False,
    arity=(1, None),
)  # fmt: skip
ASSERT_OP = SpecialOp(
    "assert_op", doc="end the program with the formatted text when the condition is false", infer=_infer_assert,
    pure=False, arity=(1, None),
)  # fmt: skip
