"""Values of a callee's shape variables at a call (facts: relax-language §4, get_shape_var_mapping).

A dimension of a parameter that is just a variable is bound to the argument's dimension; the first occurrence wins,
later ones are compared by the compatibility check. Variables inside a function-typed parameter belong to that inner
signature and are not collected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.relax.check.dims import known_dims
from baton._src.relax.check.variables import leaf_dims, leaf_infos, prim_vars
from baton._src.relax.nodes import ShapeExpr
from baton._src.relax.struct_info import (
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.tir.expr import Var as TirVar


def get_shape_var_mapping(param: StructInfo, argument: StructInfo) -> dict[TirVar, PrimExpr]:
    """The shape variables of `param` in binding positions, each with the matching scalar of `argument` where known."""
    return map_parameters([(param, argument)])


def map_parameters(pairs: Iterable[tuple[StructInfo, StructInfo]]) -> dict[TirVar, PrimExpr]:
    """The same over (parameter, argument) pairs, left to right."""
    mapping: dict[TirVar, PrimExpr] = {}
    todo = list(reversed(list(pairs)))
    while todo:
        param, argument = todo.pop()
        match param, argument:
            case TupleStructInfo(fields=wanted), TupleStructInfo(fields=given) if len(wanted) == len(given):
                todo.extend(reversed(list(zip(wanted, given))))
            case TensorStructInfo(shape=ShapeExpr() as shape), TensorStructInfo():
                _match(shape.values, known_dims(argument.shape), mapping)
            case ShapeStructInfo(values=tuple() as values), ShapeStructInfo():
                _match(values, argument.values, mapping)
            case PrimStructInfo(value=TirVar() as var), PrimStructInfo(value=PrimExpr() as value):
                _match((var,), (value,), mapping)
            case _:
                pass
    return mapping


def _match(wanted: tuple[PrimExpr, ...], given: tuple[PrimExpr, ...] | None, mapping: dict[TirVar, PrimExpr]) -> None:
    if given is None or len(given) != len(wanted):
        return
    for dim, value in zip(wanted, given):
        if isinstance(dim, TirVar) and dim not in mapping and dim.dtype == value.dtype:
            mapping[dim] = value


def without_open_dims(params: Sequence[StructInfo], outer: Collection[TirVar]) -> list[StructInfo]:
    """`params` without shapes and scalars that any argument fits.

    These consist of variables that the parameters themselves bind, each at its only occurrence: `R.Tensor((k, j))`
    takes every matrix, while `R.Tensor((k, k))` and `R.Tensor((k, 4))` do not. Variables `outer` have a value already.
    """
    uses = Counter(v for p in params for leaf in leaf_infos(p) for dim in leaf_dims(leaf) for v in prim_vars(dim))
    open_vars = {v for v, count in uses.items() if count == 1 and v not in outer}
    return [_without(p, open_vars) for p in params] if open_vars else list(params)


def _without(info: StructInfo, open_vars: set[TirVar]) -> StructInfo:
    if isinstance(info, TupleStructInfo):
        return TupleStructInfo([_without(f, open_vars) for f in info.fields])
    dims = leaf_dims(info)
    if not dims or not all(isinstance(d, TirVar) and d in open_vars for d in dims):
        return info
    match info:
        case TensorStructInfo():
            return TensorStructInfo(None, info.dtype, info.vdevice, info.ndim)
        case ShapeStructInfo():
            return ShapeStructInfo(ndim=info.ndim)
        case PrimStructInfo():
            return PrimStructInfo(info.dtype)
        case _:
            return info
