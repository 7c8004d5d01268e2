"""Which variables a StructInfo mentions and which it can bind (facts: relax-language §1, binding positions)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.relax.nodes import Function, MatchCast, ShapeExpr, Var
from baton._src.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.tir.expr import FloatImm, IntImm
from baton._src.tir.expr import Var as TirVar

T = TypeVar("T")


def prim_vars(expr: PrimExpr) -> list[TirVar]:
    """The variables of a scalar expression, each once, in order of first occurrence."""
    if isinstance(expr, TirVar):
        return [expr]
    if isinstance(expr, (IntImm, FloatImm)):
        return []
    return [n for n in post_order(expr) if isinstance(n, TirVar)]


def leaf_infos(info: StructInfo, into_functions: bool = True) -> Iterator[StructInfo]:
    """The tensor, shape, prim and object infos inside, left to right; optionally also those in function types."""
    todo = [info]
    while todo:
        found = todo.pop()
        if isinstance(found, TupleStructInfo):
            todo.extend(reversed(found.fields))
        elif isinstance(found, FuncStructInfo):
            if into_functions:
                todo.append(found.ret)
                todo.extend(reversed(found.params or ()))
        else:
            yield found


def leaf_dims(info: StructInfo) -> tuple[PrimExpr, ...]:
    """The scalars a leaf info is made of: dims of its shape, or its value."""
    match info:
        case TensorStructInfo(shape=ShapeExpr() as shape):
            return shape.values
        case ShapeStructInfo(values=tuple() as values):
            return values
        case PrimStructInfo(value=PrimExpr() as value):
            return (value,)
        case _:
            return ()


def tir_vars_in_struct_info(info: StructInfo) -> list[TirVar]:
    """Every shape variable that occurs anywhere inside, each once, in order of first occurrence."""
    return _unique(v for leaf in leaf_infos(info) for dim in leaf_dims(leaf) for v in prim_vars(dim))


def definable_tir_vars_in_struct_info(info: StructInfo) -> list[TirVar]:
    """The shape variables that stand alone in a dimension (or as a prim value), hence can be bound by matching.

    What is inside a function type belongs to that function and is not counted.
    """
    return _unique(
        dim for leaf in leaf_infos(info, into_functions=False) for dim in leaf_dims(leaf) if isinstance(dim, TirVar)
    )


def defined_symbolic_vars(function: Any) -> list[TirVar]:
    """The shape variables that `function` binds: in its parameters' annotations and in match_casts."""
    found: dict[TirVar, None] = {}
    for item in post_order(function):
        if isinstance(item, Function):
            for param in item.params:
                if param.struct_info_ is not None:
                    found.update((v, None) for v in definable_tir_vars_in_struct_info(param.struct_info))
        elif isinstance(item, MatchCast):
            found.update((v, None) for v in definable_tir_vars_in_struct_info(item.struct_info))
    return list(found)


def shape_holders(info: StructInfo) -> list[Var]:
    """The Relax variables that occur as the shape of a tensor inside."""
    return _unique(
        leaf.shape for leaf in leaf_infos(info) if isinstance(leaf, TensorStructInfo) and isinstance(leaf.shape, Var)
    )


def free_tir_vars(info: StructInfo) -> list[TirVar]:
    """The shape variables that come from outside: a function type binds those its parameters define."""
    if not isinstance(info, (FuncStructInfo, TupleStructInfo)):
        return tir_vars_in_struct_info(info)
    found: dict[TirVar, None] = {}
    todo: list[tuple[StructInfo, frozenset[TirVar]]] = [(info, frozenset())]
    while todo:
        part, bound = todo.pop()
        if isinstance(part, TupleStructInfo):
            todo.extend((f, bound) for f in reversed(part.fields))
        elif isinstance(part, FuncStructInfo):
            inner = bound | bound_by_params(part)
            todo.append((part.ret, inner))
            todo.extend((p, inner) for p in reversed(part.params or ()))
        else:
            for dim in leaf_dims(part):
                found.update((v, None) for v in prim_vars(dim) if v not in bound)
    return list(found)


def bound_by_params(info: FuncStructInfo) -> frozenset[TirVar]:
    """The shape variables a function type's parameters bind."""
    return frozenset(v for p in info.params or () for v in definable_tir_vars_in_struct_info(p))


def _unique(items: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(items))


def collect_non_negative_expressions(sinfo: StructInfo) -> list[PrimExpr]:
    """The scalars in `sinfo` that cannot be negative, each once, left to right: dims of tensors and shapes.

    Prim values may be negative, and the parameters and results inside function types do not count.
    """
    found: dict[PrimExpr, None] = {}
    for leaf in leaf_infos(sinfo, into_functions=False):
        if not isinstance(leaf, PrimStructInfo):
            found.update((d, None) for d in leaf_dims(leaf) if not isinstance(d, IntImm))
    return list(found)
