"""Make kernels callable from Python: compact parameters, and a buffer for the return value.

Tensors that kernels are given are compact, so strides and offsets that a parameter leaves open are those of a compact
array. Native kernels return nothing: `return x` of a kernel writes into a buffer of one element behind its parameters.
"""

from __future__ import annotations

from typing import Any

from baton._src.codegen.kernels import callees_first, calls_of
from baton._src.ir.expr import GlobalVar, Op, PrimExpr
from baton._src.ir.traverse import post_order, rewrite, substitute
from baton._src.passes.tir.lowering.views import strides_of
from baton._src.support.diagnostics import fail
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.expr import Call, Var, literal
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import HANDLE, VOID, DataType


def with_compact_params(func: PrimFunc) -> PrimFunc:
    """`func` with the strides and offsets that its parameters leave open; `DiagnosticError` (`kernel-layout`) where a
    parameter asks for another layout than a compact one."""
    values: dict[Var, PrimExpr] = {}
    for buffer in func.buffer_map.values():
        if buffer.elem_offset is not None:
            _settle(values, buffer, buffer.elem_offset, literal(0))
        compact = strides_of(buffer.with_fields(strides=()))
        for stride, actual in zip(buffer.strides, compact):
            _settle(values, buffer, stride, actual)
    if not values:
        return func
    settled: PrimFunc = substitute(func, values)
    return settled


def _settle(values: dict[Var, PrimExpr], buffer: Buffer, stated: PrimExpr, actual: PrimExpr) -> None:
    """`stated` is `actual`: a new value of a variable, or a fact to be checked."""
    found = ops.cast(stated.dtype, actual)
    if isinstance(stated, Var) and stated not in values:
        values[stated] = found
    elif not Analyzer().can_prove_equal(substitute(stated, values), found):
        raise fail(
            "kernel-layout",
            f"the parameter {buffer.name} is declared with a stride or an offset of {stated}, "
            f"a tensor passed to it has {actual}",
            help="kernels receive compact tensors: leave strides open (strides=[s0, s1]) or omit them",
        )


def with_result_buffer(func: PrimFunc) -> tuple[PrimFunc, DataType | None]:
    """`func` with what it returns written into a buffer behind its parameters, and the dtype of that."""
    returned = [value for n in post_order(func.body) if (value := _returned(n)) is not None]
    if not returned:
        return func, None
    dtype = returned[0].dtype
    place = decl_buffer((1,), dtype, "result")
    handle = Var("result_handle", HANDLE)

    def rule(node: Any) -> Any:
        value = _returned(node)
        return None if value is None else st.SeqStmt((st.BufferStore(place, value, (literal(0),)), node))

    made: PrimFunc = func.with_fields(
        params=(*func.params, handle),
        body=rewrite(func.body, rule),
        ret_type=None,
        buffer_map={**func.buffer_map, handle: place},
    )
    return made, dtype


def _returned(node: Any) -> PrimExpr | None:
    """What a statement returns, if it returns something."""
    match node:
        case st.Evaluate(value=Call(op=Op(name="tir.ret"), args=(PrimExpr() as value,))):
            return value
        case _:
            return None


def _arguments(callee: PrimFunc, call: Call) -> dict[Any, Any]:
    """What the variables of a kernel stand for in a call of it, pointers of its buffers among them; `DiagnosticError`
    (`kernel-call`) for other arguments than its parameters are.
    """
    given: dict[Any, Any] = {}
    name = getattr(call.op, "name_hint", "the kernel")
    if len(call.args) != len(callee.params):
        message = f"{name} takes {len(callee.params)} arguments, {len(call.args)} are given"
        raise fail("kernel-call", message, span=call.span)
    for param, argument in zip(callee.params, call.args):
        buffer = callee.buffer_map.get(param)
        if buffer is None:
            given[param] = ops.cast(param.dtype, argument)
            continue
        sizes = [n for n in post_order((buffer.shape, buffer.strides)) if isinstance(n, Var)]
        if sizes or not isinstance(argument, Var) or argument.dtype != HANDLE:
            help = "pass a buffer's pointer (A.data) for one of constant sizes, or call the kernel as a statement"
            message = f"{name} is called in an expression with {argument} for its buffer {buffer.name}"
            raise fail("kernel-call", message, span=call.span, help=help)
        given[buffer.data] = argument
    return given


def inline_returning(functions: dict[str, PrimFunc]) -> dict[str, PrimFunc]:
    """Calls of kernels in expressions become what these return; `DiagnosticError` (`kernel-call`) for those that do
    more than return an expression of their parameters, and (`codegen-recursion`) for those that call each other."""
    done = dict(functions)

    def rule(node: Any) -> Any:
        if not isinstance(node, Call) or not isinstance(node.op, GlobalVar) or node.dtype == VOID:
            return None
        callee = done.get(node.op.name_hint)
        returned = _returned(callee.body) if callee is not None else None
        if callee is None or returned is None:
            raise fail(
                "kernel-call",
                f"{node.op.name_hint} is called in an expression, and does more than return one",
                span=node.span,
                help="let it write into a buffer that it is given, and call it as a statement",
            )
        return rewrite(substitute(returned, _arguments(callee, node)), rule)  # the arguments may be calls, too

    for symbol in callees_first({name: calls_of(func) for name, func in functions.items()}):
        done[symbol] = functions[symbol].with_fields(body=rewrite(functions[symbol].body, rule))
    return done
