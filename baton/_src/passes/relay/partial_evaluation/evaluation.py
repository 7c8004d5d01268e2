"""How `PartialEvaluate` evaluates a function: each step is executed now, or becomes part of the residual program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.module import IRModule
from baton._src.ir.types import Constructor
from baton._src.passes.relay.effects import is_stateful
from baton._src.passes.relay.partial_evaluation.folded_call import folded_call
from baton._src.passes.relay.partial_evaluation.partial_values import (
    Cell,
    Closure,
    Env,
    Fields,
    Lets,
    Partial,
    match_statically,
)
from baton._src.passes.relay.partial_evaluation.residual_types import ResidualTypes, type_instance
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import pattern_vars, walk
from baton._src.relay.nodes import (
    Call,
    Constant,
    Function,
    If,
    Let,
    Match,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.support.trampoline import Task, run
from baton._src.values.tensor import NDArray

LEFT = 20
"""Cost, in steps, of a step in an unfolded function whose value is not known: it stays in the residual program."""
SMALL = 40
"""Size, in nodes, up to which a function is unfolded in a branch although nothing is known about its arguments."""


class Evaluation:
    """Evaluates one function of the module, in A-normal form; `fuel` bounds the unfoldings, `work` the steps inside
    them.
    """

    def __init__(self, module: IRModule, fuel: int, work: int, has_effects: bool) -> None:
        self.work = work
        """The remaining steps."""
        self._module = module
        self._fuel = fuel
        self._has_effects = has_effects
        self._used: set[Any] = set()
        self._active: dict[Any, int] = {}
        self._blocked: frozenset[Any] = frozenset()
        self._uncertain = -1  # the body of the whole runs once
        self._store: dict[Cell, Partial] = {}
        self._types = ResidualTypes(module)
        self._sizes: dict[Any, int] = {}

    def whole(self, function: Function) -> Function:
        """The residual function."""
        made: Function = run(self._written_out(Closure(function, Env(None))))
        return made

    def _use(self, value: Partial) -> Any:
        """The atom of a value that the residual program uses."""
        if isinstance(value.expr, Var):
            self._used.add(value.expr)
        return value.expr

    # ---- scopes of the residual program

    def _scope(self, expr: GraphExpr, env: Env) -> Task[Any]:
        """`expr` as an expression of the residual program."""
        lets = Lets()
        result = yield self._chain(expr, env, lets)
        return (yield self._finished(lets, result))

    def _finished(self, lets: Lets, result: Partial) -> Task[Any]:
        """The lets that are needed around the result, decided from the last to the first."""
        body = self._use(result)
        for entry in reversed(lets.entries):
            if not entry.lazy or entry.var in self._used:
                body = Let(entry.var, (yield entry.make()), body)
        return body

    @contextmanager
    def _maybe_run(self, blocked: frozenset[Any]) -> Iterator[None]:
        """Evaluate code that may never run, or run often."""
        before = self._blocked
        self._blocked = blocked
        self._uncertain += 1
        try:
            yield
        finally:
            self._blocked = before
            self._uncertain -= 1

    def _written_out(self, closure: Closure) -> Task[Any]:
        """A function as part of the residual program."""
        function = closure.function
        env = Env(closure.env)
        added = self._types.enter(function.type_params)
        params = [
            Var(p.name_hint, self._types.written(p.type_annotation or p.checked_type_, env), span=p.span)
            for p in function.params
        ]
        env.values.update(zip(function.params, map(Partial, params)))
        store, self._store = self._store, {}
        with self._maybe_run(closure.blocked | {function}):
            body = yield self._scope(function.body, env)
        self._store = store
        result = self._types.written(function.ret_annotation, env)
        self._types.leave(added)
        return Function(params, body, result, function.type_params, function.attrs, function.span, where=function.where)

    # ---- evaluation

    def _chain(self, expr: Any, env: Env, lets: Lets) -> Task[Any]:
        while isinstance(expr, Let):
            value = env.values[expr.var] = yield self._value(expr.value, env, lets, expr.var.name_hint)
            if self._active:
                self.work -= LEFT if value.known is None else 1
            expr = expr.body
        return (yield self._value(expr, env, lets, "v"))

    def _value(self, expr: GraphExpr, env: Env, lets: Lets, hint: str) -> Task[Any]:
        match expr:
            case Call() if isinstance(expr.op, Op):
                return self._operator(expr, env, lets, hint)
            case Call() if isinstance(expr.op, Constructor):
                return self._fields(expr.args, expr.op, env, lets, hint, self._types.type_args(expr, env))
            case Call():
                args = [self._atom(a, env) for a in expr.args]
                return (yield self._call(self._atom(expr.op, env), args, expr, env, lets, hint))
            case Function():
                closure = Closure(expr, env, self._blocked | frozenset(self._active))
                return lets.add_task(hint, lambda: self._written_out(closure), closure)
            case If():
                return (yield self._if(expr, env, lets, hint))
            case Match():
                return (yield self._match(expr, env, lets, hint))
            case Tuple():
                return self._fields(expr.fields, None, env, lets, hint)
            case TupleGetItem():
                whole = self._atom(expr.tuple_value, env)
                if isinstance(whole.known, Fields):
                    return whole.known.fields[expr.index]
                return lets.add(hint, lambda: TupleGetItem(self._use(whole), expr.index))
            case RefCreate() | RefRead() | RefWrite():
                return self._reference(expr, env, lets, hint)
            case _:
                return self._atom(expr, env)

    def _atom(self, expr: GraphExpr, env: Env) -> Partial:
        match expr:
            case Var():
                return env.lookup(expr)
            case Constant():
                return Partial(expr, expr.data)
            case GlobalVar() if isinstance(self._module[expr], Function):
                return Partial(expr, Closure(self._module[expr], Env(None)))
            case _:
                return Partial(expr)

    def _fields(
        self, parts: Any, constructor: Constructor | None, env: Env, lets: Lets, hint: str, type_args: Any = ()
    ) -> Partial:
        fields = tuple(self._atom(p, env) for p in parts)

        def make() -> Any:
            used = [self._use(f) for f in fields]
            return Tuple(used) if constructor is None else Call(constructor, used, None, type_args)

        return lets.add(hint, make, Fields(fields, constructor))

    def _operator(self, call: Call, env: Env, lets: Lets, hint: str) -> Partial:
        args = [self._atom(a, env) for a in call.args]
        pure = not is_stateful(call.op)
        folded = folded_call(call, args) if pure else None
        if folded is not None:
            return folded

        def make() -> Any:
            return Call(call.op, [self._use(a) for a in args], call.attrs, span=call.span)

        return lets.add(hint, make, lazy=pure)

    def _reference(self, expr: Any, env: Env, lets: Lets, hint: str) -> Partial:
        if isinstance(expr, RefCreate):
            value = self._atom(expr.value, env)
            cell = Cell()
            self._store[cell] = value
            return lets.add(hint, lambda: RefCreate(self._use(value)), cell)
        ref = self._atom(expr.ref, env)
        if isinstance(expr, RefRead):
            if ref.known in self._store:
                return self._store[ref.known]
            found = lets.add(hint, lambda: RefRead(self._use(ref)))
            if isinstance(ref.known, Cell):
                self._store[ref.known] = found
            return found
        value = self._atom(expr.value, env)
        lets.add("_", lambda: RefWrite(self._use(ref), self._use(value)), lazy=False)
        if isinstance(ref.known, Cell):
            self._store[ref.known] = value
        else:
            self._store.clear()  # it may be any of them
        return lets.add("unit", lambda: Tuple(()), Fields(()))

    def _call(self, callee: Partial, args: list[Partial], call: Call, caller: Env, lets: Lets, hint: str) -> Task[Any]:
        closure = callee.known
        if isinstance(closure, Closure) and self._unfolds(closure.function, args):
            self._fuel -= 1
            function = closure.function
            env = Env(closure.env, type_instance(function, call, caller))
            env.values.update(zip(function.params, args))
            self._active[function] = self._active.get(function, 0) + 1
            result = yield self._chain(function.body, env, lets)
            self._active[function] -= 1
            if not self._active[function]:
                del self._active[function]
            return result
        if self._has_effects:
            self._store.clear()
        type_args = self._types.type_args(call, caller)

        def make() -> Any:
            return Call(self._use(callee), [self._use(a) for a in args], call.attrs, type_args, call.span)

        return lets.add(hint, make, lazy=not self._has_effects)

    def _unfolds(self, function: Function, args: list[Partial]) -> bool:
        if function in self._blocked or self._fuel <= 0 or self.work <= 0:
            return False
        if function.attrs.get("Primitive") or RelayFunctionPass.skips(function):
            return False
        if not self._uncertain:
            return True
        if function not in self._sizes:
            self._sizes[function] = len(walk(function.body))
        return self._sizes[function] <= SMALL or any(a.known is not None for a in args)

    # ---- decisions

    def _if(self, expr: If, env: Env, lets: Lets, hint: str) -> Task[Any]:
        cond = self._atom(expr.cond, env)
        if isinstance(cond.known, NDArray):
            chosen = expr.true_branch if bool(cond.known.data) else expr.false_branch
            return (yield self._chain(chosen, Env(env), lets))
        roots = [(expr.true_branch, Env(env)), (expr.false_branch, Env(env))]
        then, otherwise = yield self._branches(roots)
        return lets.add(hint, lambda: If(self._use(cond), then, otherwise, expr.span), lazy=not self._has_effects)

    def _match(self, expr: Match, env: Env, lets: Lets, hint: str) -> Task[Any]:
        data = self._atom(expr.data, env)
        left: list[Any] = []
        for clause in expr.clauses:
            bound: dict[Var, Partial] = {}
            fits = match_statically(clause.lhs, data, bound)
            if fits and not left:
                inner = Env(env)
                inner.values.update(bound)
                return (yield self._chain(clause.rhs, inner, lets))
            if fits is not False:
                left.append(clause)
        left = left or list(expr.clauses)  # none fits: it fails when it runs
        envs, patterns = [], []
        for clause in left:
            inner = Env(env)
            fresh = {v: Var(v.name_hint) for v in pattern_vars(clause.lhs)}
            inner.values.update((v, Partial(new)) for v, new in fresh.items())
            envs.append((clause.rhs, inner))
            patterns.append(_renamed(clause.lhs, fresh))
        branches = yield self._branches(envs)
        clauses = tuple(c.with_fields(lhs=p, rhs=b) for c, p, b in zip(left, patterns, branches))
        complete = expr.complete and len(left) == len(expr.clauses)

        def make() -> Any:
            return Match(self._use(data), clauses, complete, span=expr.span)

        return lets.add(hint, make, lazy=not self._has_effects)

    def _branches(self, roots: list[tuple[Any, Env]]) -> Task[Any]:
        """Evaluate each branch as a separate scope; what all of them leave unchanged stays known afterwards."""
        before = self._store
        made, after = [], []
        for root, env in roots:
            self._store = dict(before)
            with self._maybe_run(self._blocked | frozenset(self._active)):
                made.append((yield self._scope(root, env)))
            after.append(self._store)
        self._store = {c: v for c, v in before.items() if all(store.get(c) is v for store in after)}
        return made


def _renamed(pattern: Any, fresh: dict[Var, Var]) -> Any:
    match pattern:
        case PatternVar():
            return pattern.with_fields(var=fresh[pattern.var])
        case PatternConstructor() | PatternTuple():
            return pattern.with_fields(patterns=tuple(_renamed(p, fresh) for p in pattern.patterns))
        case _:
            return pattern
