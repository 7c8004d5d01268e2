"""The functions that create patterns (names of `tvm.relax.dpl`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.ir.expr import Op
from baton._src.relax.patterns import context as _context  # noqa: F401  (binds what patterns can do)
from baton._src.relax.patterns.nodes import (
    AndPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataflowVarPattern,
    DataTypePattern,
    DFPattern,
    ExprPattern,
    ExternFuncPattern,
    FunctionPattern,
    GlobalVarPattern,
    NotPattern,
    OrPattern,
    PrimArrPattern,
    SameShapeConstraint,
    ShapePattern,
    StructInfoPattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    UnorderedTuplePattern,
    VarPattern,
    WildcardPattern,
)
from baton._src.relax.special_ops import SPECIAL_OPS, special_op
from baton._src.support.diagnostics import fail


def wildcard() -> WildcardPattern:
    """Matches any expression."""
    return WildcardPattern()


def is_expr(expr: Any) -> ExprPattern:
    """Matches this expression, or one structurally equal to it."""
    return ExprPattern(expr)


def is_op(op_name: str) -> ExprPattern:
    """The operator of this name ("relax.add"). It is called with its arguments: `is_op("relax.add")(a, b)`."""
    neutral = op_name.removeprefix("relax.")
    if not op_name.startswith("relax."):
        raise fail("api", f"there is no Relax operator {op_name!r}", help=f'is it "relax.{op_name}"?')
    return ExprPattern(special_op(neutral) if neutral in SPECIAL_OPS else Op(op_name))


def is_var(name: str = "") -> VarPattern:
    """Matches a variable, of this name if one is given."""
    return VarPattern(name)


def is_dfv(name: str = "") -> DataflowVarPattern:
    """A DataflowVar."""
    return DataflowVarPattern(name)


def is_gv(name: str = "") -> GlobalVarPattern:
    """Matches a function of the module whose name contains `name`."""
    return GlobalVarPattern(name)


def is_const() -> ConstantPattern:
    """A constant."""
    return ConstantPattern()


def is_shape(shape: Sequence[Any]) -> PrimArrPattern:
    """A shape of these dims."""
    return PrimArrPattern(shape)


def is_tuple(fields: Sequence[DFPattern], unordered: bool = False) -> TuplePattern | UnorderedTuplePattern:
    """A tuple."""
    if not isinstance(fields, (list, tuple)):
        raise fail("api", f"is_tuple takes a list or tuple of patterns, got {type(fields).__name__}", kind=ValueError)
    return UnorderedTuplePattern(tuple(fields)) if unordered else TuplePattern(tuple(fields))


def is_tuple_get_item(tuple_value: DFPattern, index: int | None = None) -> TupleGetItemPattern:
    """A field of a tuple, any without `index`."""
    return TupleGetItemPattern(tuple_value, index)


def _arguments(args: Sequence[DFPattern] | DFPattern | None) -> DFPattern:
    if args is None:
        return wildcard()
    return args if isinstance(args, DFPattern) else TuplePattern(tuple(args))


def is_call_tir(func_name: str | DFPattern, args: Any = None, tir_vars: DFPattern | None = None) -> CallPattern:
    """call_tir of a kernel whose name contains this one (of any, if it is empty) with these arguments (any, without
    `args`)."""
    callee = func_name if isinstance(func_name, DFPattern) else GlobalVarPattern(func_name)
    trailing = () if tir_vars is None else (tir_vars,)
    return CallPattern(is_op("relax.call_tir"), (callee, _arguments(args), *trailing), add_constraint=False)


def is_call_dps_packed(func_name: str, args: Any = None) -> CallPattern:
    """call_dps_packed of the packed function of this name (any, if it is empty)."""
    callee: DFPattern = ExternFuncPattern(func_name) if func_name else wildcard()
    return CallPattern(is_op("relax.call_dps_packed"), (callee, _arguments(args)), add_constraint=False)


is_call_tir_extern = is_call_dps_packed
"""The former name of `is_call_dps_packed`."""


def is_call_packed(func_name: str, args: Sequence[DFPattern] | None = None) -> CallPattern:
    """A call of the packed function of this name."""
    return CallPattern(ExternFuncPattern(func_name), tuple(args or ()), args is None, args is not None)


def reject(pattern: DFPattern) -> NotPattern:
    """Matches anything that `pattern` does not match."""
    return NotPattern(pattern)


def has_attr(attrs: Mapping[str, Any], pattern: DFPattern | None = None) -> AttrPattern:
    """Matches what `pattern` matches (default: anything), if it has these attributes."""
    return (pattern or wildcard()).has_attr(attrs)


def has_dtype(dtype: str, pattern: DFPattern | None = None) -> DataTypePattern:
    """Matches what `pattern` matches (default: anything), if it is a tensor of `dtype`."""
    return (pattern or wildcard()).has_dtype(dtype)


def make_fused_bias_activation_pattern(
    op_name: str, with_bias: bool = False, activation: str | None = None
) -> DFPattern:
    """The pattern of op(data, weight), optionally followed by adding a bias and by an activation."""
    found: DFPattern = is_op(op_name)(wildcard(), wildcard())
    if with_bias:
        found = is_op("relax.add")(found, wildcard())
    return found if activation is None else is_op(activation)(found)


__all__ = [
    "AndPattern",
    "AttrPattern",
    "CallPattern",
    "ConstantPattern",
    "DFPattern",
    "DataTypePattern",
    "DataflowVarPattern",
    "ExprPattern",
    "ExternFuncPattern",
    "FunctionPattern",
    "GlobalVarPattern",
    "NotPattern",
    "OrPattern",
    "PrimArrPattern",
    "SameShapeConstraint",
    "ShapePattern",
    "StructInfoPattern",
    "TupleGetItemPattern",
    "TuplePattern",
    "TypePattern",
    "UnorderedTuplePattern",
    "VarPattern",
    "WildcardPattern",
    "has_attr",
    "has_dtype",
    "is_call_dps_packed",
    "is_call_packed",
    "is_call_tir",
    "is_call_tir_extern",
    "is_const",
    "is_dfv",
    "is_expr",
    "is_gv",
    "is_op",
    "is_shape",
    "is_tuple",
    "is_tuple_get_item",
    "is_var",
    "make_fused_bias_activation_pattern",
    "reject",
    "wildcard",
]
