"""Casts of values between float32 and float16, field by field for tuples; what has neither dtype stays as it is."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.operators.narrow_uses import Wanted
from baton._src.relax.nodes import Tuple, TupleGetItem
from baton._src.relax.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from baton._src.values.dtype import DataType

R: Any = RELAX
WIDE, NARROW = DataType("float32"), DataType("float16")


def is_float(info: StructInfo | None, dtype: DataType) -> bool:
    """Whether something is known to be a tensor of `dtype`."""
    return isinstance(info, TensorStructInfo) and info.dtype == dtype


def with_dtype(info: StructInfo, dtype: DataType) -> StructInfo:
    """`info`, its tensors of float32 and float16 in `dtype`."""
    if isinstance(info, TupleStructInfo):
        return TupleStructInfo([with_dtype(f, dtype) for f in info.fields])
    if isinstance(info, TensorStructInfo) and info.dtype in (WIDE, NARROW):
        return info.with_fields(dtype=dtype)
    return info


def cast_to(expr: GraphExpr, dtype: DataType) -> Any:
    """`expr` with its tensors of float32 and float16 cast to `dtype`."""
    return cast_to_info(expr, with_dtype(expr.struct_info, dtype))


def narrowed(expr: GraphExpr, wanted: Wanted) -> Any:
    """`expr` with the tensors cast to float16 for which `wanted` (nested alike) says so."""
    return cast_to_info(expr, _narrow_where(expr.struct_info, wanted))


def _narrow_where(info: StructInfo, wanted: Wanted) -> StructInfo:
    if isinstance(info, TupleStructInfo) and isinstance(wanted, tuple):
        return TupleStructInfo([_narrow_where(f, w) for f, w in zip(info.fields, wanted)])
    return with_dtype(info, NARROW) if wanted is True else info


def cast_to_info(expr: GraphExpr, info: StructInfo) -> Any:
    """`expr` with casts where `info` has its tensors in the other of the two dtypes."""
    have = expr.struct_info
    if not differs(have, info):
        return expr
    if isinstance(info, TensorStructInfo):
        return R.astype(expr, info.dtype)
    assert isinstance(info, TupleStructInfo)
    parts = expr.fields if isinstance(expr, Tuple) else [TupleGetItem(expr, i) for i in range(len(have.fields))]
    return Tuple([cast_to_info(_with_info(p, f), wanted) for p, f, wanted in zip(parts, have.fields, info.fields)])


def _with_info(part: Any, info: StructInfo) -> Any:
    return part if part.struct_info_ is not None else part.with_fields(struct_info_=info)


def differs(have: StructInfo, info: StructInfo) -> bool:
    """Whether some tensor is float32 in one of the two and float16 in the other."""
    if isinstance(have, TupleStructInfo) and isinstance(info, TupleStructInfo):
        return any(differs(a, b) for a, b in zip(have.fields, info.fields))
    if not isinstance(have, TensorStructInfo) or not isinstance(info, TensorStructInfo):
        return False
    return have.dtype != info.dtype and {have.dtype, info.dtype} == {WIDE, NARROW}
