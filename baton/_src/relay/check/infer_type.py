"""Type inference: every expression of a module gets its `checked_type`.

    infer_type(module)   -> the module, its nodes' checked types filled in; errors are all reported at once
    infer_expr(expr)     -> the same for one expression, whose free variables count as declared

One pass in evaluation order with an explicit stack: an expression's type is found when its parts have theirs, and
what is not decided yet waits in the `solver`. Checked types are written into the nodes in place (they are notes); a
parameter of a module's function that had no annotation is replaced by one with the type found: `relay.build` needs it.
A function that was inferred before is not looked at again unless the types of the globals it mentions have changed.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.ir.node import set_note
from baton._src.ir.traverse import substitute
from baton._src.ir.types import Constructor, FuncType, IncompleteType, RelayRefType, TupleType, TypeRelation, TypeVar
from baton._src.relay.check.elaboration import Elaboration
from baton._src.relay.check.expression_rules import ExpressionRules
from baton._src.relay.check.kinds import definition_errors
from baton._src.relay.check.module_order import definition_order
from baton._src.relay.check.relations import STANDARD_RELATIONS, FunctionRelation
from baton._src.relay.check.show import show_type
from baton._src.relay.check.solver import Solver
from baton._src.relay.check.substitute import leaves
from baton._src.relay.expressions import global_vars
from baton._src.relay.nodes import (
    Call,
    Constant,
    Function,
    If,
    Let,
    Match,
    RefCreate,
    RefRead,
    RefWrite,
    TempExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.transform.collector import rarely_collecting

Relations = Mapping[str, FunctionRelation]
Mentions = Mapping[GlobalVar, list[GlobalVar]]
"""The globals that each function mentions."""

_inferred: weakref.WeakKeyDictionary[Any, tuple[dict[str, str], tuple[Any, ...]]] = weakref.WeakKeyDictionary()
"""A cache: functions that are completely typed, with the types of the globals and the ADTs that this rests on."""


def infer_type(
    module: IRModule, *, relations: Relations = STANDARD_RELATIONS, elaboration: Elaboration | None = None
) -> IRModule:
    """Fill in the checked types of `module`'s Relay functions; `DiagnosticError` lists everything that is wrong."""
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
    inference.finish()
    changed = {var: _annotated(function) for var, function in todo.items()}
    for var, function in changed.items():
        needed = {g.name_hint: show_type(inference.globals[g.name_hint]) for g in mentions[var]}
        _inferred[function] = (needed, tuple(module.type_definitions.values()))
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
    expr: Any,
    module: IRModule | None = None,
    *,
    relations: Relations = STANDARD_RELATIONS,
    elaboration: Elaboration | None = None,
) -> Any:
    """Fill in the checked types of `expr`, whose globals are those of `module` (typed first)."""
    with rarely_collecting(), bounded_types():
        return _infer_single(expr, module, relations, elaboration)


def _infer_single(expr: Any, module: IRModule | None, relations: Relations, elaboration: Elaboration | None) -> Any:
    around = infer_type(module, relations=relations) if module is not None else IRModule()
    inference = Inference(around, relations, elaboration or Elaboration())
    inference.definitions_are_sound(around)
    inference.declare({var: f for var, f in around.functions.items() if isinstance(f, Function)}, around)
    generalizes = isinstance(expr, Function)
    if generalizes:
        inference.solver.enter()
    inference.infer(expr, free_allowed=True)
    if generalizes:
        inference.types[expr] = inference.solver.generalize(inference.types[expr])
    inference.finish()
    return expr


