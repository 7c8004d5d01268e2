"""ToCPS: continuation-passing style. Every function takes a continuation for its result, and no call returns.

    def @f(%x: float32) -> float32 { @g(%x) + 1f }
becomes
    def @f_cps[answer](%x: float32, %k: fn(float32) -> answer) -> answer {
      @g_cps(%x, fn (%v: float32) -> answer { %k(%v + 1f) })
    }

This covers the whole language (lets, closures, recursion, ifs, matches, references) except calls of operators and
constructors, which are unchanged. Everything that runs within one call has the same answer type, so a function value
(an argument, or in a reference or an ADT) takes continuations with that answer type; ADTs with functions in their
fields get twins with the answer type as a type parameter. The code after an if or a match becomes a function that both
branches call.

`un_cps` restores the original interface by passing the identity as continuation.
"""

from __future__ import annotations

from typing import Any, ClassVar

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.global_names import free_name
from baton._src.ir.module import IRModule
from baton._src.ir.structural import structural_equal
from baton._src.ir.types import Constructor, FuncType, Type, TypeVar
from baton._src.passes.relay.first_order.adt_twins import TypeTwins
from baton._src.passes.relay.first_order.monomorphic_form import expanded_form, translated_attrs
from baton._src.passes.relay.fresh_copy import fresh_copy
from baton._src.relay.check.infer_type import infer_expr, infer_type
from baton._src.relay.expressions import parts, pattern_vars, with_parts
from baton._src.relay.nodes import Call, Function, If, Let, Match, PatternVar, Var
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.support.trampoline import Task, run
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


def to_cps(func: Any, mod: IRModule | None = None) -> Function:
    """`func` in continuation-passing style. The functions it calls get twins `@name_cps`, added to `mod` in place
    (as in TVM): without a module it may call none."""
    module = mod if mod is not None else IRModule()
    function = module[func] if isinstance(func, GlobalVar) else func
    name = GlobalVar(free_name("to_cps_argument", module))
    made = _Module(module.with_functions({**module.functions, name: fresh_copy(function)})).translated()
    found: Function = made[made.get_global_var(f"{name.name_hint}_cps")]
    for var, added in made.functions.items():
        if added is not found and var.name_hint not in module and var is not name:
            module.functions[var] = added
    module.type_definitions.update(made.type_definitions)
    return found


def un_cps(func: Function) -> Function:
    """A function of `to_cps` without its continuation: `fn (params) { function(params, identity) }`.

    What is higher-order in the interface stays as `to_cps` made it. Error `relay-cps` if the last parameter is not a
    continuation.
    """
    function = func if func.checked_type_ is not None else infer_expr(func)
    type_ = function.checked_type
    last = type_.arg_types[-1] if type_.arg_types else None
    answer = type_.ret_type
    if not isinstance(last, FuncType) or len(last.arg_types) != 1 or last.ret_type is not answer:
        help = "its last parameter takes the result and gives the answer, which is the function's type"
        raise fail("relay-cps", "this function takes no continuation", span=function.span, help=help)
    copy = fresh_copy(function)
    result = last.arg_types[0]
    value = Var("v")
    params = copy.params[:-1]
    outer = [Var(p.name_hint, t) for p, t in zip(params, type_.arg_types)]
    call = Call(copy, [*outer, Function([value], value)])
    rest = tuple(v for v in type_.type_params if v is not answer)
    return Function(outer, call, result, rest, {k: v for k, v in copy.attrs.items() if k != "CPS"})


@dataclass(frozen=True)
class ToCPS(Pass):
    """Every function gets a twin in continuation-passing style, and becomes a call of it with the identity.

    A function that takes or returns functions is kept unchanged alongside its twin, for callers outside the module.
    """

    opt_level: ClassVar[int] = 1

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return _Module(module).wrapped()


class _Module:
    """All functions of a module."""

    def __init__(self, module: IRModule) -> None:
        self._module = expanded_form(module)
        self._styles = _Styles(self._module)
        self._names = {
            v: GlobalVar(f"{v.name_hint}_cps")
            for v, f in self._module.functions.items()
            if isinstance(f, Function) and f"{v.name_hint}_cps" not in module
        }
        by_name = {v.name_hint: twin for v, twin in self._names.items()}
        self._by_name = {**{v.name_hint[:-4]: v for v in module.functions if v.name_hint.endswith("_cps")}, **by_name}

    def translated(self) -> IRModule:
        """The module with the twins, typed."""
        functions = dict(self._module.functions)
        for var, name in self._names.items():
            functions[name] = _Function(self._styles, self._by_name).whole(self._module[var])
        return infer_type(self._styles.twins.with_definitions(self._module).with_functions(functions))

    def wrapped(self) -> IRModule:
        made = self.translated()
        functions = dict(made.functions)
        for var, name in self._names.items():
            old = self._module[var]
            type_ = old.checked_type
            if all(self._looks_the_same(t) for t in (*type_.arg_types, type_.ret_type)):
                params = [p.copy() for p in old.params]
                value = Var("v", type_.ret_type)
                call = Call(name, [*params, Function([value], value)])
                attrs = translated_attrs(old)
                functions[var] = Function(params, call, type_.ret_type, type_.type_params, attrs, old.span)
        return infer_type(made.with_functions(functions))

    def _looks_the_same(self, type_: Type) -> bool:
        """Whether values of a type have the same representation in both styles: it contains no functions."""
        return structural_equal(self._styles.twins.type(type_), type_, map_free_vars=False)


