"""Type inference: every expression of a module gets its `checked_type`.

    infer_type(module)   -> the module, its nodes' checked types filled in; errors are all reported at once
    infer_expr(expr)     -> the same for one expression, whose free variables count as declared

One pass in evaluation order with an explicit stack: an expression is typed after its parts, and undecided constraints
wait in the `solver`. Checked types are written into the nodes in place (they are notes), unless they had another type
before (`shared_nodes`); a parameter of a module's function without annotation is replaced by one with the inferred
type: `relay.build` needs it. A function that was
inferred before is not visited again unless the types of the globals it refers to have changed.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.node import set_note
from baton._src.ir.traverse import substitute
from baton._src.ir.types import IncompleteType, Type, TypeVar
from baton._src.relay.check.elaboration import Elaboration
from baton._src.relay.check.expression_walk import ExpressionWalk, declared_type, is_annotated
from baton._src.relay.check.kinds import definition_errors
from baton._src.relay.check.module_order import definition_order
from baton._src.relay.check.relations import STANDARD_RELATIONS, FunctionRelation
from baton._src.relay.check.shared_nodes import of_other_types, with_copies
from baton._src.relay.check.show import show_type
from baton._src.relay.check.solver import Solver
from baton._src.relay.check.substitute import leaves
from baton._src.relay.expressions import global_vars
from baton._src.relay.nodes import Function, Var
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.transform.collector import rarely_collecting

Relations = Mapping[str, FunctionRelation]
Mentions = Mapping[GlobalVar, list[GlobalVar]]
"""The globals that each function mentions."""

_inferred: weakref.WeakKeyDictionary[Any, tuple[dict[str, str], tuple[Any, ...]]] = weakref.WeakKeyDictionary()
"""A cache: completely typed functions, with the types of the globals and the ADTs that they depend on."""


_writing = threading.Lock()
"""Programs of several threads may share nodes, too."""


def infer_type(
    module: IRModule, *, relations: Relations = STANDARD_RELATIONS, elaboration: Elaboration | None = None
) -> IRModule:
    """Fill in the checked types of `module`'s Relay functions; `DiagnosticError` lists all errors."""
    with rarely_collecting(), bounded_types():
        return _infer_module(module, relations, elaboration)


def _infer_module(module: IRModule, relations: Relations, elaboration: Elaboration | None) -> IRModule:
    inference = Inference(module, relations, elaboration or Elaboration())
    inference.definitions_are_sound(module)
    functions = {var: f for var, f in module.functions.items() if isinstance(f, Function)}
    todo = inference.declare(functions, module)
    mentions = {var: global_vars(function) for var, function in todo.items()}
    for component in definition_order(todo, mentions):
        inference.infer_component(component, todo, mentions)
    shared = inference.finish()
    if shared:
        copies = dict(zip(todo, with_copies(list(todo.values()), shared)))
        return _infer_module(module.with_functions({**module.functions, **copies}), relations, elaboration)
    changed = {var: _annotated(function) for var, function in todo.items()}
    for var, function in changed.items():
        needed = {g.name_hint: show_type(inference.globals[g.name_hint]) for g in mentions[var]}
        _inferred[function] = (needed, tuple(module.type_definitions.values()))
    for var in functions:
        if var.checked_type_ is not inference.globals[var.name_hint]:  # another module has another function of the name
            set_note(var, "checked_type_", inference.globals[var.name_hint])
    if all(changed[var] is module.functions[var] for var in changed):
        return module
    return module.with_functions({**module.functions, **changed})


def counts_as_inferred(made: Function, origin: Function) -> None:
    """`made` is completely typed, as `origin` is, by a pass that wrote the types of what it added itself.

    It rests on the globals and ADTs of `origin`, and is not looked at again.
    """
    known = _inferred.get(origin)
    if known is not None:
        _inferred[made] = known


def infer_expr(
    expr: GraphExpr,
    module: IRModule | None = None,
    *,
    relations: Relations = STANDARD_RELATIONS,
    elaboration: Elaboration | None = None,
) -> Any:
    """Fill in the checked types of `expr`, whose globals are those of `module` (typed first)."""
    with rarely_collecting(), bounded_types():
        return _infer_single(expr, module, relations, elaboration)


def _infer_single(
    expr: GraphExpr, module: IRModule | None, relations: Relations, elaboration: Elaboration | None
) -> Any:
    around = infer_type(module, relations=relations) if module is not None else IRModule()
    inference = Inference(around, relations, elaboration or Elaboration())
    inference.definitions_are_sound(around)
    inference.declare({var: f for var, f in around.functions.items() if isinstance(f, Function)}, around)
    generalizes = isinstance(expr, Function)
    if generalizes:
        inference.solver.enter()
    inference.walk.infer(expr, free_allowed=True)
    if generalizes:
        inference.types[expr] = inference.solver.generalize(inference.types[expr])
    shared = inference.finish()
    if shared:
        (copy,) = with_copies([expr], shared)
        return _infer_single(copy, module, relations, elaboration)
    return expr


