"""Kind checking of written types: every part stands only where its kind fits (facts relay-language §1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from baton._src.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RelayRefType,
    TensorType,
    TupleType,
    Type,
    TypeCall,
    TypeConstraint,
    TypeData,
    TypeKind,
    TypeVar,
)
from baton._src.relay.check.show import show_type
from baton._src.relay.info import STORAGE_TYPE

_WHAT = {
    TypeKind.Type: "a type",
    TypeKind.Shape: "a shape",
    TypeKind.ShapeVar: "a dim",
    TypeKind.BaseType: "a dtype",
    TypeKind.AdtHandle: "an algebraic data type",
}


def kind_errors(
    type_: Type, definitions: Mapping[GlobalTypeVar, TypeData], wanted: TypeKind = TypeKind.Type
) -> Iterator[str]:
    """Kind errors in `type_`, used where a type of kind `wanted` is required."""
    match type_:
        case TypeVar() | IncompleteType():
            if type_.kind is not wanted:
                needed = _WHAT.get(wanted, wanted.name)
                yield f"{show_type(type_)} has kind {type_.kind.name} and cannot stand where {needed} is needed"
        case TensorType():
            yield from _tensor_errors(type_, definitions)
        case TupleType():
            for field in type_.fields:
                yield from kind_errors(field, definitions)
        case FuncType():
            for arg in (*type_.arg_types, type_.ret_type):
                yield from kind_errors(arg, definitions)
        case RelayRefType():
            yield from kind_errors(type_.value, definitions)
        case GlobalTypeVar():
            yield from _call_errors(type_, (), definitions)
        case TypeCall():
            yield from _call_errors(type_.func, type_.args, definitions)
            for arg in type_.args:
                yield from kind_errors(arg, definitions)
        case _:
            return


def kind_of(type_: Type) -> TypeKind:
    """What `type_` is: a variable by its declaration, a name or definition of an ADT, a constraint, else a type."""
    match type_:
        case TypeVar() | IncompleteType() | GlobalTypeVar():
            return type_.kind
        case TypeData():
            return TypeKind.TypeData
        case TypeConstraint():
            return TypeKind.Constraint
        case _:
            return TypeKind.Type


def _tensor_errors(type_: TensorType, definitions: Mapping[GlobalTypeVar, TypeData]) -> Iterator[str]:
    shape: Any = type_.shape
    dtype: Any = type_.dtype
    if isinstance(shape, Type):
        yield from kind_errors(shape, definitions, TypeKind.Shape)
    else:
        for dim in shape:
            if isinstance(dim, Type):
                yield from kind_errors(dim, definitions, TypeKind.ShapeVar)
    if isinstance(dtype, Type):
        yield from kind_errors(dtype, definitions, TypeKind.BaseType)


def _call_errors(func: Any, args: tuple[Any, ...], definitions: Mapping[GlobalTypeVar, TypeData]) -> Iterator[str]:
    if not isinstance(func, GlobalTypeVar):
        yield f"{show_type(func)} is not an algebraic data type, so it takes no type arguments"
        return
    data = definitions.get(func)
    if func is STORAGE_TYPE.func:  # it needs no definition
        return
    if data is None:
        yield f"the module does not define the type {func.name_hint}"
    elif len(args) != len(data.type_vars):
        yield f"{func.name_hint} takes {len(data.type_vars)} type arguments, got {len(args)}"


def definition_errors(data: TypeData, definitions: Mapping[GlobalTypeVar, TypeData]) -> Iterator[str]:
    """What is wrong with an ADT definition."""
    for constructor in data.constructors:
        for field in constructor.inputs:
            yield from (f"{constructor.name_hint}: {e}" for e in kind_errors(field, definitions))
            for name in _foreign_variables(field, data.type_vars):
                owner = data.header.name_hint
                yield f"{constructor.name_hint} uses the type variable {name}, which {owner} does not declare"


def _foreign_variables(type_: Type, declared: tuple[TypeVar, ...]) -> Iterator[str]:
    match type_:
        case TypeVar():
            if not any(type_ is d for d in declared):
                yield type_.name_hint
        case FuncType():
            for arg in (*type_.arg_types, type_.ret_type):
                yield from _foreign_variables(arg, (*declared, *type_.type_params))
        case TupleType():
            for field in type_.fields:
                yield from _foreign_variables(field, declared)
        case TypeCall():
            for arg in type_.args:
                yield from _foreign_variables(arg, declared)
        case RelayRefType():
            yield from _foreign_variables(type_.value, declared)
        case _:
            return
