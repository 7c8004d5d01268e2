"""Types as terms: replacing type variables, collecting holes. Tensor dims and dtypes may be variables or holes too.

A tensor type normally holds a tuple of dims and a `DataType`. While it is open, its `shape` may be a hole or a type
variable of kind Shape, single dims of kind ShapeVar, its `dtype` of kind BaseType.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from baton._src.ir.node import Node
from baton._src.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RelayRefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeRelation,
    TypeVar,
)


def map_type(type_: Any, leaf: Callable[[Any], Any]) -> Any:
    """`type_` with `leaf` applied to every type variable and hole in it; parts that stay the same are shared."""
    match type_:
        case IncompleteType() | TypeVar():
            return leaf(type_)
        case TensorType():
            if isinstance(type_.shape, tuple) and not any(isinstance(d, Type) for d in type_.shape):
                if not isinstance(type_.dtype, Type):
                    return type_
            shape: Any = type_.shape
            if isinstance(shape, Type):
                shape = map_type(shape, leaf)
            else:
                shape = _same(shape, tuple(map_type(d, leaf) if isinstance(d, Type) else d for d in shape))
            dtype: Any = map_type(type_.dtype, leaf) if isinstance(type_.dtype, Type) else type_.dtype
            return type_.with_fields(shape=shape, dtype=dtype)
        case TupleType():
            return type_.with_fields(fields=_map_all(type_.fields, leaf))
        case FuncType():
            return type_.with_fields(
                arg_types=_map_all(type_.arg_types, leaf),
                ret_type=map_type(type_.ret_type, leaf),
                type_constraints=_map_all(type_.type_constraints, leaf),
            )
        case TypeRelation():
            return type_.with_fields(args=_map_all(type_.args, leaf))
        case TypeCall():
            return type_.with_fields(func=map_type(type_.func, leaf), args=_map_all(type_.args, leaf))
        case RelayRefType():
            return type_.with_fields(value=map_type(type_.value, leaf))
        case _:
            return type_


def _map_all(types: tuple[Any, ...], leaf: Callable[[Any], Any]) -> tuple[Any, ...]:
    return _same(types, tuple(map_type(t, leaf) for t in types))


def _same(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    """`old` itself if nothing changed, so that `with_fields` keeps the node."""
    return old if all(a is b for a, b in zip(old, new)) else new


def substitute_types(type_: Any, mapping: Mapping[Any, Any]) -> Any:
    """`type_` with type variables replaced; variables bound by inner function types are left alone (they differ)."""
    return map_type(type_, lambda leaf: mapping.get(leaf, leaf)) if mapping else type_


def parts(type_: Any) -> Iterator[Any]:
    """The types directly inside `type_`, shape and dtype variables included."""
    match type_:
        case TensorType():
            if isinstance(type_.shape, Type):
                yield type_.shape
            else:
                yield from (d for d in type_.shape if isinstance(d, Type))
            if isinstance(type_.dtype, Type):
                yield type_.dtype
        case TupleType():
            yield from type_.fields
        case FuncType():
            yield from type_.arg_types
            yield type_.ret_type
            yield from type_.type_constraints
        case TypeRelation():
            yield from type_.args
        case TypeCall():
            yield type_.func
            yield from type_.args
        case RelayRefType():
            yield type_.value
        case _:
            return


def leaves(type_: Any) -> Iterator[IncompleteType | TypeVar | GlobalTypeVar]:
    """Every hole, type variable and ADT name in `type_`, left to right (with repetitions)."""
    stack: list[Node] = [type_]
    while stack:
        top = stack.pop()
        if isinstance(top, (IncompleteType, TypeVar, GlobalTypeVar)):
            yield top
        else:
            stack.extend(reversed(list(parts(top))))
