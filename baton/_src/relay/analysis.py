"""Analyses of Relay programs that are a single traversal: variables, well-formedness, kinds, cases, features.

Names follow `tvm.relay.analysis`. Every result is in order of first occurrence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.ir.types import Constructor, FuncType, GlobalTypeVar, Type, TypeData, TypeKind, TypeVar
from baton._src.relay.check.exhaustiveness import coverage
from baton._src.relay.check.kinds import definition_errors, kind_errors, kind_of
from baton._src.relay.expressions import binders, parts, pattern_vars, walk
from baton._src.relay.nodes import Function, If, Let, Match, Pattern, Var
from baton._src.relay.walks import Step, scope_errors, steps
from baton._src.support.diagnostics import fail
from baton._src.support.graphs import circles


def _must_be(wanted: tuple[type, ...], value: GraphExpr, what: str) -> None:
    """Error `api`: the analysis does not apply to `value`."""
    if not isinstance(value, wanted):
        raise fail("api", f"{what} was expected, got {type(value).__name__}", kind=TypeError)


def all_vars(expr: GraphExpr) -> list[Var]:
    """Every variable, bound or free; a binder's variables precede those in its scope."""
    _must_be((GraphExpr,), expr, "an expression")
    return list(dict.fromkeys(node for _, node in steps(expr) if isinstance(node, Var)))


def bound_vars(expr: GraphExpr) -> list[Var]:
    """The variables that functions, lets and patterns below `expr` (or a pattern) define, outer ones first."""
    if isinstance(expr, Pattern):
        return pattern_vars(expr)
    _must_be((GraphExpr,), expr, "an expression or a pattern")
    return list(dict.fromkeys(node for step, node in steps(expr) if step is Step.BIND))


def free_vars(expr: GraphExpr) -> list[Var]:
    """The variables that are used but not defined, in order of first use."""
    _must_be((GraphExpr,), expr, "an expression")
    order = walk(expr)
    bound = {var for node in order for var in binders(node)}
    return [n for n in order if isinstance(n, Var) and n not in bound]


def all_type_vars(expr: GraphExpr, mod: IRModule | None = None) -> list[TypeVar]:
    """Every type variable of an expression or type."""
    return [n for n in post_order(expr) if isinstance(n, TypeVar)]


def bound_type_vars(expr: GraphExpr, mod: IRModule | None = None) -> list[TypeVar]:
    """The type variables defined by functions, function types, ADTs, and the ADTs (in `mod`) of constructors.

    Error `module-missing`: `mod` does not define the ADT of a constructor.
    """
    order = post_order(expr)
    definitions = dict(mod.type_definitions) if mod is not None else {}
    definitions.update({n.header: n for n in order if isinstance(n, TypeData)})
    found: dict[TypeVar, None] = {}
    for n in order:
        match n:
            case Function() | FuncType():
                found.update(dict.fromkeys(n.type_params))
            case TypeData():
                found.update(dict.fromkeys(n.type_vars))
            case Constructor():
                found.update(dict.fromkeys(_definition(n, definitions).type_vars))
            case _:
                pass
    return list(found)


def _definition(constructor: Constructor, definitions: Mapping[GlobalTypeVar, TypeData]) -> TypeData:
    """The ADT to which `constructor` belongs."""
    owner = constructor.belong_to
    if owner not in definitions:
        message = f"the module does not define {owner.name_hint}, of which {constructor.name_hint} is"
        raise fail("module-missing", message, help="pass the module that the expression belongs to")
    return definitions[owner]


def free_type_vars(expr: GraphExpr, mod: IRModule | None = None) -> list[TypeVar]:
    """The type variables that are used but not defined."""
    bound = set(bound_type_vars(expr, mod))
    return [v for v in all_type_vars(expr, mod) if v not in bound]


def post_order_visit(expr: GraphExpr, fvisit: Callable[[Any], None]) -> None:
    """Call `fvisit` on every expression once, parts before wholes."""
    for node in walk(expr):
        fvisit(node)


def well_formed(expr: GraphExpr) -> bool:
    """Whether no variable is defined twice or used outside its scope (variables may be free, as in TVM), and no
    temporary expression of a pass remains.
    """
    _must_be((GraphExpr, IRModule), expr, "an expression or a module")
    functions = expr.functions.values() if isinstance(expr, IRModule) else (expr,)
    return all(not scope_errors(f) for f in functions if not isinstance(expr, IRModule) or isinstance(f, Function))


def check_kind(t: Any, mod: IRModule | None = None) -> TypeKind:
    """The kind of the type `t`. Error `relay-kind` where a part of it stands where its kind does not fit."""
    _must_be((Type,), t, "a type")
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
        _definition(constructor, definitions)
    return list(coverage([c.lhs for c in match.clauses], definitions).missing)


def called_globals(module: IRModule) -> dict[str, list[str]]:
    """The call graph: for each function the functions it refers to."""
    graph: dict[str, list[str]] = {}
    for var, function in module.functions.items():
        if isinstance(function, Function):
            names = (n.name_hint for n in walk(function) if isinstance(n, GlobalVar))
            graph[var.name_hint] = list(dict.fromkeys(names))
    return graph


def is_dataflow(expr: GraphExpr, module: IRModule | None = None) -> bool:
    """Whether `expr` is in seed 004's dataflow fragment: no if, no match, no recursion, here or in what is called."""
    work, seen = [expr], set()
    recursive = {name for group in circles(called_globals(module)) for name in group} if module is not None else set()
    while work:
        root = work.pop()
        for node in walk(root):
            if isinstance(node, (If, Match)):
                return False
            if isinstance(node, Let) and isinstance(node.value, Function) and node.var in walk(node.value):
                return False
            if isinstance(node, GlobalVar) and module is not None and node.name_hint in module:
                if node.name_hint in recursive:
                    return False
                if node.name_hint not in seen:
                    seen.add(node.name_hint)
                    work.append(module[node])
    return True


def expression_features(program: Any) -> set[str]:
    """Which kinds of expressions occur (`detect_feature`), by class name; `Graph` if a node is shared, `LetRec` if a
    let is recursive. The bodies of functions marked `Primitive` are not examined.
    """
    _must_be((GraphExpr, IRModule), program, "an expression or a module")
    roots = list(program.functions.values()) if isinstance(program, IRModule) else [program]
    found: set[str] = set()
    for root in roots:
        uses: dict[Any, int] = {}
        for node in post_order(root, below=_outside_primitives):
            found.add(type(node).__name__)
            if not _is_primitive(node) and any(True for _ in binders(node)):
                found.add(Var.__name__)
            for part in _outside_primitives(node):
                uses[part] = uses.get(part, 0) + 1
                if uses[part] > 1 and part.is_graph_node:
                    found.add("Graph")
            if isinstance(node, Let) and isinstance(node.value, Function) and node.var in walk(node.value):
                found.add("LetRec")
    return found


def _outside_primitives(node: GraphExpr) -> tuple[Any, ...]:
    return () if _is_primitive(node) else parts(node)


def _is_primitive(node: GraphExpr) -> bool:
    return isinstance(node, Function) and bool(node.attrs.get("Primitive"))
