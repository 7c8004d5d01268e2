"""Nested tuples as flat sequences and back (`tvm.relay.op.memory`'s helpers)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from baton._src.ir.expr import GraphExpr
from baton._src.ir.types import TupleType
from baton._src.relay.nodes import Tuple, TupleGetItem
from baton._src.support.diagnostics import fail


def flatten_tuple_type(ty: Any) -> list[Any]:
    """The non-tuple types within a tuple type, from left to right."""
    if not isinstance(ty, TupleType):
        return [ty]
    return [leaf for field in ty.fields for leaf in flatten_tuple_type(field)]


def from_tuple_type(ty: Any, expr: GraphExpr) -> list[Any]:
    """For each type of `flatten_tuple_type(ty)` the corresponding part of `expr`."""
    if not isinstance(ty, TupleType):
        return [expr]
    return [leaf for i, field in enumerate(ty.fields) for leaf in from_tuple_type(field, TupleGetItem(expr, i))]


def to_tuple_type(ty: Any, exprs: Sequence[Any]) -> Any:
    """The value of type `ty` whose parts, from left to right, are `exprs`."""
    count = len(flatten_tuple_type(ty))
    if len(exprs) != count:
        raise fail("api", f"the type has {count} parts, {len(exprs)} expressions were given")
    return _packed(ty, iter(exprs))


def _packed(ty: Any, exprs: Iterator[Any]) -> Any:
    if not isinstance(ty, TupleType):
        return next(exprs)
    return Tuple([_packed(field, exprs) for field in ty.fields])
