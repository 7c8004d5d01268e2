"""LambdaLift: functions inside functions become functions of the module.

    def outer(y):                              def outer(y):
        def inner(x): return R.add(x, y)           inner = R.make_closure(cls.outer_inner, (y,))
        return inner(y)                ->          return R.invoke_pure_closure(inner, (y,), sinfo_args=...)

                                               def outer_inner(x, y): return R.add(x, y)

The free variables of an inner function become trailing parameters; shape variables that no parameter determines are
captured as a shape. A function without free variables is replaced by its new name. Where a closure is used as a value,
a match_cast restores its type. Recursion is kept: a lifted function calls itself by its new name (`lifted_names`).
"""

from __future__ import annotations

from typing import Any

from baton._src.analysis.variables import bound_vars, free_symbolic_vars, free_vars
from baton._src.ir.expr import GlobalVar
from baton._src.ir.module import IRModule
from baton._src.ir.traverse import children, post_order, rewrite, substitute
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.bindings.lifted_names import lifted_names
from baton._src.passes.relax.module_rewriter import ModuleRewriter
from baton._src.relax.check.erase import substitute_holders, without_holders
from baton._src.relax.check.signatures import function_info
from baton._src.relax.check.variables import definable_tir_vars_in_struct_info, shape_holders
from baton._src.relax.nodes import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    MatchCast,
    SeqExpr,
    ShapeExpr,
    Tuple,
    Var,
    VarBinding,
)
from baton._src.relax.own_variables import mentioned_symbols, with_own_symbols
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import FuncStructInfo, ObjectStructInfo, ShapeStructInfo, TensorStructInfo
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import Var as TirVar
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class LambdaLift(Pass):
    """See the module."""

    opt_level = 1

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return _Lifter(module).rewritten()


class _Lifter(ModuleRewriter):
    def __init__(self, module: IRModule) -> None:
        super().__init__(module)
        self.names = lifted_names(module)
        self.closures: dict[Var, Var] = {}
        """For each variable of a lifted function with free variables, the variable of its closure."""
        self.symbols: list[set[TirVar]] = []
        """The shape variables that each function being rewritten binds, outermost first."""

    def enter_function(self, function: Function) -> None:
        self.symbols.append({v for p in function.params for v in definable_tir_vars_in_struct_info(p.struct_info)})

    def visit_binding(self, binding: Binding) -> None:
        if isinstance(binding, VarBinding) and isinstance(binding.value, Function):
            self._lift(binding.var, binding.value)
        elif isinstance(binding, VarBinding) and isinstance(binding.value, Call) and binding.value.op in self.closures:
            self.keep(VarBinding(binding.var, self._invoke(binding.value), binding.span))
        else:
            if isinstance(binding, MatchCast):
                self.symbols[-1].update(definable_tir_vars_in_struct_info(binding.struct_info))
            super().visit_binding(binding)

    def _lift(self, var: Var, function: Function) -> None:
        name = GlobalVar(self.names[self.at, var])
        captured = [v for v in free_vars(function) if v is not var]
        symbols = _unshown(function, captured, set().union(*self.symbols))
        arguments: list[Any] = [*captured, *((ShapeExpr(symbols),) if symbols else ())]
        self.add(name, _with_captures(name, var, function, captured, symbols))
        if not arguments:
            self.replace(var, name)
            return
        closure = self.normalized(Call(special_op("make_closure"), [name, Tuple(arguments)]))
        kind = DataflowVar if isinstance(var, DataflowVar) else Var
        held = kind(var.name_hint, ObjectStructInfo())
        self.keep(VarBinding(held, closure))
        self.closures[var] = held
        info = var.struct_info_ if isinstance(var.struct_info_, FuncStructInfo) else function_info(function)
        self.keep(MatchCast(var, held, info))

    def _invoke(self, call: Call) -> Call:
        """A call of a closure as an operator call."""
        closure = self.closures[call.op]
        info = call.op.struct_info_
        pure = isinstance(info, FuncStructInfo) and info.purity
        op = special_op("invoke_pure_closure" if pure else "invoke_closure")
        found: Call = self.normalized(Call(op, [closure, Tuple(call.args)], None, (call.struct_info,), call.span))
        return found

    def leave_function(self, function: Function) -> Function:
        self.symbols.pop()
        return _without_unused_casts(function, set(self.closures)) if self.closures else function


