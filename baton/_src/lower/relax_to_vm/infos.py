"""StructInfo as the executable's `ValueInfo`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.lower.relax_to_vm.dims import to_dim_expr
from baton._src.relax.nodes import ShapeExpr, Var
from baton._src.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.runtime.value_info import (
    ANY,
    FunctionValue,
    PrimScalar,
    ShapeValue,
    TensorValue,
    TupleValue,
    ValueInfo,
)
from baton._src.tir.expr import IntImm
from baton._src.tir.expr import Var as TirVar

Slots = Mapping[TirVar, int]


def to_value_info(info: StructInfo | None, slots: Slots, shape_vars: list[Var] | None = None) -> ValueInfo:
    """What `info` demands at run time. Variables that hold the shape of a tensor are added to `shape_vars`.

    Inside function types dims are dropped: their variables belong to the function's own signature.
    """
    holders: list[Var] = [] if shape_vars is None else shape_vars
    match info:
        case None | ObjectStructInfo():
            return ANY
        case TensorStructInfo():
            return _tensor(info, slots, holders)
        case ShapeStructInfo(values=values, ndim=ndim):
            return ShapeValue(ndim, None if values is None else tuple(to_dim_expr(v, slots) for v in values))
        case PrimStructInfo(dtype=dtype, value=value):
            return PrimScalar(str(dtype), None if value is None else to_dim_expr(value, slots))
        case TupleStructInfo(fields=fields):
            return TupleValue(tuple(to_value_info(f, slots, holders) for f in fields))
        case FuncStructInfo(params=None):
            return FunctionValue(None, pure=info.purity, any_callable=info.derive_func is None)
        case FuncStructInfo(params=params, ret=ret):
            inputs = tuple(_erased(p) for p in params or ())
            return FunctionValue(inputs, _erased(ret), info.purity)
        case _:
            return ANY


def _tensor(info: TensorStructInfo, slots: Slots, holders: list[Var]) -> TensorValue:
    dtype = "" if info.dtype.is_void else str(info.dtype)
    if isinstance(info.shape, ShapeExpr):
        return TensorValue(dtype, info.ndim, tuple(to_dim_expr(v, slots) for v in info.shape.values))
    if isinstance(info.shape, Var):
        holders.append(info.shape)
        return TensorValue(dtype, info.ndim, None, len(holders) - 1)
    return TensorValue(dtype, info.ndim)


def _erased(info: Any) -> ValueInfo:
    """The information without anything that depends on variables; constant dims stay."""
    match info:
        case TensorStructInfo():
            dims = tuple(info.shape.values) if isinstance(info.shape, ShapeExpr) else None
            return TensorValue("" if info.dtype.is_void else str(info.dtype), info.ndim, _constant(dims))
        case ShapeStructInfo(values=values, ndim=ndim):
            return ShapeValue(ndim, _constant(values))
        case PrimStructInfo(dtype=dtype):
            return PrimScalar(str(dtype))
        case TupleStructInfo(fields=fields):
            return TupleValue(tuple(_erased(f) for f in fields))
        case FuncStructInfo():
            return to_value_info(info, {})
        case _:
            return ANY


def _constant(dims: Any) -> tuple[int, ...] | None:
    values = None if dims is None else [d.value for d in dims if isinstance(d, IntImm)]
    return None if values is None or len(values) < len(dims) else tuple(values)
