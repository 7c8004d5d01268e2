"""Questions about Relay programs that need no more than a walk: variables, well-formedness, kinds, cases, features.

Names follow `tvm.relay.analysis`. Every answer lists things in order of first occurrence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.ir.types import Constructor, FuncType, GlobalTypeVar, TypeData, TypeKind, TypeVar
from baton._src.relay.check.exhaustiveness import coverage
from baton._src.relay.check.kinds import definition_errors, kind_errors, kind_of
from baton._src.relay.expressions import binders, parts, walk
from baton._src.relay.nodes import Function, If, Let, Match, Pattern, Var
from baton._src.relay.walks import scope_errors
from baton._src.support.diagnostics import fail


def all_vars(expr: Any) -> list[Var]:
    """Every variable, bound or free."""
    found: dict[Var, None] = {}
    for node in walk(expr):
        for var in binders(node):
            found.setdefault(var)
        if isinstance(node, Var):
            found.setdefault(node)
    return list(found)


def bound_vars(expr: Any) -> list[Var]:
    """The variables that functions, lets and patterns below `expr` (or a pattern) define."""
    if isinstance(expr, Pattern):
        return [n for n in post_order(expr) if isinstance(n, Var)]
    return list(dict.fromkeys(v for node in walk(expr) for v in binders(node)))


def free_vars(expr: Any) -> list[Var]:
    """The variables that are used but not defined, in order of first use."""
    bound = set(bound_vars(expr))
    return [n for n in walk(expr) if isinstance(n, Var) and n not in bound]


def all_type_vars(expr: Any, mod: IRModule | None = None) -> list[TypeVar]:
    """Every type variable of an expression or type."""
    return [n for n in post_order(expr) if isinstance(n, TypeVar)]


def bound_type_vars(expr: Any, mod: IRModule | None = None) -> list[TypeVar]:
    """The type variables that functions, function types and ADTs define."""
    found: dict[TypeVar, None] = {}
    for n in post_order(expr):
        if isinstance(n, (Function, FuncType)):
            found.update(dict.fromkeys(n.type_params))
        elif isinstance(n, TypeData):
            found.update(dict.fromkeys(n.type_vars))
    return list(found)


def free_type_vars(expr: Any, mod: IRModule | None = None) -> list[TypeVar]:
    """The type variables that are used but not defined."""
    bound = set(bound_type_vars(expr, mod))
    return [v for v in all_type_vars(expr, mod) if v not in bound]


def post_order_visit(expr: Any, fvisit: Callable[[Any], None]) -> None:
    """Call `fvisit` on every expression once, parts before wholes."""
    for node in walk(expr):
        fvisit(node)


def well_formed(expr: Any) -> bool:
    """No variable is defined twice (variables may be free, as in TVM), and there is no pass's leftover."""
    functions = expr.functions.values() if isinstance(expr, IRModule) else (expr,)
    return all(not scope_errors(f) for f in functions if not isinstance(expr, IRModule) or isinstance(f, Function))


def check_kind(t: Any, mod: IRModule | None = None) -> TypeKind:
    """The kind of the type `t`. Error `relay-kind` where a part of it stands where its kind does not fit."""
    kind = kind_of(t)
    definitions = mod.type_definitions if mod is not None else {}
    errors = definition_errors(t, definitions) if isinstance(t, TypeData) else kind_errors(t, definitions, kind)
    wrong = [] if isinstance(t, GlobalTypeVar) else list(errors)
    if wrong:
        raise fail("relay-kind", "; ".join(wrong))
    return kind


def unmatched_cases(match: Match, mod: IRModule | None = None) -> list[Pattern]:
    """Patterns that no clause of `match` covers. Error `module-missing`: `mod` does not define what is matched."""
    definitions = mod.type_definitions if mod is not None else {}
    for constructor in (n for clause in match.clauses for n in post_order(clause.lhs) if isinstance(n, Constructor)):
        if constructor.belong_to not in definitions:
            message = (
                f"the module does not define {constructor.belong_to.name_hint}, of which {constructor.name_hint} is"
            )
            raise fail("module-missing", message, help="pass the module that the match belongs to")
    return list(coverage([c.lhs for c in match.clauses], definitions).missing)


def called_globals(module: IRModule) -> dict[str, list[str]]:
    """The call graph: for each function the functions it mentions."""
    graph: dict[str, list[str]] = {}
    for var, function in module.functions.items():
        if isinstance(function, Function):
            names = (n.name_hint for n in walk(function) if isinstance(n, GlobalVar))
            graph[var.name_hint] = list(dict.fromkeys(names))
    return graph


def is_dataflow(expr: Any, module: IRModule | None = None) -> bool:
    """Whether `expr` is in seed 004's dataflow fragment: no if, no match, no recursion, here or in what is called."""
    work, seen = [expr], set()
    while work:
        root = work.pop()
        for node in walk(root):
            if isinstance(node, (If, Match)):
                return False
            if isinstance(node, Let) and isinstance(node.value, Function) and node.var in walk(node.value):
                return False
            if isinstance(node, GlobalVar) and module is not None and node.name_hint in module:
                if node.name_hint in seen:
                    continue
                seen.add(node.name_hint)
                if _reaches_itself(node.name_hint, called_globals(module)):
                    return False
                work.append(module[node])
    return True


def _reaches_itself(name: str, graph: dict[str, list[str]]) -> bool:
    work, seen = list(graph.get(name, ())), set()
    while work:
        top = work.pop()
        if top == name:
            return True
        if top not in seen:
            seen.add(top)
            work.extend(graph.get(top, ()))
    return False


def expression_features(program: Any) -> set[str]:
    """Which kinds of expressions occur (`detect_feature`), by class name; `Graph` if a node is shared, `LetRec` if a
    let is recursive."""
    roots = list(program.functions.values()) if isinstance(program, IRModule) else [program]
    found: set[str] = set()
    for root in roots:
        uses: dict[Any, int] = {}
        for node in walk(root):
            found.add(type(node).__name__)
            for part in parts(node):
                uses[part] = uses.get(part, 0) + 1
                if uses[part] > 1 and part.is_graph_node:
                    found.add("Graph")
            if isinstance(node, Let) and isinstance(node.value, Function) and node.var in walk(node.value):
                found.add("LetRec")
    return found
