"""StructInfo as the executable's `ValueInfo`."""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.lower.relax_to_vm.dims import to_dim_expr
from baton._src.relax.check.variables import tir_vars_in_struct_info
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
from baton._src.tir.expr import Var as TirVar

Slots = Mapping[TirVar, int]


def to_value_info(info: StructInfo | None, slots: Slots, shape_vars: list[Var] | None = None) -> ValueInfo:
    """Convert `info` to what the executable checks at run time. Variables that hold the shape of a tensor are added to
    `shape_vars`.

    Inside a function type, slots number the variables of its signature, in order of appearance. Those that `slots`
    has, too, are filled in from there when it is checked; those that captured values determine by `make_closure` of
    `runtime/vm/builtins/functions.py`.
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
            own = {v: i for i, v in enumerate(tir_vars_in_struct_info(info))}
            inputs = tuple(_signature_part(p, own) for p in params or ())
            outer = tuple((i, slots[v]) for v, i in own.items() if v in slots)
            return FunctionValue(inputs, _signature_part(ret, own), info.purity, outer=outer)
        case _:
            return ANY


def _tensor(info: TensorStructInfo, slots: Slots, holders: list[Var]) -> TensorValue:
    dtype = _dtype_name(info)
    if isinstance(info.shape, ShapeExpr):
        return TensorValue(dtype, info.ndim, tuple(to_dim_expr(v, slots) for v in info.shape.values))
    if isinstance(info.shape, Var):
        holders.append(info.shape)
        return TensorValue(dtype, info.ndim, None, len(holders) - 1)
    return TensorValue(dtype, info.ndim)


def _signature_part(info: StructInfo, slots: Slots) -> ValueInfo:
    """A parameter or result of a function type; what depends on variables other than shape variables is left out."""
    match info:
        case TensorStructInfo(shape=ShapeExpr(values=values)):
            return TensorValue(_dtype_name(info), info.ndim, tuple(to_dim_expr(v, slots) for v in values))
        case TensorStructInfo():
            return TensorValue(_dtype_name(info), info.ndim)
        case TupleStructInfo(fields=fields):
            return TupleValue(tuple(_signature_part(f, slots) for f in fields))
        case _:
            return to_value_info(info, slots)


def _dtype_name(info: TensorStructInfo) -> str:
    return "" if info.dtype.is_void else str(info.dtype)
