"""Leaving a scope: remove variables that are invisible outside from a StructInfo (facts: relax-language §5).

A tensor or shape that mentions a variable out of scope loses its whole shape and keeps its rank, unless the variable
can be replaced by what is known of it. Inside a function type, variables that its own parameters bind stay.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.op_def import DimProver
from baton._src.ir.traverse import substitute
from baton._src.ir.types import FuncType, TupleType, Type
from baton._src.relax.check.variables import bound_by_params, prim_vars
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
from baton._src.relax.types import DynTensorType, ObjectType, PackedFuncType, PrimType, ShapeType
from baton._src.support.diagnostics import InternalError
from baton._src.support.trampoline import Task, run
from baton._src.tir.expr import Var as TirVar

DimOf = Callable[[TirVar], PrimExpr | None]
"""The replacement of a shape variable in the outer scope: itself, a known expression, or None (out of scope)."""
VarOf = Callable[[Var], Any]
"""The same for a Relax variable that holds a shape."""


def erase_to_well_defined(
    info: StructInfo,
    shape_var_map: Mapping[TirVar, PrimExpr] | DimOf | None = None,
    var_map: Mapping[Var, Any] | VarOf | None = None,
    prover: DimProver | None = None,
) -> StructInfo:
    """`info` without variables that the maps do not have; those they have are replaced by what the maps say.

    No map means that nothing of the kind is in scope. The result is `info` itself if nothing changes.
    """
    dim_of: DimOf = _lookup(shape_var_map)
    var_of: VarOf = _lookup(var_map)
    return run(_erase(info, dim_of, var_of, prover))


def drop_variables(
    info: StructInfo, shape_vars: Collection[TirVar], relax_vars: Collection[Var], prover: DimProver | None = None
) -> StructInfo:
    """`info` where the given variables leave scope; every other variable stays."""
    if not shape_vars and not relax_vars:
        return info
    return run(
        _erase(
            info,
            lambda v: None if v in shape_vars else v,
            lambda v: None if v in relax_vars else v,
            prover,
        )
    )


def substitute_info(
    info: StructInfo, mapping: Mapping[TirVar, PrimExpr], prover: DimProver | None = None
) -> StructInfo:
    """`info` with shape variables replaced; variables the mapping lacks stay."""
    if not mapping:
        return info
    return run(_erase(info, lambda v: mapping.get(v, v), lambda v: v, prover))


def substitute_holders(info: StructInfo, mapping: Mapping[Var, Any]) -> StructInfo:
    """`info` with the variables that hold shapes (`R.Tensor(s)`) replaced: by others, or by the dims of a ShapeExpr.

    A shape replaced by anything else is no longer known.
    """

    def shape_of(var: Var) -> Any:
        found = mapping.get(var, var)
        return found if isinstance(found, (Var, ShapeExpr)) else None

    return run(_erase(info, lambda v: v, shape_of, None))


def without_holders(info: StructInfo) -> StructInfo:
    """`info` where shapes that variables hold are known by their rank only."""
    return run(_erase(info, lambda v: v, lambda v: None, None))


def _lookup(mapping: Any) -> Any:
    if mapping is None:
        return lambda _var: None
    return mapping.get if isinstance(mapping, Mapping) else mapping


def _erase(info: StructInfo, dim_of: DimOf, var_of: VarOf, prover: DimProver | None) -> Task[StructInfo]:
    if isinstance(info, TupleStructInfo):
        fields: list[StructInfo] = []
        for part in info.fields:
            fields.append((yield _erase(part, dim_of, var_of, prover)))
        return info if _all_same(fields, info.fields) else TupleStructInfo(fields, info.span)
    if isinstance(info, FuncStructInfo):
        found: StructInfo = yield _erase_function(info, dim_of, var_of, prover)
        return found
    return _erase_leaf(info, dim_of, var_of, prover)


def _erase_function(info: FuncStructInfo, dim_of: DimOf, var_of: VarOf, prover: DimProver | None) -> Task[StructInfo]:
    own = bound_by_params(info)
    # A variable that already means something outside is not bound anew by the function type: it is substituted.
    outer = {v for v in own if dim_of(v) is not None}

    def inner(var: TirVar) -> PrimExpr | None:
        return var if var in own and var not in outer else dim_of(var)

    params: list[StructInfo] | None = None
    if info.params is not None:
        params = []
        for part in info.params:
            params.append((yield _erase(part, inner, var_of, prover)))
    ret = yield _erase(info.ret, inner, var_of, prover)
    if ret is info.ret and _all_same(params or (), info.params or ()):
        return info
    return FuncStructInfo(params, ret, info.purity, info.span, derive_func=info.derive_func)


def _erase_leaf(info: StructInfo, dim_of: DimOf, var_of: VarOf, prover: DimProver | None) -> StructInfo:
    match info:
        case TensorStructInfo(shape=ShapeExpr() as shape):
            dims = _erase_dims(shape.values, dim_of, prover)
            if dims is shape.values:
                return info
            return TensorStructInfo(None if dims is None else ShapeExpr(dims), info.dtype, info.vdevice, info.ndim)
        case TensorStructInfo(shape=Var() as holder):
            found = var_of(holder)
            if found is holder:
                return info
            rank = info.ndim if found is None else -1
            return TensorStructInfo(found, info.dtype, info.vdevice, rank)
        case ShapeStructInfo(values=tuple() as values):
            dims = _erase_dims(values, dim_of, prover)
            return info if dims is values else ShapeStructInfo(dims, info.ndim)
        case PrimStructInfo(value=PrimExpr() as value):
            kept = _erase_dims((value,), dim_of, prover)
            if kept is not None and kept[0] is value:
                return info
            return PrimStructInfo(info.dtype, None if kept is None else kept[0])
        case _:
            return info


def _erase_dims(dims: tuple[PrimExpr, ...], dim_of: DimOf, prover: DimProver | None) -> tuple[PrimExpr, ...] | None:
    """The dims with variables replaced (the same tuple if none changes), or None if one is out of scope."""
    found: list[PrimExpr] = []
    changed = False
    for dim in dims:
        if isinstance(dim, TirVar):
            new = dim_of(dim)
            if new is None:
                return None
        else:
            mapping = {v: dim_of(v) for v in prim_vars(dim)}
            if any(new is None for new in mapping.values()):
                return None
            moved = {v: new for v, new in mapping.items() if new is not v}
            new = dim if not moved else substitute(dim, moved)
            if moved and prover is not None:
                new = prover.simplify(new)
        changed = changed or new is not dim
        found.append(new)
    return tuple(found) if changed else dims


def _all_same(new: Collection[object], old: Collection[object]) -> bool:
    return all(a is b for a, b in zip(new, old))


def erase_struct_info(info: StructInfo) -> Type:
    """The shape-free type of a value ("static type"): dtype and rank stay, dims and values go."""
    return run(_static_type(info))


def _static_type(info: StructInfo) -> Task[Type]:
    match info:
        case TensorStructInfo():
            return DynTensorType(info.ndim, info.dtype)
        case ShapeStructInfo():
            return ShapeType(info.ndim)
        case PrimStructInfo():
            return PrimType(info.dtype)
        case TupleStructInfo():
            fields: list[Type] = []
            for part in info.fields:
                fields.append((yield _static_type(part)))
            return TupleType(fields)
        case FuncStructInfo(params=None):
            return PackedFuncType()
        case FuncStructInfo():
            params: list[Type] = []
            for part in info.params or ():
                params.append((yield _static_type(part)))
            return FuncType(tuple(params), (yield _static_type(info.ret)))
        case ObjectStructInfo():
            return ObjectType()
        case _:
            raise InternalError(f"{type(info).__name__} has no static type")
