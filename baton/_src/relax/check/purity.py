"""Purity: which calls have side effects, where those are allowed, and which functions are pure (relax-language §7).

A call is impure if its operator is registered so, if its callee is opaque (a packed function), a PrimFunc called
directly, or a function whose type is impure. DataflowBlocks never hold impure calls; a pure function holds none unless
`relax.force_pure` vouches for it. Calls of functions of unknown type cannot occur: they have been refused before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.relax.check.findings import Findings
from baton._src.relax.check.recursion import call_graph
from baton._src.relax.check.report import PURITY
from baton._src.relax.check.signatures import function_info
from baton._src.relax.nodes import (
    Binding,
    Call,
    DataflowBlock,
    ExternFunc,
    Function,
    If,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.relax.struct_info import FuncStructInfo
from baton._src.support.graphs import components

FORCE_PURE = "relax.force_pure"


def calls_in(body: Any) -> Iterator[tuple[Call, bool, Binding | None]]:
    """The calls that running `body` makes, each with whether it stands in a DataflowBlock and the binding it is in.

    Bodies of functions defined inside are not run there and are left out. Any order; not recursive.
    """
    todo: list[tuple[Any, bool, Binding | None]] = [(body, False, None)]
    while todo:
        expr, inside, binding = todo.pop()
        match expr:
            case Call():
                yield expr, inside, binding
                todo += [(a, inside, binding) for a in reversed(expr.args)]
                todo.append((expr.op, inside, binding))
            case SeqExpr():
                todo.append((expr.body, inside, binding))
                for block in reversed(expr.blocks):
                    here = inside or isinstance(block, DataflowBlock)
                    todo += [(getattr(b, "value", None), here, b) for b in reversed(block.bindings)]
            case If():
                todo += [(e, inside, binding) for e in (expr.false_branch, expr.true_branch, expr.cond)]
            case Tuple():
                todo += [(f, inside, binding) for f in reversed(expr.fields)]
            case TupleGetItem():
                todo.append((expr.tuple_value, inside, binding))
            case _:
                pass


def functions_in(function: Function) -> Iterator[Function]:
    """`function` and every function literal inside it, outermost first."""
    todo: list[Any] = [function]
    while todo:
        expr = todo.pop()
        match expr:
            case Function():
                yield expr
                todo.append(expr.body)
            case Call():
                todo += [expr.op, *expr.args]
            case SeqExpr():
                todo += [getattr(b, "value", None) for block in expr.blocks for b in block.bindings]
                todo.append(expr.body)
            case If():
                todo += [expr.cond, expr.true_branch, expr.false_branch]
            case Tuple():
                todo += expr.fields
            case TupleGetItem():
                todo.append(expr.tuple_value)
            case _:
                pass


class Purity:
    """Decides whether a call is pure; `functions` are the module's by name, `known` overrides their declared purity."""

    def __init__(self, functions: Mapping[str, Any], known: Mapping[str, bool] | None = None) -> None:
        self.functions = functions
        self.known = known or {}

    def is_pure_call(self, call: Call) -> bool:
        """Whether running the call has no effect but its result."""
        callee = call.op
        if isinstance(callee, Op):
            return bool(getattr(callee.definition, "pure", False)) and not getattr(callee.definition, "stateful", False)
        if isinstance(callee, ExternFunc):
            return False
        if isinstance(callee, GlobalVar) and callee.name_hint in self.known:
            return self.known[callee.name_hint]
        function = self.functions.get(callee.name_hint) if isinstance(callee, GlobalVar) else None
        if isinstance(callee, Function):
            function = callee
        info = callee.struct_info_ if function is None else function_info(function)
        return isinstance(info, FuncStructInfo) and info.purity

    def impure_calls(self, function: Function) -> Iterator[tuple[Call, bool, Binding | None]]:
        """The impure calls in a function's own body, each with a flag: whether it is inside a DataflowBlock."""
        return (found for found in calls_in(function.body) if not self.is_pure_call(found[0]))


def check_purity(function: Function, functions: Mapping[str, Any], findings: Findings) -> None:
    """Report impure calls in DataflowBlocks, and in functions that are pure and not `relax.force_pure`."""
    purity = Purity(functions)
    for inner in functions_in(function):
        vouched = bool(inner.attrs.get(FORCE_PURE))
        for call, dataflow, binding in purity.impure_calls(inner):
            span = call.span or (binding.span if binding is not None else None)
            if dataflow:
                findings.add(
                    PURITY, f"{callee_text(call)} is impure and is called inside a DataflowBlock", span=span,
                    help="end the dataflow block before it",
                )  # fmt: skip
            elif inner.is_pure and not vouched:
                findings.add(
                    PURITY, f"{callee_text(call)} is impure and is called in a pure function", span=span,
                    help="declare the function impure: @R.function(pure=False)",
                )  # fmt: skip


def callee_text(call: Call) -> str:
    """The callee in a message."""
    match call.op:
        case Op():
            return str(call.op.name).removeprefix("relax.")
        case Var() | GlobalVar():
            return str(call.op.name_hint)
        case ExternFunc():
            return f"the packed function {call.op.global_symbol!r}"
        case _:
            return "the function"


def infer_purity(module: IRModule) -> dict[GlobalVar, bool]:
    """Whether each Relax function of the module is pure, from its body alone (facts §7, last revision).

    `relax.force_pure` is trusted; an effect anywhere in a group of mutually recursive functions makes all of them
    impure, a group without effects is pure.
    """
    names = {v.name_hint: f for v, f in module.functions.items()}
    known: dict[str, bool] = {}
    found: dict[GlobalVar, bool] = {}
    for group in components(call_graph(module)):
        members = [v for v in group if isinstance(module.functions[v], Function)]
        assumed = {v.name_hint: True for v in members}
        purity = Purity(names, {**known, **assumed})
        pure = all(
            module.functions[v].attrs.get(FORCE_PURE) or next(purity.impure_calls(module.functions[v]), None) is None
            for v in members
        )
        for v in members:
            found[v] = known[v.name_hint] = bool(pure or module.functions[v].attrs.get(FORCE_PURE))
    return {v: found[v] for v in module.functions if v in found}
