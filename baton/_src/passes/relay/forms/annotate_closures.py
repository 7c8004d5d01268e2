"""Annotate closures with their inferred parameter types, so that a let that binds one later does not generalise it."""

from __future__ import annotations

from typing import Any

from baton._src.ir.node import set_note
from baton._src.ir.types import FuncType, IncompleteType, Type, TypeVar
from baton._src.relay.check.substitute import leaves
from baton._src.relay.expressions import walk, with_parts
from baton._src.relay.nodes import Function, Var


def annotated(function: Function) -> Function:
    """A typed function in which function literals are annotated with their types, where known."""
    fresh: dict[Any, Any] = {}
    for node in walk(function.body):
        if isinstance(node, Function) and _is_known(node.checked_type_):
            for param, type_ in zip(node.params, node.checked_type.arg_types):
                if param.type_annotation is None:
                    fresh[param] = Var(param.name_hint, type_, span=param.span)
                    set_note(fresh[param], "checked_type_", type_)
    if not fresh:
        return function
    done: dict[Any, Any] = dict(fresh)
    for node in walk(function):
        if node in fresh:
            continue
        made = with_parts(node, done)
        if isinstance(made, Function) and any(p in fresh for p in made.params):
            made = made.with_fields(params=tuple(fresh.get(p, p) for p in made.params))
        if made is not node:
            done[node] = made
    annotated: Function = done.get(function, function)
    return annotated


def _is_known(type_: Type) -> bool:
    if not isinstance(type_, FuncType) or type_.type_params:
        return False
    return not any(isinstance(leaf, (TypeVar, IncompleteType)) for leaf in leaves(type_))