class Inference:
    """The functions of one module, or one expression among them: what is declared, and what is left undecided."""

    def __init__(self, module: IRModule, relations: Relations, elaboration: Elaboration) -> None:
        self.solver = Solver()
        self.walk = ExpressionWalk(self.solver, module.type_definitions, relations, elaboration)
        self.types = self.walk.types
        self.globals = self.walk.globals
        self.elaboration = elaboration

    def definitions_are_sound(self, module: IRModule) -> None:
        for data in module.type_definitions.values():
            for message in definition_errors(data, module.type_definitions):
                self.solver.report("relay-kind", message, data.span)

    def declare(self, functions: Mapping[GlobalVar, Function], module: IRModule) -> dict[GlobalVar, Function]:
        """Set the declared types of globals; return the functions that have to be inferred."""
        for var, function in functions.items():
            if function in _inferred:
                self.globals[var.name_hint] = function.checked_type_
            elif is_annotated(function):
                self.globals[var.name_hint] = declared_type(function)
        todo: dict[GlobalVar, Function] = {}
        stale = True
        while stale:
            stale = False
            for var, function in functions.items():
                if var not in todo and not self._is_current(function, module):
                    todo[var] = function
                    stale = True
                    if not is_annotated(function):
                        self.globals.pop(var.name_hint, None)
        for var in todo:
            self.globals.setdefault(var.name_hint, None)
        return todo

    def _is_current(self, function: Function, module: IRModule) -> bool:
        known = _inferred.get(function)
        if known is None:
            return False
        needed, definitions = known
        if any(module.type_definitions.get(d.header) is not d for d in definitions):
            return False
        return all(self.globals.get(n) is not None and show_type(self.globals[n]) == t for n, t in needed.items())

    def infer_component(
        self, component: list[GlobalVar], functions: Mapping[GlobalVar, Function], mentions: Mentions
    ) -> None:
        """Infer mutually recursive functions: each sees the others' declared types, or one unknown type per
        function.
        """
        solver = self.solver
        solver.enter()
        for var in component:
            if self.globals.get(var.name_hint) is None:
                self.globals[var.name_hint] = solver.unifier.hole()
                self.walk.uniform.add(var.name_hint)
        for var in component:
            before = len(solver.errors)
            function = functions[var]
            self.walk.infer(function)
            help = self.walk.recursion_help(var)
            seen = self.globals[var.name_hint]
            found = solver.expect(self.types[function], seen, f"@{var.name_hint}", function.span, help)
            if var.span is None and function.span is not None:
                set_note(var, "span", function.span)
            self.types[function] = self.types[function] if is_annotated(function) else found
            solver.errors[before:] = [e.within(f"in function @{var.name_hint}") for e in solver.errors[before:]]
        made = solver.generalize_group([self.types[functions[var]] for var in component])
        for var, type_ in zip(component, made):
            self.types[functions[var]] = self.globals[var.name_hint] = type_
        self._forget_mentions(component, mentions)

    def _forget_mentions(self, component: list[GlobalVar], mentions: Mentions) -> None:
        """Within the component a mention had the one type of all its calls; from here on it has the general one."""
        names = {var.name_hint for var in component}
        self.walk.uniform -= names
        for var in component:
            for mention in mentions[var]:
                if mention.name_hint in names:
                    self.types[mention] = self.globals[mention.name_hint]

    def finish(self) -> set[Any]:
        """Default undecided types, raise the collected errors, write the types into the nodes: into none if there are
        errors, so that nothing takes a part of what was found for the whole, and into none if there are nodes with
        other types, which are returned: another program may share them (`shared_nodes`)."""
        self.solver.finish()
        unifier = self.solver.unifier
        resolved: dict[Any, Any] = {}
        for node, type_ in self.types.items():
            if type_ not in resolved:
                found = resolved[type_] = unifier.resolve(type_)
                if any(isinstance(leaf, IncompleteType) and leaf not in unifier.poison for leaf in leaves(found)):
                    self._undetermined(node, found)
        if self.solver.errors:
            raise DiagnosticError(_without_echoes(self.solver.errors))
        shared = self._write({node: resolved[type_] for node, type_ in self.types.items()})
        if shared:
            return shared
        for name, type_ in self.globals.items():
            self.globals[name] = unifier.resolve(type_)
        for literal_, hole in self.elaboration.literals.items():
            self.elaboration.literals[literal_] = unifier.find(hole)
        chosen = self.elaboration.type_args
        self.elaboration.type_args = {call: tuple(unifier.resolve(t) for t in args) for call, args in chosen.items()}
        for call, args in self.elaboration.type_args.items():
            set_note(call, "chosen_type_args", args)
        return shared

    def _write(self, types: Mapping[Any, Any]) -> set[Any]:
        """Write the types into the nodes, or return those that have others."""
        with _writing:
            shared = of_other_types(types) - self.walk.free
            for node, type_ in types.items() if not shared else ():
                if not isinstance(node, Op):
                    set_note(node, "checked_type_", type_)
        return shared

    def _undetermined(self, node: GraphExpr, type_: Type) -> None:
        if not self.solver.errors:
            what = f"%{node.name_hint}" if isinstance(node, Var) else f"this {type(node).__name__.lower()}"
            message = f"unable to infer the type of {what}: only {show_type(type_)} is known"
            self.solver.report("relay-infer", message, node.span, "annotate it")


@contextmanager
def bounded_types() -> Iterator[None]:
    """Report an error for types nested too deeply; programs themselves may be as deep as memory allows."""
    try:
        yield
    except RecursionError:
        help = "a value of such a type (functions returning functions, nested tuples) is hundreds of levels deep"
        raise fail("relay-type-depth", "a type is nested too deep", help=help) from None


def _annotated(function: Function) -> Function:
    """`function` with the inferred types written at parameters that had none (unless they are polymorphic)."""
    fresh: dict[Any, Any] = {}
    for param in function.params:
        if param.type_annotation is None:
            found = param.checked_type_
            if not any(isinstance(leaf, TypeVar) for leaf in leaves(found)):
                fresh[param] = param.with_fields(type_annotation=found)
    made: Function = substitute(function, fresh, notes=False)
    return made


def _without_echoes(errors: list[Any]) -> list[Any]:
    """The distinct diagnostics, at most twenty."""
    seen: dict[tuple[Any, ...], Any] = {}
    for error in errors:
        seen.setdefault((error.code, error.message, error.span), error)
    return list(seen.values())[:20]
