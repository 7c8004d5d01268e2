"""Reverse-mode gradients of whole programs: ifs, matches, closures, references, recursion, and gradients of gradients.

Every float tensor becomes a dual number, the tensor with a reference to its gradient. One reference for the whole
program holds the back-propagator, a function without parameters that moves gradients from results to operands. An
operator

    %y = op(%x)      becomes      %y = (op(%x.0), ref(zeros)), and a new back-propagator

which first adds op's own contribution to `%x.1` and then calls the previous back-propagator. So operators are
differentiated in the reverse of their execution order, whatever the control flow was. Everything except operators is
unchanged, over dual numbers.

Source: the published design of Relay's higher-order gradient (dual numbers with a reference of back-propagator).
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, GraphExpr, Op
from baton._src.ir.global_names import free_name
from baton._src.ir.module import IRModule
from baton._src.ir.node import set_note
from baton._src.ir.op_def import NotApplicable
from baton._src.ir.types import Constructor, FuncType, RelayRefType, TensorType, TupleType, Type
from baton._src.passes.relay.first_order.monomorphic_form import monomorphic_form, translated_attrs
from baton._src.passes.relay.fresh_copy import fresh_copy
from baton._src.passes.relay.gradients.dual_numbers import UNIT, Duals, Lets, Translation
from baton._src.passes.relay.gradients.gradient_rules import gradient_rule
from baton._src.relay.check.infer_type import infer_expr, infer_type
from baton._src.relay.expressions import global_vars, parts, with_parts
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
    Tuple,
    Var,
)
from baton._src.support.diagnostics import fail
from baton._src.support.trampoline import Task, run

BACK = RelayRefType(FuncType((), UNIT))
"""The reference that holds the back-propagator."""


def higher_order_gradient(function: Function, module: IRModule) -> Function:
    """See `gradient`. Twins of the functions that `function` calls are added to `module` in place."""
    root = GlobalVar(free_name("gradient_root", module))
    if function.type_params:
        raise fail("relay-gradient", "a polymorphic function has no gradient", help="specialise it first")
    whole = module.with_functions({**_reachable(function, module), root: fresh_copy(function)})
    whole = monomorphic_form(whole)
    names = {v.name_hint: v for v in whole.functions if isinstance(whole[v], Function)}
    twins = {name: GlobalVar(free_name(f"{name}_ad", module)) for name in names if name != root.name_hint}
    duals = Duals(whole)
    made: dict[GlobalVar, Any] = {}
    for name, twin in twins.items():
        back = Var("back", BACK)
        body = run(_Function(duals, twins, back).function(whole[names[name]]))
        made[twin] = Function((*body.params, back), body.body, body.ret_annotation)
    result = _Entry(duals, twins).function(whole[root])
    for twin, added in made.items():
        module.functions[twin] = added
    module.type_definitions.update(duals.twins.definitions)
    typed = infer_type(module)
    for twin in made:
        module.functions[twin] = typed[twin]
    found: Function = infer_expr(result, module)
    return found


def _reachable(function: Function, module: IRModule) -> dict[GlobalVar, Any]:
    found: dict[str, GlobalVar] = {}
    work = [function]
    while work:
        for var in global_vars(work.pop()):
            if var.name_hint not in found and var.name_hint in module:
                found[var.name_hint] = module.get_global_var(var.name_hint)
                if isinstance(module[var], Function):
                    work.append(module[var])
    return {v: module[v] for v in found.values()}


class _Entry(Translation):
    """The function that calls the program over dual numbers and then the back-propagator."""

    def function(self, function: Function) -> Function:
        type_ = function.checked_type
        for t in (*type_.arg_types, type_.ret_type):
            _check_interface(t, function)
        back, lets = Var("back", BACK), Lets(self.build)
        params = [Var(p.name_hint, t) for p, t in zip(function.params, type_.arg_types)]
        for param, t in zip(params, type_.arg_types):
            set_note(param, "checked_type_", t)
        program = run(_Function(self.duals, self.names, back).function(function))
        lets.name(back, RefCreate(Function((), Tuple(()), UNIT)))
        duals = [self.lifted(p, t, lets) for p, t in zip(params, type_.arg_types)]
        called = lets.bind(program, "program", type_)
        result = lets.bind(Call(called, duals), "result", self.duals.type(type_.ret_type))
        value = self.primal(result, type_.ret_type, lets)
        if self.duals.has_floats(type_.ret_type):
            self.add_gradient(result, type_.ret_type, self._ones(value, type_.ret_type), lets)
        propagate = lets.bind(RefRead(back), "propagate", UNIT)
        lets.bind(Call(propagate, ()), "_", UNIT)
        grads = [self.gradient(d, t, lets) for d, t in zip(duals, type_.arg_types)]
        return Function(params, lets.around(Tuple((value, Tuple(grads)))), None, None, translated_attrs(function))

    def _ones(self, value: GraphExpr, type_: Type) -> Any:
        if isinstance(type_, TupleType):
            return self.build.tuple(*(self._ones(self.build.item(value, i), t) for i, t in enumerate(type_.fields)))
        return self.build.op("ones_like", value)


def _check_interface(type_: Type, function: Function) -> None:
    work = [type_]
    while work:
        top = work.pop()
        if isinstance(top, TupleType):
            work += top.fields
        elif not isinstance(top, TensorType):
            message = "a function to be differentiated takes and gives tensors, and tuples of them"
            raise fail("relay-gradient", message, span=function.span, help="make lists and functions inside of it")


class _Function(Translation):
    """One function of the program, in A-normal form, over dual numbers."""

    def __init__(self, duals: Duals, names: dict[str, GlobalVar], back: Var) -> None:
        super().__init__(duals, names)
        self._back = back
        self._vars: dict[Var, Var] = {}

    def function(self, function: Function) -> Task[Any]:
        """Translate a function literal; it shares the back-propagator with all others."""
        params = [self._var(p) for p in function.params]
        body = yield self._body(function.body)
        result = self.duals.type(function.checked_type.ret_type)
        return Function(params, body, result, None, translated_attrs(function), function.span)

    def _var(self, var: Var) -> Var:
        if var not in self._vars:
            known = var.type_annotation if var.type_annotation is not None else var.checked_type_
            self._vars[var] = Var(var.name_hint, self.duals.type(known), span=var.span)
        return self._vars[var]

    def _body(self, expr: GraphExpr) -> Task[Any]:
        lets = Lets(self.build)
        while isinstance(expr, Let):
            lets.name(self._var(expr.var), (yield self._value(expr.value, lets)))
            expr = expr.body
        return lets.around((yield self._value(expr, lets)))

    def _value(self, expr: GraphExpr, lets: Lets) -> Task[Any]:
        match expr:
            case Function():
                return (yield self.function(expr))
            case If():
                branches = ((yield self._body(expr.true_branch)), (yield self._body(expr.false_branch)))
                return If(self._atom(expr.cond, lets), *branches, span=expr.span)
            case Match():
                clauses = []
                for clause in expr.clauses:
                    rhs = yield self._body(clause.rhs)
                    clauses.append(clause.with_fields(lhs=self.duals.twins.pattern(clause.lhs, self._var), rhs=rhs))
                return Match(self._atom(expr.data, lets), tuple(clauses), expr.complete, span=expr.span)
            case Call() if isinstance(expr.op, Op):
                return self._operator(expr, lets)
            case Call():
                more = (self._back,) if isinstance(expr.op, GlobalVar) else ()
                args = [self._atom(a, lets) for a in expr.args]
                types = self.duals.twins.type_args(expr)
                return Call(self._atom(expr.op, lets), (*args, *more), None, types, expr.span)
            case Var() | Constant() | Constructor():
                return self._atom(expr, lets)
            case _:
                return with_parts(expr, {p: self._atom(p, lets) for p in parts(expr)})

    def _atom(self, expr: GraphExpr, lets: Lets) -> Any:
        match expr:
            case Var():
                return self._var(expr)
            case Constant():
                return self.lifted(expr, expr.checked_type, lets)
            case GlobalVar():
                return self.names.get(expr.name_hint, expr)
            case Constructor():
                return self.duals.twins.constructor(expr)
            case _:
                return expr

    def _operator(self, call: Call, lets: Lets) -> Any:
        types = [a.checked_type for a in call.args]
        duals = [a if isinstance(a, Constant) else self._atom(a, lets) for a in call.args]
        args = [self.primal(d, t, lets) for d, t in zip(duals, types)]
        for arg, t in zip(args, types):
            if arg.checked_type_ is None:
                set_note(arg, "checked_type_", t)
        type_ = call.checked_type
        value = lets.bind(call.with_fields(args=tuple(args)), "y", type_)
        rule = gradient_rule(call.op)
        moves = any(self.duals.has_floats(t) and not isinstance(d, Constant) for d, t in zip(duals, types))
        result = self.lifted(value, type_, lets)
        if not self.duals.has_floats(type_) or not moves:
            return result
        if isinstance(rule, NotApplicable):
            raise fail("relay-gradient", f"{call.op.name} has no gradient: {rule.why}", span=call.span)
        before = lets.bind(RefRead(self._back), "before", UNIT)
        inner = Lets(self.build)
        grad = self.gradient(result, type_, inner)
        self.build.describe(value, grad, *args)
        for dual, t, piece in zip(duals, types, rule(self.build, tuple(args), call.attrs, value, grad)):
            self.add_gradient(dual, t, piece, inner)
        propagate = Function((), inner.around(Call(before, ())), UNIT)
        lets.bind(RefWrite(self._back, propagate), "_", UNIT)
        return result
