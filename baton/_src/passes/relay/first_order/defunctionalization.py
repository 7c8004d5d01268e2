"""Defunctionalization: turn a higher-order program into a first-order one; function values become data.

    def @main(%x: int32) { let %f = fn (%y: int32) { %x + %y }; @twice(%f, 1) }
becomes
    type Function0 { Closure0(int32) }
    def @closure0(%x: int32, %y: int32) -> int32 { %x + %y }
    def @apply0(%f: Function0, %a0: int32) -> int32 { match (%f) { Closure0(%x) => @closure0(%x, %a0), } }
    def @main(%x: int32) { let %f = Closure0(%x); @twice_1(%f, 1) }

Each function type gets an ADT and an apply function; each function literal gets a constructor whose fields are its free
variables. Polymorphic functions are specialised first. Direct calls of functions of the module are kept.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.analysis.call_graph import call_graph, reachable
from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.global_names import free_name
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import substitute
from baton._src.ir.types import Constructor, FuncType, GlobalTypeVar, IncompleteType, TypeCall, TypeData, TypeVar
from baton._src.passes.relay.first_order.adt_twins import TwinBody, TypeTwins
from baton._src.passes.relay.first_order.monomorphic_form import monomorphic_form, translated_attrs
from baton._src.passes.relay.fresh_copy import fresh_copy
from baton._src.passes.relay.remove_unused_functions import RemoveUnusedFunctions
from baton._src.relay.analysis import free_vars
from baton._src.relay.check.infer_type import infer_type
from baton._src.relay.check.show import show_type
from baton._src.relay.check.substitute import leaves
from baton._src.relay.expressions import global_vars, parts, walk, with_parts
from baton._src.relay.nodes import (
    Call,
    Clause,
    Function,
    If,
    Let,
    Match,
    PatternConstructor,
    PatternVar,
    Var,
)
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.trampoline import Task, run
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


def defunctionalization(func: Function, mod: IRModule | None = None) -> Function:
    """`func` as a first-order function (TVM's `Defunctionalization(func, mod)`).

    The functions and types it needs are added to `mod` in place. What `mod` has stays as it is, for others to call;
    where that takes, gives or makes functions, `func` calls a first-order copy. Error `relay-defunctionalize` if `func`
    itself takes or gives functions.
    """
    module = mod if mod is not None else IRModule()
    root = GlobalVar(free_name("defunctionalized", module))
    called = RemoveUnusedFunctions((root.name_hint,))(
        module.with_functions({**module.functions, root: fresh_copy(func)})
    )
    before = monomorphic_form(called)
    made = infer_type(_Module(before).module())
    _check_first_order(made[root], func, module)
    added = _beside(module, root, before, made)
    types = {**module.type_definitions, **made.type_definitions}
    whole = infer_type(IRModule({**module.functions, **added}, types, module.attrs, module.global_infos))
    module.functions.update({v: whole.functions[v] for v in added if v is not root})
    module.type_definitions.update(made.type_definitions)
    found: Function = whole.functions[root]
    return found


def _beside(module: IRModule, root: GlobalVar, before: IRModule, made: IRModule) -> dict[GlobalVar, Any]:
    """What `root` needs of the functions of `made`, under names that `module` does not have.

    What is as it was `before`, and calls nothing else, `module` has already.
    """
    graph = call_graph(made)
    known = {v.name_hint: f for v, f in before.functions.items() if v is not root}
    changed = {v for v, f in made.functions.items() if not structural_equal(f, known.get(v.name_hint))}
    while more := {v for v in graph if v not in changed and not changed.isdisjoint(graph[v])}:
        changed |= more
    own = {v.name_hint for v in module.functions}
    needed = reachable({v: [c for c in graph[v] if c in changed or c.name_hint not in own] for v in graph}, [root])
    taken = own | {v.name_hint for v in made.functions}
    names: dict[str, GlobalVar] = {}
    for var in graph:
        if var in needed and var.name_hint in own:
            names[var.name_hint] = GlobalVar(free_name(var.name_hint, taken))
            taken.add(names[var.name_hint].name_hint)
    found = {}
    for var in graph:
        if var in needed:
            function = made.functions[var]
            called = {g: names[g.name_hint] for g in global_vars(function) if g.name_hint in names}
            found[names.get(var.name_hint, var)] = substitute(function, called, notes=False)
    return found


def _check_first_order(found: Function, func: Function, module: IRModule) -> None:
    """The types that `module` does not have yet are those of functions, and of data that holds functions."""
    named = [t for p in found.params for t in leaves(p.checked_type)] + list(leaves(found.checked_type.ret_type))
    if any(isinstance(t, GlobalTypeVar) and t not in module.type_definitions for t in named):
        message = "a function that takes or gives functions stays higher-order"
        raise fail("relay-defunctionalize", message, span=func.span, help="call it from one that does not")


@dataclass(frozen=True)
class Defunctionalize(Pass):
    """The whole module."""

    opt_level: ClassVar[int] = 1

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        prepared = monomorphic_form(module)
        return infer_type(_Module(prepared).module())


@dataclass
class _Kind:
    """The functions of one type."""

    name: GlobalTypeVar
    type: FuncType
    apply: GlobalVar
    clauses: list[tuple[Constructor, GlobalVar]]


class _Module:
    """A module in A-normal form whose function types are all known."""

    def __init__(self, module: IRModule) -> None:
        self.module_before = module
        self.kinds: dict[str, _Kind] = {}
        self.functions: dict[GlobalVar, Any] = {}
        self.twins = TypeTwins(module, "_data", lambda t: isinstance(t, FuncType), self.function_type, instances=True)
        self._count = 0
        self._taken = {v.name_hint for v in module.functions} | {v.name_hint for v in module.type_definitions}

    def module(self) -> IRModule:
        for var, function in self.module_before.functions.items():
            if isinstance(function, Function) and not function.type_params:
                self.functions[var] = run(_Body(self).function(function, (), function.params))
            else:
                self.functions[var] = function
        applied = 0
        while applied < len(self.kinds):  # the types of a function may mention further ones
            for kind in list(self.kinds.values())[applied:]:
                self.functions[kind.apply] = self._apply(kind)
                applied += 1
        types = {k.name: TypeData(k.name, (), [c for c, _ in k.clauses]) for k in self.kinds.values()}
        old = self.module_before
        return IRModule(
            self.functions, {**old.type_definitions, **self.twins.definitions, **types}, old.attrs, old.global_infos
        )

    def function_type(self, type_: FuncType) -> Any:
        """The ADT that represents functions of a type."""
        return TypeCall(self.kind(type_).name, ())

    def kind(self, type_: FuncType) -> _Kind:
        if any(isinstance(leaf, (TypeVar, IncompleteType)) for leaf in leaves(type_)):
            message = f"functions of type {show_type(type_)} are polymorphic"
            raise fail("relay-defunctionalize", message, help="give them (or the type that holds them) fixed types")
        key = show_type(type_)
        if key not in self.kinds:
            number = self.fresh("Function")
            name = GlobalTypeVar(f"Function{number}")
            self.kinds[key] = _Kind(name, type_, GlobalVar(f"apply{number}"), [])
        return self.kinds[key]

    def fresh(self, hint: str) -> int:
        """A number for new names."""
        self._count += 1
        while {f"{h}{self._count}" for h in (hint, "apply", "closure", "Closure")} & self._taken:
            self._count += 1
        return self._count

    def _apply(self, kind: _Kind) -> Function:
        function = Var("f", TypeCall(kind.name, ()))
        params = [Var(f"a{i}", self.twins.type(t)) for i, t in enumerate(kind.type.arg_types)]
        clauses = []
        for constructor, body in kind.clauses:
            fields = [Var(f"c{i}") for i in range(len(constructor.inputs))]
            pattern = PatternConstructor(constructor, tuple(PatternVar(f) for f in fields))
            clauses.append(Clause(pattern, Call(body, (*fields, *params))))
        return Function([function, *params], Match(function, tuple(clauses)), self.twins.type(kind.type.ret_type))


class _Body(TwinBody):
    """One function of the new module: its own variables."""

    def __init__(self, whole: _Module) -> None:
        super().__init__(whole.twins)
        self._whole = whole

    def function(
        self, function: Function, captured: Any, params: Any, named: tuple[Var, Any] | None = None
    ) -> Task[Any]:
        """`fn (captured, params)` with the body of `function`; `named` is the closure itself, for recursion."""
        every = [self._var(v) for v in (*captured, *params)]
        body = yield self._chain(function.body)
        if named is not None:
            var, constructor = named
            own = Call(constructor, [self._var(v) for v in captured])
            body = Let(self._var(var), own, body)
        result, attrs = self._whole.twins.type(function.checked_type.ret_type), translated_attrs(function)
        return Function(every, body, result, None, attrs, function.span)

    def _value(self, expr: GraphExpr, name: Var | None) -> Task[Any]:
        match expr:
            case Function():
                return (yield self._closure(expr, name))
            case If():
                branches = ((yield self._chain(expr.true_branch)), (yield self._chain(expr.false_branch)))
                return If(self._atom(expr.cond), *branches, span=expr.span)
            case Match():
                clauses = []
                for clause in expr.clauses:
                    rhs = yield self._chain(clause.rhs)
                    lhs = self._whole.twins.pattern(clause.lhs, self._var, expr.data.checked_type)
                    clauses.append(clause.with_fields(lhs=lhs, rhs=rhs))
                return Match(self._atom(expr.data), tuple(clauses), expr.complete, span=expr.span)
            case Call():
                args = tuple(self._atom(a) for a in expr.args)
                if isinstance(expr.op, Constructor):
                    made = self._whole.twins.constructor(expr.op, expr.checked_type)
                    return Call(made, args, expr.attrs, self._whole.twins.type_args(expr), expr.span)
                if isinstance(expr.op, (Op, GlobalVar)):
                    return Call(self._atom(expr.op), args, expr.attrs, span=expr.span)
                kind = self._whole.kind(expr.op.checked_type)
                return Call(kind.apply, (self._atom(expr.op), *args), span=expr.span)
            case Var():
                return self._atom(expr)
            case _:
                return with_parts(expr, {p: self._atom(p) for p in parts(expr)})

    def _closure(self, function: Function, name: Var | None) -> Task[Any]:
        """The closure as data; its body becomes a function of the module."""
        whole = self._whole
        recursive = name is not None and any(n is name for n in walk(function.body))
        captured = [v for v in free_vars(function) if v is not name]
        number = whole.fresh("Closure")
        kind = whole.kind(function.checked_type)
        inputs = tuple(whole.twins.type(v.checked_type) for v in captured)
        constructor = Constructor(f"Closure{number}", inputs, kind.name)
        body = GlobalVar(f"closure{number}")
        kind.clauses.append((constructor, body))
        named = (name, constructor) if recursive and name is not None else None
        whole.functions[body] = yield _Body(whole).function(function, captured, function.params, named)
        return Call(constructor, [self._var(v) for v in captured])

    def _atom(self, expr: GraphExpr) -> Any:
        match expr:
            case Var():
                return self._var(expr)
            case _:
                return expr


__all__ = ["Defunctionalize", "defunctionalization"]