class Inference(ExpressionRules):
    """The traversal. `infer(root)` types everything below `root`."""

    def __init__(self, module: IRModule, relations: Relations, elaboration: Elaboration) -> None:
        super().__init__(Solver(), module.type_definitions, relations, elaboration)
        self._stack: list[tuple[Callable[[Any], None], Any]] = []
        self._free_allowed = False
        self._recursive: dict[Any, Any] = {}

    # ---- modules

    def definitions_are_sound(self, module: IRModule) -> None:
        for data in module.type_definitions.values():
            for message in definition_errors(data, module.type_definitions):
                self.solver.report("relay-kind", message, data.span)

    def declare(self, functions: Mapping[GlobalVar, Function], module: IRModule) -> dict[GlobalVar, Function]:
        """Give every global the type it declares; return the functions that need looking at."""
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
        """Functions that mention one another: each sees the others' declared types, or one unknown type a function."""
        solver = self.solver
        solver.enter()
        for var in component:
            if self.globals.get(var.name_hint) is None:
                self.globals[var.name_hint] = solver.unifier.hole()
                self.uniform.add(var.name_hint)
        for var in component:
            before = len(solver.errors)
            function = functions[var]
            self.infer(function)
            help = self.recursion_help(var)
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
        self.uniform -= names
        for var in component:
            for mention in mentions[var]:
                if mention.name_hint in names:
                    self.types[mention] = self.globals[mention.name_hint]

    def finish(self) -> None:
        """Decide what is left, raise what was found, write the types into the nodes."""
        self.solver.finish()
        unifier = self.solver.unifier
        resolved: dict[Any, Any] = {}
        for node, type_ in self.types.items():
            found = resolved.get(type_)
            if found is None:
                found = resolved[type_] = unifier.resolve(type_)
                if any(isinstance(leaf, IncompleteType) and leaf not in unifier.poison for leaf in leaves(found)):
                    self._undetermined(node, found)
            if not isinstance(node, Op):
                set_note(node, "checked_type_", found)
        if self.solver.errors:
            raise DiagnosticError(_without_echoes(self.solver.errors))
        for name, type_ in self.globals.items():
            self.globals[name] = unifier.resolve(type_)
        for literal_, hole in self.elaboration.literals.items():
            self.elaboration.literals[literal_] = unifier.find(hole)
        chosen = self.elaboration.type_args
        self.elaboration.type_args = {call: tuple(unifier.resolve(t) for t in args) for call, args in chosen.items()}
        for call, args in self.elaboration.type_args.items():
            set_note(call, "chosen_type_args", args)

    def _undetermined(self, node: Any, type_: Any) -> None:
        if not self.solver.errors:
            what = f"%{node.name_hint}" if isinstance(node, Var) else f"this {type(node).__name__.lower()}"
            message = f"unable to infer the type of {what}: only {show_type(type_)} is known"
            self.solver.report("relay-infer", message, node.span, "annotate it")

    # ---- expressions

    def infer(self, root: Any, *, free_allowed: bool = False) -> None:
        self._free_allowed = free_allowed
        stack = self._stack
        stack.append((self._visit, root))
        while stack:
            action, node = stack.pop()
            action(node)

    def _visit(self, node: Any) -> None:
        if node in self.types:
            return
        handler = _ENTER.get(type(node))
        if handler is None:
            handler = _enter_unknown
        handler(self, node)

    def _then(self, action: Callable[[Any], None], node: Any, parts: Iterable[Any]) -> None:
        """Visit `parts` in order, then do `action`."""
        self._stack.append((action, node))
        self._stack.extend((self._visit, part) for part in reversed(tuple(parts)) if part not in self.types)

    def enter_var(self, node: Var) -> None:
        if not self._free_allowed:
            self.solver.report("relay-unbound", f"%{node.name_hint} is not bound here", node.span, self._unbound(node))
        self.types[node] = self.written(node.type_annotation, node.span)

    def enclosing(self) -> Any:
        """The expression whose part is being visited: the last one that waits for its parts."""
        return next((node for action, node in reversed(self._stack) if action != self._visit), None)

    def _unbound(self, node: Var) -> str:
        """What to do about a variable that nothing binds."""
        bound = [v.name_hint for v in self.types if isinstance(v, Var)]
        name = node.name_hint
        if name in bound:
            return (
                f"there is another %{name}, but each relay.var({name!r}) is a variable of its own: use the one object"
            )
        near = get_close_matches(name, bound, n=1)
        guess = f"did you mean %{near[0]}? Else " if near else ""
        return f"{guess}make it a parameter, relay.Function([..., {name}], body), or bind it with relay.Let"

    def enter_call(self, node: Call) -> None:
        op = node.op
        self._then(
            self._exit_call, node, node.args if type(op) is Op and op.definition is not None else (op, *node.args)
        )

    def _exit_call(self, node: Call) -> None:
        self.types[node] = self.call(node)

    def enter_tuple(self, node: Tuple) -> None:
        self._then(self._exit_tuple, node, node.fields)

    def _exit_tuple(self, node: Tuple) -> None:
        self.types[node] = TupleType(tuple(self.types[f] for f in node.fields))

    def enter_projection(self, node: TupleGetItem) -> None:
        self._then(self._exit_projection, node, (node.tuple_value,))

    def _exit_projection(self, node: TupleGetItem) -> None:
        tuple_type = self.solver.unifier.find(self.types[node.tuple_value])
        if isinstance(tuple_type, TupleType) and 0 <= node.index < len(tuple_type.fields):
            self.types[node] = tuple_type.fields[node.index]
        else:
            self.types[node] = self.projection(node)

    def enter_if(self, node: If) -> None:
        self._then(self._exit_if, node, (node.cond, node.true_branch, node.false_branch))

    def _exit_if(self, node: If) -> None:
        self.types[node] = self.branch(node)

    def enter_ref_create(self, node: RefCreate) -> None:
        self._then(self._exit_ref_create, node, (node.value,))

    def _exit_ref_create(self, node: RefCreate) -> None:
        self.types[node] = RelayRefType(self.types[node.value])

    def enter_ref_read(self, node: RefRead) -> None:
        self._then(self._exit_ref_read, node, (node.ref,))

    def _exit_ref_read(self, node: RefRead) -> None:
        self.types[node] = self.reference_read(node)

    def enter_ref_write(self, node: RefWrite) -> None:
        self._then(self._exit_ref_write, node, (node.ref, node.value))

    def _exit_ref_write(self, node: RefWrite) -> None:
        self.types[node] = self.reference_write(node)

    # ---- binders

    def enter_let(self, node: Let) -> None:
        self._stack.append((self._let_body, node))
        value = node.value
        if isinstance(value, Function) and value not in self.types:
            self.solver.enter()
            var = node.var
            if var.type_annotation is not None:
                self.types[var] = self.written(var.type_annotation, var.span)
            elif is_annotated(value):
                self.types[var] = declared_type(value)
            else:
                self.types[var] = self.solver.unifier.hole()
                self.uniform.add(var)
            self._recursive[node] = self.types[var]
        self._stack.append((self._visit, value))

    def _let_body(self, node: Let) -> None:
        var, value = node.var, node.value
        found = self.types[value]
        if node in self._recursive:
            seen = self._recursive.pop(node)
            self.solver.expect(found, seen, f"let %{var.name_hint}", node.span, self.recursion_help(var))
            self.uniform.discard(var)
            found = self.types[value] = self.solver.generalize(found)
        if var.type_annotation is not None:
            wanted = self.written(var.type_annotation, var.span)
            self.solver.expect(found, wanted, f"let %{var.name_hint}", value.span or node.span)
            found = wanted
        if value in self.constants and value not in self.elaboration.literals:
            self.constants[var] = self.constants[value]
        self.types[var] = found
        self._then(self._exit_let, node, (node.body,))

    def _exit_let(self, node: Let) -> None:
        self.types[node] = self.types[node.body]

    def enter_function(self, node: Function) -> None:
        for param in node.params:
            self.types[param] = self.written(param.type_annotation, param.span)
        self._then(self._exit_function, node, (node.body,))

    def _exit_function(self, node: Function) -> None:
        params = tuple(self.types[p] for p in node.params)
        body = self.types[node.body]
        if node.ret_annotation is not None:
            wanted = self.written(node.ret_annotation, node.span)
            self.solver.expect(body, wanted, "the function's body", node.body.span or node.span)
            body = wanted
        for name in node.where:
            relation = self.relations.get(name)
            if relation is None:
                known = ", ".join(self.relations)
                self.solver.report("relay-relation", f"there is no relation {name}", node.span, f"known are {known}")
                continue
            self.solver.add(TypeRelation(relation, (*params, body), len(params)), (), f"where {name}", node.span)
        self.types[node] = FuncType(params, body, node.type_params)

    def enter_match(self, node: Match) -> None:
        self._then(self._match_clauses, node, (node.data,))

    def _match_clauses(self, node: Match) -> None:
        for clause in node.clauses:
            self.bind_pattern(clause.lhs, self.types[node.data])
        self._then(self._exit_match, node, (c.rhs for c in node.clauses))

    def _exit_match(self, node: Match) -> None:
        self.types[node] = self.match(node)

    def enter_leaf(self, node: Any) -> None:
        match node:
            case Constant():
                self.types[node] = self.constant(node)
            case GlobalVar():
                self.types[node] = self.global_var(node)
            case Constructor():
                self.types[node] = self.constructor(node)
            case _:
                self.types[node] = self.operator(node)


