"""StructInfo to and from the neutral `Info` in which operators state their shape rules."""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import OBJECT, Dim, Info, ObjectInfo, PrimInfo, ShapeInfo, TensorInfo, TupleInfo
from baton._src.relax.nodes import ShapeExpr, Var, as_dim
from baton._src.relax.struct_info import (
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.support.diagnostics import InternalError
from baton._src.support.trampoline import Task, run
from baton._src.tir.expr import AnyDim, FloatImm, IntImm, literal

OBJECT_INFO = ObjectStructInfo()
"""The top, shared: it has no contents."""
UNIT_INFO = TupleStructInfo(())
"""The StructInfo of calls made for their side effect: the unit value."""


def to_info(info: StructInfo) -> Info:
    """The `Info` that an operator's `infer` gets for a value. Functions and other objects are `OBJECT`."""
    return run(_to_info_task(info)) if isinstance(info, TupleStructInfo) else _to_leaf(info)


def from_info(info: Info) -> StructInfo:
    """The StructInfo of an operator's inferred `Info`. An unknown dim (`?`, Relay only) makes the shape unknown."""
    return run(_from_info_task(info)) if isinstance(info, TupleInfo) else _from_leaf(info)


def _to_info_task(info: StructInfo) -> Task[Info]:
    if not isinstance(info, TupleStructInfo):
        return _to_leaf(info)
    fields: list[Info] = []
    for part in info.fields:
        fields.append((yield _to_info_task(part)) if isinstance(part, TupleStructInfo) else _to_leaf(part))
    return TupleInfo(tuple(fields))


def _from_info_task(info: Info) -> Task[StructInfo]:
    if not isinstance(info, TupleInfo):
        return _from_leaf(info)
    fields: list[StructInfo] = []
    for part in info.fields:
        fields.append((yield _from_info_task(part)) if isinstance(part, TupleInfo) else _from_leaf(part))
    return TupleStructInfo(fields)


def _to_leaf(info: StructInfo) -> Info:
    if isinstance(info, TensorStructInfo):
        shape = info.shape
        if isinstance(shape, ShapeExpr):
            return TensorInfo(to_dims(shape.values), info.dtype, vdevice=info.vdevice)
        return TensorInfo(None, info.dtype, info.ndim, info.vdevice, shape)
    if isinstance(info, ShapeStructInfo):
        return ShapeInfo(None if info.values is None else to_dims(info.values), info.ndim)
    if isinstance(info, PrimStructInfo):
        value = info.value
        known = value.value if isinstance(value, (IntImm, FloatImm)) else value
        return PrimInfo(info.dtype, known)
    return OBJECT


def _from_leaf(info: Info) -> StructInfo:
    match info:
        case TensorInfo(shape=None, shape_var=Var() as var):
            return TensorStructInfo(var, info.dtype, info.vdevice, info.ndim)
        case TensorInfo(shape=None):
            return TensorStructInfo(None, info.dtype, info.vdevice, info.ndim)
        case TensorInfo(shape=shape) if any(isinstance(d, AnyDim) for d in shape or ()):
            return TensorStructInfo(None, info.dtype, info.vdevice, info.ndim)
        case TensorInfo(shape=shape):
            return TensorStructInfo(ShapeExpr(from_dims(shape or ())), info.dtype, info.vdevice)
        case ShapeInfo(values=None):
            return ShapeStructInfo(None, info.ndim)
        case ShapeInfo(values=values):
            return ShapeStructInfo(from_dims(values or ()))
        case PrimInfo():
            return PrimStructInfo(info.dtype, None if info.value is None else literal(info.value, info.dtype))
        case ObjectInfo():
            return OBJECT_INFO
        case _:
            raise InternalError(f"an operator's infer gave {info!r}, which is not an Info")


def to_dims(dims: tuple[PrimExpr, ...]) -> tuple[Dim, ...]:
    """Dims as operators see them: constants as ints."""
    return tuple(d.value if isinstance(d, IntImm) else d for d in dims)


def from_dims(dims: tuple[Dim, ...]) -> tuple[PrimExpr, ...]:
    """Dims as nodes hold them: ints as int64 immediates."""
    return tuple(as_dim(d) for d in dims)
