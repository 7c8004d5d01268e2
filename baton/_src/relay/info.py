"""Relay types to and from the neutral `Info` of the operators' shape rules.

    Tensor[(2, ?), float32]  <->  TensorInfo((2, AnyDim), "float32")
    (T, U)                   <->  TupleInfo((t, u))
    Storage                  <->  StorageInfo()         (the memory dialect)

A type that says less than a tensor or a tuple of them (a hole, a type variable, a function) becomes `OBJECT`; a tensor
whose shape or dtype is a hole or a type variable becomes a `TensorInfo` that leaves that part unknown.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import OBJECT, STORAGE, Dim, Info, PrimInfo, StorageInfo, TensorInfo, TupleInfo
from baton._src.ir.types import GlobalTypeVar, PrimType, TensorType, TupleType, Type, TypeCall
from baton._src.support.diagnostics import InternalError, fail
from baton._src.tir.expr import AnyDim, IntImm
from baton._src.values.dtype import INT32, INT64, VOID, DataType

STORAGE_TYPE = TypeCall(GlobalTypeVar("Storage"), ())
"""The type of storages. It is no algebraic data type: nothing but `memory.alloc_storage` makes one."""


def to_info(type_: Type) -> Info:
    """Convert a type to the `Info` of its values."""
    match type_:
        case TensorType():
            return tensor_info(type_)
        case TupleType():
            return TupleInfo(tuple(to_info(field) for field in type_.fields))
        case PrimType():
            return PrimInfo(type_.dtype)
        case TypeCall() if type_.func is STORAGE_TYPE.func:
            return STORAGE
        case _:
            return OBJECT


def tensor_info(type_: TensorType) -> TensorInfo:
    """A tensor type as operators see it."""
    dtype = type_.dtype if isinstance(type_.dtype, DataType) else VOID
    shape: Any = type_.shape
    if not isinstance(shape, tuple):
        return TensorInfo(None, dtype)
    return TensorInfo(tuple(as_dim(d) for d in shape), dtype)


def as_dim(dim: Any) -> Dim:
    """A dim of a type as operators see it: numbers are ints, dims that are type variables or holes are unknown."""
    if isinstance(dim, IntImm):
        return dim.value
    return dim if isinstance(dim, PrimExpr) else AnyDim()


def from_info(info: Info) -> Type:
    """The Relay type of a value of which `info` is known; unknown parts of tensors must be known by now."""
    match info:
        case TensorInfo():
            if info.dtype.is_void:
                raise InternalError(f"an operator's shape rule left the dtype of its result open: {info}")
            if info.shape is None:
                return TensorType(_unknown_dims(info.ndim), info.dtype)
            return TensorType(tuple(type_dim(d) for d in info.shape), info.dtype)
        case TupleInfo():
            return TupleType(tuple(from_info(f) for f in info.fields))
        case PrimInfo():
            return TensorType((), info.dtype)
        case StorageInfo():
            return STORAGE_TYPE
        case _:
            raise InternalError(f"an operator's shape rule gave {info}, which is not a Relay type")


def _unknown_dims(ndim: int) -> tuple[PrimExpr, ...]:
    if ndim < 0:
        help = "Relay's types have a rank: give the shape argument as a constant, or annotate its length"
        raise fail("op-shape", "the rank of this operator's result cannot be known when compiling", help=help)
    return tuple(AnyDim() for _ in range(ndim))


def type_dim(dim: Dim) -> PrimExpr:
    """A dim as it stands in a tensor type: int32 immediates (int64 where they do not fit), expressions as they are."""
    if isinstance(dim, PrimExpr):
        return dim
    return IntImm(INT32 if dim < 2**31 else INT64, dim)