@contextmanager
def bounded_types() -> Iterator[None]:
    """Programs may be as deep as memory allows; the type of a single value may not: a clear error says so."""
    try:
        yield
    except RecursionError:
        help = "a value of such a type (functions returning functions, nested tuples) is hundreds of levels deep"
        raise fail("relay-type-depth", "a type is nested too deep", help=help) from None


def _enter_unknown(inference: Inference, node: Any) -> None:
    if isinstance(node, TempExpr):
        message = (
            f"a {type(node).__name__} is left over from a pass: temporary expressions have no meaning of their own"
        )
        raise fail("RELAY-TEMP-1", message, help="the pass that made it has to realize() it before it ends")
    around = inference.enclosing()
    place = f"a part of this {type(around).__name__} is" if around is not None else "this is"
    help = "wrap numbers and arrays: relay.const(...); operators are functions of relay, or relay.op.get(name)"
    if isinstance(getattr(node, "op", None), GlobalVar):
        help = f"@{node.op.name_hint}() without arguments is Relax's call; Relay's is relay.Call(f, [])"
    raise fail(
        "relay-node",
        f"{place} no Relay expression: {node!r}, of class {type(node).__name__}",
        span=getattr(around, "span", None),
        help=help,
    )


_ENTER: dict[type, Callable[[Inference, Any], None]] = {
    Var: Inference.enter_var,
    Constant: Inference.enter_leaf,
    GlobalVar: Inference.enter_leaf,
    Constructor: Inference.enter_leaf,
    Op: Inference.enter_leaf,
    Call: Inference.enter_call,
    Tuple: Inference.enter_tuple,
    TupleGetItem: Inference.enter_projection,
    If: Inference.enter_if,
    RefCreate: Inference.enter_ref_create,
    RefRead: Inference.enter_ref_read,
    RefWrite: Inference.enter_ref_write,
    Let: Inference.enter_let,
    Function: Inference.enter_function,
    Match: Inference.enter_match,
}


def is_annotated(function: Function) -> bool:
    """Its type can be read off its signature."""
    types = [*(p.type_annotation for p in function.params), function.ret_annotation]
    return not function.where and all(
        t is not None and not any(isinstance(leaf, IncompleteType) for leaf in leaves(t)) for t in types
    )


def declared_type(function: Function) -> FuncType:
    """The type an annotated function declares."""
    args = tuple(p.type_annotation for p in function.params if p.type_annotation is not None)
    assert function.ret_annotation is not None
    return FuncType(args, function.ret_annotation, function.type_params)


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
    """Each finding once, at most twenty."""
    seen: dict[tuple[Any, ...], Any] = {}
    for error in errors:
        seen.setdefault((error.code, error.message, error.span), error)
    return list(seen.values())[:20]
