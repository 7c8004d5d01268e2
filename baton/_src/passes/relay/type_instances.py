"""The type arguments of a function at a call, and the function instantiated with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.node import set_note
from baton._src.ir.types import (
    Constructor,
    FuncType,
    IncompleteType,
    RelayRefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeVar,
)
from baton._src.passes.relay.fresh_copy import fresh_copy, substitute_in_code
from baton._src.relay.check.show import show_type
from baton._src.relay.check.substitute import leaves, substitute_types
from baton._src.relay.expressions import binders, parts, rewrite, walk
from baton._src.relay.nodes import Call, Function, Let, Var


def is_polymorphic(function: Any) -> bool:
    """Whether it is a typed function whose type has type parameters."""
    type_ = function.checked_type_ if isinstance(function, Function) else None
    return isinstance(type_, FuncType) and bool(type_.type_params)


def instance_of(scheme: FuncType, call: Call) -> dict[Any, Any] | None:
    """The type arguments of `scheme` at a typed call; None if they are not completely known."""
    mapping = type_arguments(scheme, call)
    known = all(v in mapping and _is_concrete(mapping[v]) for v in scheme.type_params)
    return {v: mapping[v] for v in scheme.type_params} if known else None


def type_arguments(scheme: FuncType, call: Call) -> dict[Any, Any]:
    """The type arguments of `scheme` at a typed call, as far as they can be inferred (in the caller's terms).

    Those that inference chose are taken first: a parameter that only relations mention, such as the type of what lies
    between two operators, shows neither in the arguments nor in the result.
    """
    chosen = call.chosen_type_args
    mapping: dict[Any, Any] = dict(zip(scheme.type_params, chosen)) if len(chosen) == len(scheme.type_params) else {}
    pairs = [*zip(scheme.arg_types, (a.checked_type_ for a in call.args)), (scheme.ret_type, call.checked_type_)]
    work = list(reversed(pairs))
    while work:
        general, found = work.pop()
        if isinstance(general, TypeVar):
            mapping.setdefault(general, found)
            continue
        work.extend(inner_pairs(general, found))
    return mapping


def inner_pairs(general: Any, found: Any) -> list[tuple[Any, Any]]:
    """The types (variables only, of shapes and dtypes) directly inside two types of one form, in pairs."""
    if type(general) is not type(found):
        return []
    match general:
        case TensorType():
            whole = isinstance(general.shape, TypeVar)
            shapes = [(general.shape, found.shape)] if whole else list(zip(general.shape, found.shape))
            return [p for p in (*shapes, (general.dtype, found.dtype)) if isinstance(p[0], TypeVar)]
        case TupleType():
            return list(zip(general.fields, found.fields))
        case FuncType():
            return [*zip(general.arg_types, found.arg_types), (general.ret_type, found.ret_type)]
        case TypeCall():
            return list(zip(general.args, found.args))
        case RelayRefType():
            return [(general.value, found.value)]
        case _:
            return []


def _is_concrete(found: Any) -> bool:
    if isinstance(found, tuple):
        return all(_is_concrete(d) for d in found)
    if found is None or isinstance(found, (TypeVar, IncompleteType)):
        return False
    return not hasattr(found, "specs") or not any(isinstance(x, (TypeVar, IncompleteType)) for x in leaves(found))


def needs_its_name(let: Let, order: Sequence[Any]) -> bool:
    """Whether the value of `let` is a polymorphic function that is a value somewhere in `order`, a walk over the let's
    scope, or is called with several types: inlined it would have one type.
    """
    if not is_polymorphic(let.value):
        return False
    found = set()
    for use in (n for n in order if let.var in parts(n)):
        called = isinstance(use, Call) and use.op is let.var and let.var not in use.args
        mapping = instance_of(let.value.checked_type, use) if called else None
        if mapping is None:
            return True
        found.add(", ".join(show_type(t) for t in mapping.values()))
    return len(found) > 1


def with_types(function: Function, mapping: dict[Any, Any], scheme: Any = None) -> Function:
    """A copy of `function` with fresh variables and its type parameters replaced by `mapping`."""
    type_ = scheme if scheme is not None else function.checked_type_
    assert isinstance(type_, FuncType)
    copy = fresh_copy(function.with_fields(body=_of_its_own(function.body, mapping)))
    params = [Var(p.name_hint, substitute_types(t, mapping), span=p.span) for p, t in zip(copy.params, type_.arg_types)]
    body = substitute_in_code(copy.body, {**mapping, **_fresh_holes(copy.body), **dict(zip(copy.params, params))})
    for node in (n for part in walk(body) for n in (part, *binders(part)) if _mentions(n, mapping)):
        set_note(node, "checked_type_", None)  # it is to be inferred
    result = substitute_types(type_.ret_type, mapping)
    return Function(params, body, result, None, copy.attrs, copy.span)


def _fresh_holes(body: Any) -> dict[Any, Any]:
    """Copies of the wildcards in what is written in `body`: they may stand for other types than in the original."""
    written: list[Any] = []
    for node in walk(body):
        written += [var.type_annotation for var in binders(node)]
        written += [node.ret_annotation] if isinstance(node, Function) else []
    found = (leaf for type_ in written if type_ is not None for leaf in leaves(type_))
    return {hole: IncompleteType(hole.kind) for hole in found if isinstance(hole, IncompleteType)}


def _of_its_own(body: Any, mapping: dict[Any, Any]) -> Any:
    """`body` with a fresh node wherever the type is polymorphic: `Nil` contains no variable, so copies would share it,
    and a node has one type.
    """

    def rule(old: GraphExpr, new: GraphExpr) -> Any:
        if new is not old or isinstance(old, (Var, Op, GlobalVar, Constructor)):
            return None
        return old.copy() if _mentions(old, mapping) else None

    return rewrite(body, rule)


def _mentions(node: Any, mapping: dict[Any, Any]) -> bool:
    """Whether the type of a node depends on these type variables."""
    type_ = getattr(node, "checked_type_", None)
    return type_ is not None and any(leaf in mapping for leaf in leaves(type_))
