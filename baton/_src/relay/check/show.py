"""Types in Relay's text format, for messages and for the printer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    PointerType,
    PrimType,
    RelayRefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeKind,
    TypeRelation,
    TypeVar,
)
from baton._src.tir.expr import AnyDim, FloatImm, IntImm, Var
from baton._src.values.dtype import DataType

_OPEN = {TypeKind.Shape: "?shape", TypeKind.BaseType: "?dtype", TypeKind.ShapeVar: "?dim"}


Names = Mapping[Any, str]
NO_NAMES: Names = {}


def show_type(type_: Any, names: Names = NO_NAMES) -> str:
    """Relay text of a type, a dim or a dtype; holes are `_`. `names` renames type variables and dim variables."""
    match type_:
        case None:
            return "_"
        case DataType():
            return str(type_)
        case IncompleteType():
            return _OPEN.get(type_.kind, "_")
        case TypeVar() | GlobalTypeVar():
            return names.get(type_, type_.name_hint)
        case PrimType():
            return str(type_.dtype)
        case PointerType():
            return f'T.handle("{show_type(type_.element_type, names)}", "{type_.storage_scope or "global"}")'
        case TensorType():
            return _show_tensor(type_, names)
        case TupleType():
            inner = ", ".join(show_type(f, names) for f in type_.fields)
            return f"({inner},)" if len(type_.fields) == 1 else f"({inner})"
        case FuncType():
            return _show_function(type_, names)
        case RelayRefType():
            return f"ref({show_type(type_.value, names)})"
        case TypeCall():
            inner = ", ".join(show_type(a, names) for a in type_.args)
            return f"{show_type(type_.func, names)}[{inner}]"
        case TypeRelation():
            return relation_name(type_.func)
        case _:
            return show_dim(type_, names)


def relation_name(func: Any) -> str:
    """What a relation is called in messages and in `where`."""
    return str(getattr(func, "name", None) or getattr(func, "__name__", None) or type(func).__name__)


def _show_tensor(type_: TensorType, names: Names) -> str:
    if not isinstance(type_.shape, tuple):
        return f"Tensor[{show_type(type_.shape, names)}, {show_type(type_.dtype, names)}]"
    if not type_.shape and isinstance(type_.dtype, DataType):
        return str(type_.dtype)
    dims = ", ".join(show_type(d, names) for d in type_.shape)
    return f"Tensor[({dims}), {show_type(type_.dtype, names)}]"


def _show_function(type_: FuncType, names: Names) -> str:
    args = ", ".join(show_type(a, names) for a in type_.arg_types)
    text = f"fn {show_type_params(type_.type_params, names)}({args}) -> {show_type(type_.ret_type, names)}"
    constraints = [relation_name(c.func) for c in type_.type_constraints if isinstance(c, TypeRelation)]
    return f"{text} where {', '.join(constraints)}" if constraints else text


def show_type_params(params: tuple[TypeVar, ...], names: Names = NO_NAMES) -> str:
    """`[A, B]` as version 0.0.5 writes it, or `<s : Shape, b : BaseType>` where kinds have to be said (seed 004)."""
    if not params:
        return ""
    if all(p.kind is TypeKind.Type for p in params):
        return f"[{', '.join(names.get(p, p.name_hint) for p in params)}]"
    return f"<{', '.join(f'{names.get(p, p.name_hint)} : {p.kind.name}' for p in params)}>"


def show_dim(dim: Any, names: Names = NO_NAMES) -> str:
    """A dim: a number, `?`, a variable (with its dtype where that is not int32)."""
    match dim:
        case IntImm() | FloatImm():
            return str(dim.value)
        case AnyDim():
            return "?"
        case Var():
            name = names.get(dim, dim.name)
            return name if dim.dtype == "int32" else f"{name}: {dim.dtype}"
        case _:
            return str(dim)