def _unshown(function: Function, captured: list[Var], outer: set[TirVar]) -> list[TirVar]:
    """The free shape variables of the function that no captured variable's shape determines.

    A parameter that mentions one of `outer` does not bind it: it is checked against the captured value.
    """
    shown = {v for c in captured for v in definable_tir_vars_in_struct_info(c.struct_info)}
    used = [v for v in mentioned_symbols(function) if v in outer]
    found = dict.fromkeys([*free_symbolic_vars(function), *used])
    return [v for v in found if v not in shown]


def _with_captures(
    name: GlobalVar, var: Var, function: Function, captured: list[Var], symbols: list[TirVar]
) -> Function:
    """The lifted function: captures are parameters, and it calls itself by its global name."""
    own = [Var(c.name_hint, without_holders(c.struct_info)) for c in captured]
    extra = [*own, *((Var("s", ShapeStructInfo(symbols)),) if symbols else ())]
    passed: list[Any] = [*own, *((ShapeExpr(symbols),) if symbols else ())]

    def call_itself(node: Any) -> Any:
        if isinstance(node, Call) and node.op is var:
            return node.with_fields(op=name, args=(*node.args, *passed))
        return None

    params = [Var(p.name_hint, without_holders(p.struct_info), p.span) for p in function.params]
    values = dict(zip((*captured, *function.params), (*own, *params)))
    checks = _holder_checks(function, values)
    values.update((p, check.var) for p, check in checks.items())
    body = rewrite(substitute(function.body, values), call_itself)
    start: list[Binding] = list(checks.values())
    if any(n is var for n in post_order(body)):  # it also passes itself on
        value: Any = name
        if passed:
            made = Call(special_op("make_closure"), [name, Tuple(passed)])
            made = made.with_fields(struct_info_=ObjectStructInfo())
            held = Var(var.name_hint, ObjectStructInfo())
            itself = Var(var.name_hint, function_info(function))
            start += [VarBinding(held, made), MatchCast(itself, held, function_info(function))]
            value = itself
        body = substitute(body, {var: value}, notes=False)
    ret = None if function.ret_struct_info is None else substitute_holders(function.ret_struct_info, values)
    lifted = function.with_fields(
        params=(*params, *extra), body=_begun_with(start, body), ret_struct_info=ret, struct_info_=None
    )
    lifted = _without_strange_holders(lifted)
    fresh = with_own_symbols(lifted)
    return fresh.with_fields(struct_info_=function_info(fresh))


def _holder_checks(function: Function, values: dict[Var, Var]) -> dict[Var, MatchCast]:
    """Casts of the parameters whose shapes other variables hold: captures come last, so no annotation can name them."""
    found: dict[Var, MatchCast] = {}
    for param in function.params:
        info = substitute_holders(param.struct_info, values)
        if shape_holders(info):
            found[param] = MatchCast(Var(param.name_hint, info), values[param], info, param.span)
    return found


def _begun_with(start: list[Binding], body: SeqExpr) -> SeqExpr:
    """`body` with the bindings of `start` prepended."""
    if not start:
        return body
    ordinary = bool(body.blocks) and not isinstance(body.blocks[0], DataflowBlock)
    first = (*start, *body.blocks[0].bindings) if ordinary else start
    return body.with_fields(blocks=(BindingBlock(first), *body.blocks[ordinary:]))


def _without_strange_holders(function: Function) -> Function:
    """The function without shapes held by outer variables in its annotations: only the rank stays known."""
    own = set(bound_vars(function))
    strange: dict[Any, Any] = {}
    for info in post_order(function, notes=True):
        if isinstance(info, TensorStructInfo) and isinstance(info.shape, Var) and info.shape not in own:
            strange[info] = without_holders(info)
    found: Function = substitute(function, strange)
    return found


def _without_unused_casts(function: Function, casts: set[Var]) -> Function:
    """The function without the casts that give closures their types, where closures are only called."""
    used: set[Any] = set()
    for node in post_order(function):
        parts = (node.value,) if isinstance(node, Binding) else () if isinstance(node, Function) else children(node)
        used.update(part for part in parts if isinstance(part, Var))
    unused = casts - used
    return _Dropper(unused).function(function) if unused else function


class _Dropper(BindingRewriter):
    def __init__(self, dropped: set[Var]) -> None:
        super().__init__()
        self.dropped = dropped

    def visit_binding(self, binding: Binding) -> None:
        if binding.var not in self.dropped:
            self.keep(binding)