class _Styles:
    """Types in continuation-passing style. Every function names its answer type by the same type variable."""

    def __init__(self, module: IRModule) -> None:
        self.answer = TypeVar("answer")
        self.twins = TypeTwins(module, "_cps", lambda t: isinstance(t, FuncType), self._function_type, self.answer)

    def _function_type(self, type_: FuncType) -> FuncType:
        args = tuple(self.twins.type(a) for a in type_.arg_types)
        return FuncType((*args, self.continuation_type(type_.ret_type)), self.answer, type_.type_params)

    def continuation_type(self, result: Any) -> FuncType:
        """The type of a continuation for results of a type."""
        return FuncType((self.twins.type(result),), self.answer)


class _Function:
    """One function of the module, in A-normal form: every operand is a name."""

    def __init__(self, styles: _Styles, names: dict[str, GlobalVar]) -> None:
        self._names = names
        self._styles = styles
        self._answer = styles.answer
        self._twins = styles.twins
        self._vars: dict[Var, Var] = {}

    def whole(self, function: Function) -> Function:
        made: Function = run(self._function(function, (self._answer,)))
        return made.with_attr("CPS", 1)

    def _var(self, var: Var) -> Var:
        """The variable that replaces one of the program: the same name, with its type in the new style."""
        if var not in self._vars:
            known = var.type_annotation if var.type_annotation is not None else var.checked_type_
            if isinstance(known, FuncType) and known.type_params:
                known = None  # a generalised let: its function says so itself
            self._vars[var] = Var(var.name_hint, self._twins.type(known), span=var.span)
        return self._vars[var]

    def _function(self, function: Function, more: tuple[TypeVar, ...] = ()) -> Task[Any]:
        type_ = function.checked_type
        params = [self._var(p) for p in function.params]
        k = Var("k", self._styles.continuation_type(type_.ret_type))
        body = yield self._tail(function.body, k)
        parameters, attrs = (*type_.type_params, *more), translated_attrs(function)
        return Function((*params, k), body, self._answer, parameters, attrs, function.span)

    def _tail(self, expr: GraphExpr, k: Any) -> Task[Any]:
        """Evaluate `expr` and pass its value to `k`. Lets are collected first, then wrapped from the last to the
        first.
        """
        chain: list[Let] = []
        while isinstance(expr, Let):
            chain.append(expr)
            expr = expr.body
        made = yield self._give(expr, k)
        for let in reversed(chain):
            if _is_direct(let.value):
                value = yield self._direct(let.value)
                made = Let(self._var(let.var), value, made, let.span)
            else:
                made = yield self._before(let, made)
        return made

    def _before(self, let: Let, rest: Any) -> Task[Any]:
        """Translate a let of a call, an if or a match, with `rest` as the code after it."""
        var = self._var(let.var)
        ends = isinstance(rest, Call) and isinstance(rest.op, Var) and rest.args == (var,)
        then = rest.op if ends else Function([var], rest, self._answer)  # a call at the end stays one
        if isinstance(let.value, Call):
            return self._call(let.value, then)
        if ends:
            return (yield self._tail(let.value, then))
        k = Var("k", self._styles.continuation_type(let.value.checked_type))
        return Let(k, then, (yield self._tail(let.value, k)))

    def _give(self, expr: GraphExpr, k: Any) -> Task[Any]:
        match expr:
            case If():
                branches = ((yield self._tail(expr.true_branch, k)), (yield self._tail(expr.false_branch, k)))
                return If(self._atom(expr.cond), *branches, span=expr.span)
            case Match():
                clauses = []
                for clause in expr.clauses:
                    renamed = {v: self._var(v) for v in pattern_vars(clause.lhs)}
                    lhs = _renamed(self._twins.pattern(clause.lhs), renamed)
                    clauses.append(clause.with_fields(lhs=lhs, rhs=(yield self._tail(clause.rhs, k))))
                return Match(self._atom(expr.data), tuple(clauses), expr.complete, span=expr.span)
            case Call() if not _is_direct(expr):
                return self._call(expr, k)
            case _:
                return Call(k, ((yield self._direct(expr)),))

    def _call(self, call: Call, then: Any) -> Call:
        callee = self._atom(call.op)
        if isinstance(call.op, GlobalVar):
            callee = self._names[call.op.name_hint]
        args = (*(self._atom(a) for a in call.args), then)
        return Call(callee, args, call.attrs, self._twins.type_args(call), call.span)

    def _direct(self, expr: GraphExpr) -> Task[Any]:
        """Translate an expression that needs no continuation: operators, constructors, data, function literals,
        names.
        """
        match expr:
            case Function():
                return (yield self._function(expr))
            case Call():
                args = tuple(self._atom(a) for a in expr.args)
                return Call(self._atom(expr.op), args, expr.attrs, self._twins.type_args(expr), expr.span)
            case Var():
                return self._var(expr)
            case _:
                return with_parts(expr, {p: self._atom(p) for p in parts(expr)})

    def _atom(self, expr: GraphExpr) -> Any:
        match expr:
            case Var():
                return self._var(expr)
            case Constructor():
                return self._twins.constructor(expr)
            case _:
                return expr


def _is_direct(expr: GraphExpr) -> bool:
    if isinstance(expr, Call):
        return isinstance(expr.op, (Op, Constructor))
    return not isinstance(expr, (If, Match))


def _renamed(pattern: Any, renamed: dict[Var, Var]) -> Any:
    if isinstance(pattern, PatternVar):
        return pattern.with_fields(var=renamed[pattern.var])
    inner = getattr(pattern, "patterns", None)
    return pattern if not inner else pattern.with_fields(patterns=tuple(_renamed(p, renamed) for p in inner))


__all__ = ["ToCPS", "to_cps", "un_cps"]
