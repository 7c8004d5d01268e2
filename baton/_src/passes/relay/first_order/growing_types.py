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

_Parameter = tuple[str, TypeVar]
"""A type parameter, with the name of the global it is in: two may bind the same variable."""


def growing(functions: Mapping[str, Function], shared: bool = True) -> dict[Any, Call]:
    """Those of these globals (by name), and of the lets in them (by variable), whose copies would not end, each with a
    call that makes its types larger. Raises `DiagnosticError` if one function cannot serve all types: operators in it
    need to know them, or nothing may stay polymorphic (not `shared`).
    """
    within = {name: walk(function) for name, function in functions.items()}
    lets = {
        name: [n for n in nodes if isinstance(n, Let) and is_polymorphic(n.value)] for name, nodes in within.items()
    }
    schemes: dict[Any, FuncType] = {name: f.checked_type for name, f in functions.items() if is_polymorphic(f)}
    schemes |= {let.var: let.value.checked_type for found in lets.values() for let in found}
    owner: dict[_Parameter, Any] = {
        (name, p): name for name in functions if name in schemes for p in schemes[name].type_params
    }
    owner |= {(name, p): let.var for name, found in lets.items() for let in found for p in schemes[let.var].type_params}
    edges: dict[_Parameter, list[_Parameter]] = {param: [] for param in owner}
    larger: list[tuple[_Parameter, _Parameter, Call]] = []
    for name, call in ((name, n) for name, nodes in within.items() for n in nodes if isinstance(n, Call)):
        called = call.op.name_hint if isinstance(call.op, GlobalVar) else call.op
        scheme = schemes.get(called)
        for param, chosen in type_arguments(scheme, call).items() if scheme is not None else ():
            end = (called if isinstance(call.op, GlobalVar) else name, param)
            for leaf in _variables(chosen):
                if (name, leaf) in owner:
                    edges[name, leaf].append(end)
                    if chosen is not leaf:
                        larger.append(((name, leaf), end, call))
    circle = {param: n for n, found in enumerate(components(edges)) for param in found}
    grown = {owner[end]: call for a, b, call in larger if circle[a] == circle[b] for end in (a, b)}
    for name, call in grown.items():
        relations = ", ".join(dict.fromkeys(show_type(c) for c in schemes[name].type_constraints))
        if relations or not shared:
            raise _endless(call, relations)
    return grown


def _endless(call: Call, relations: str) -> DiagnosticError:
    types = ", ".join(show_type(a.checked_type) for a in call.args)
    message = f"{callee_name(call.op)} is called with more and more types by its own recursion, here with ({types})"
    passing = f", or pass functions for {relations}: operators need known types" if relations else ""
    return fail("relay-specialize", message, span=call.span, help=f"give its parameters fixed types{passing}")


def _variables(chosen: Any) -> list[Any]:
    """The type variables in a type argument, which may be a shape or a dtype."""
    dims = chosen if isinstance(chosen, tuple) else (chosen,)
    return [leaf for dim in dims if hasattr(dim, "specs") for leaf in leaves(dim) if isinstance(leaf, TypeVar)]
