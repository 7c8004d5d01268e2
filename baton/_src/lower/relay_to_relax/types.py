"""Convert Relay types to Relax StructInfo.

Tensors keep what is known: a `?` in a parameter becomes a new shape variable, elsewhere the shape is left to deduction
and only rank and dtype are kept. Functions, ADTs, references and type variables are objects: their values are
closures, tagged tuples and cells, which Relax passes around without looking inside.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.ir.types import FuncType, RelayRefType, TensorType, TupleType, Type, TypeCall, TypeVar
from baton._src.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.tir.expr import AnyDim, IntImm, Var
from baton._src.values.dtype import INT64, VOID, DataType

OBJECT = ObjectStructInfo()


class TypeLowering:
    """StructInfo of types. Dim variables of Relay (int32 or int64) become one int64 variable each."""

    def __init__(self) -> None:
        self._dims: dict[Var, Var] = {}
        self._count = 0

    def known(self, type_: Type | None) -> StructInfo:
        """The StructInfo that certainly holds for a value of `type_`: no new shape variables."""
        return _lower(type_, self._fixed_tensor)

    def param(self, type_: Type | None) -> StructInfo:
        """The annotation of a parameter, which may introduce new shape variables."""
        return _lower(type_, self._param_tensor)

    def function(self, type_: FuncType, pure: bool) -> FuncStructInfo:
        """The signature of a function of the module."""
        return FuncStructInfo(tuple(self.param(t) for t in type_.arg_types), self.known(type_.ret_type), pure)

    def _dim(self, dim: PrimExpr) -> int | Var | None:
        if isinstance(dim, IntImm):
            return dim.value
        if isinstance(dim, Var):
            if dim not in self._dims:
                self._dims[dim] = dim if dim.dtype == INT64 else Var(dim.name, INT64)
            return self._dims[dim]
        return None

    def _fixed_tensor(self, type_: TensorType) -> StructInfo:
        dtype = type_.dtype if isinstance(type_.dtype, DataType) else VOID
        if not isinstance(type_.shape, tuple):
            return TensorStructInfo(dtype=dtype)
        dims = [self._dim(d) for d in type_.shape]
        if any(d is None or isinstance(d, PrimExpr) for d in dims):
            return TensorStructInfo(dtype=dtype, ndim=len(dims))
        return TensorStructInfo(dims, dtype)

    def _param_tensor(self, type_: TensorType) -> StructInfo:
        dtype = type_.dtype if isinstance(type_.dtype, DataType) else VOID
        if not isinstance(type_.shape, tuple):
            return TensorStructInfo(dtype=dtype)
        dims = []
        for dim in type_.shape:
            known = self._dim(dim)
            if known is None and isinstance(dim, AnyDim):
                known = Var(f"d{self._count}", INT64)
                self._count += 1
            dims.append(known)
        if any(d is None for d in dims):
            return TensorStructInfo(dtype=dtype, ndim=len(dims))
        return TensorStructInfo(dims, dtype)


def _lower(type_: Type | None, tensor: Callable[[TensorType], StructInfo]) -> StructInfo:
    match type_:
        case TensorType():
            return tensor(type_)
        case TupleType():
            return TupleStructInfo([_lower(f, tensor) for f in type_.fields])
        case FuncType() | TypeCall() | TypeVar() | RelayRefType() | None:
            return OBJECT
        case _:
            return OBJECT


def says_more(have: StructInfo, want: StructInfo) -> bool:
    """Whether a value declared as `have` must be cast to be used as `want`."""
    if isinstance(want, TupleStructInfo) and isinstance(have, TupleStructInfo):
        return any(says_more(a, b) for a, b in zip(have.fields, want.fields))
    return isinstance(have, ObjectStructInfo) and not isinstance(want, (ObjectStructInfo, ShapeStructInfo))
