"""A type as the text format writes it: for messages and for the printer."""

from __future__ import annotations

from typing import Any

from baton._src.ir.types import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
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


def show_type(type_: Any) -> str:
    """Relay text of a type, a dim or a dtype; holes are `_`."""
    match type_:
        case None:
            return "_"
        case DataType():
            return str(type_)
        case IncompleteType():
            return _OPEN.get(type_.kind, "_")
        case TypeVar() | GlobalTypeVar():
            return type_.name_hint
        case PrimType():
            return str(type_.dtype)
        case TensorType():
            return _show_tensor(type_)
        case TupleType():
            inner = ", ".join(show_type(f) for f in type_.fields)
            return f"({inner},)" if len(type_.fields) == 1 else f"({inner})"
        case FuncType():
            return _show_function(type_)
        case RelayRefType():
            return f"ref({show_type(type_.value)})"
        case TypeCall():
            inner = ", ".join(show_type(a) for a in type_.args)
            return f"{show_type(type_.func)}[{inner}]"
        case TypeRelation():
            return relation_name(type_.func)
        case _:
            return show_dim(type_)


def relation_name(func: Any) -> str:
    """What a relation is called in messages and in `where`."""
    return str(getattr(func, "name", None) or getattr(func, "__name__", None) or type(func).__name__)


def _show_tensor(type_: TensorType) -> str:
    shape: Any = type_.shape
    if not isinstance(shape, tuple):
        return f"Tensor[{show_type(shape)}, {show_type(type_.dtype)}]"
    dims = ", ".join(show_type(d) for d in shape)
    return f"Tensor[({dims}), {show_type(type_.dtype)}]"


def _show_function(type_: FuncType) -> str:
    params = f"<{', '.join(show_type_param(p) for p in type_.type_params)}>" if type_.type_params else ""
    if all(p.kind is TypeKind.Type for p in type_.type_params) and type_.type_params:
        params = f"[{', '.join(p.name_hint for p in type_.type_params)}]"
    args = ", ".join(show_type(a) for a in type_.arg_types)
    text = f"fn {params}({args}) -> {show_type(type_.ret_type)}"
    names = [relation_name(c.func) for c in type_.type_constraints if isinstance(c, TypeRelation)]
    return f"{text} where {', '.join(names)}" if names else text


def show_type_param(param: TypeVar) -> str:
    """`t : Type` as seed 004 writes it."""
    return f"{param.name_hint} : {param.kind.name}"


def show_dim(dim: Any) -> str:
    match dim:
        case IntImm() | FloatImm():
            return str(dim.value)
        case AnyDim():
            return "?"
        case Var():
            return dim.name
        case _:
            return str(dim)
