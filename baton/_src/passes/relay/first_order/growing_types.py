"""Polymorphic functions that recursion calls with ever larger types: copies for each choice of types would not end.

    def @depth[A](%x: A, %n: int32) -> int32 { if (%n == 0) { 0 } else { @depth((%x, %x), %n - 1) + 1 } }

Type parameters are the nodes of a graph, with an edge from `A` to `B` where a call instantiates `B` with a type that
contains `A`. Types grow without end where a circle of the graph has an edge whose type is more than `A` alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.types import FuncType, TypeVar
from baton._src.passes.relay.type_instances import is_polymorphic, type_arguments
from baton._src.relay.check.expression_rules import callee_name
from baton._src.relay.check.show import show_type
from baton._src.relay.check.substitute import leaves
from baton._src.relay.expressions import walk
from baton._src.relay.nodes import Call, Function, Let
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.support.graphs import components


def growing(functions: Mapping[str, Function], shared: bool = True) -> dict[Any, Call]:
    """Those of these globals (by name), and of the lets in them (by variable), whose copies would not end, each with a
    call that makes its types larger. Raises `DiagnosticError` if one function cannot serve all types: operators in it
    need to know them, or nothing may stay polymorphic (not `shared`).
    """
    nodes = list(dict.fromkeys(node for function in functions.values() for node in walk(function)))
    schemes: dict[Any, FuncType] = {name: f.checked_type for name, f in functions.items() if is_polymorphic(f)}
    schemes |= {n.var: n.value.checked_type for n in nodes if isinstance(n, Let) and is_polymorphic(n.value)}
    owner = {param: name for name, scheme in schemes.items() for param in scheme.type_params}
    edges: dict[TypeVar, list[TypeVar]] = {param: [] for param in owner}
    larger: list[tuple[TypeVar, TypeVar, Call]] = []
    for call in (n for n in nodes if isinstance(n, Call)):
        scheme = schemes.get(call.op.name_hint if isinstance(call.op, GlobalVar) else call.op)
        for param, chosen in type_arguments(scheme, call).items() if scheme is not None else ():
            for source in (leaf for leaf in _variables(chosen) if leaf in owner):
                edges[source].append(param)
                if chosen is not source:
                    larger.append((source, param, call))
    circle = {param: n for n, found in enumerate(components(edges)) for param in found}
    found = {owner[end]: call for a, b, call in larger if circle[a] == circle[b] for end in (a, b)}
    for name, call in found.items():
        relations = ", ".join(dict.fromkeys(show_type(c) for c in schemes[name].type_constraints))
        if relations or not shared:
            raise _endless(call, relations)
    return found


def _endless(call: Call, relations: str) -> DiagnosticError:
    types = ", ".join(show_type(a.checked_type) for a in call.args)
    message = f"{callee_name(call.op)} is called with more and more types by its own recursion, here with ({types})"
    passing = f", or pass functions for {relations}: operators need known types" if relations else ""
    return fail("relay-specialize", message, span=call.span, help=f"give its parameters fixed types{passing}")


def _variables(chosen: Any) -> list[Any]:
    """The type variables in a type argument, which may be a shape or a dtype."""
    dims = chosen if isinstance(chosen, tuple) else (chosen,)
    return [leaf for dim in dims if hasattr(dim, "specs") for leaf in leaves(dim) if isinstance(leaf, TypeVar)]
