"""Deduce the StructInfo of every kind of expression, one level at a time (facts: relax-language §6; seed 001,
StructInfo).

Normalisation works bottom-up and calls `deduce` for each expression it binds, so the parts of an expression already
have their StructInfo. What is certainly wrong raises `DiagnosticError`; what cannot be decided goes to the context's
report.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.op_def import OpCall, OpDef
from baton._src.ir.tensor_info import Info, ShapeInfo
from baton._src.relax.check.compatibility import check_compatibility
from baton._src.relax.check.context import Context
from baton._src.relax.check.dims import Answer, combine
from baton._src.relax.check.erase import drop_variables, substitute_info
from baton._src.relax.check.lub import struct_info_lca
from baton._src.relax.check.report import STRUCT_INFO, described, unless_object
from baton._src.relax.check.shape_map import map_parameters
from baton._src.relax.check.signatures import function_info
from baton._src.relax.check.variables import bound_by_params, definable_tir_vars_in_struct_info
from baton._src.relax.info import OBJECT_INFO, UNIT_INFO, from_info, to_info
from baton._src.relax.nodes import (
    Call,
    Constant,
    DataflowVar,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from baton._src.relax.special_op import SpecialOp
from baton._src.relax.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
    extern_func_info,
)
from baton._src.support.diagnostics import Diagnostic, DiagnosticError, fail
from baton._src.support.spans import Span
from baton._src.tir.expr import FloatImm, IntImm
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import BOOL
from baton._src.values.filled_tensor import FilledTensor


def deduce(expr: Any, context: Context) -> StructInfo:
    """The StructInfo of `expr`, whose parts already have theirs."""
    rule = _RULES.get(type(expr))
    if rule is None:
        raise fail(
            STRUCT_INFO,
            f"{type(expr).__name__} is not a Relax expression that has a value",
            span=getattr(expr, "span", None),
        )
    return rule(expr, context)


def info_of(expr: Any, context: Context) -> StructInfo:
    """The StructInfo of an expression; deduced if it is a leaf that has none yet."""
    if isinstance(expr, GlobalVar):
        return context.global_info(expr)
    found: StructInfo | None = expr.struct_info_
    return deduce(expr, context) if found is None else found


# ------------------------------------------------------------------------------------------------------- leaves


def constant_info(expr: Constant) -> TensorStructInfo:
    """A constant's dtype, rank and dims."""
    return TensorStructInfo(ShapeExpr(expr.data.shape), expr.data.dtype)


def _constant(expr: Constant, context: Context) -> StructInfo:
    return constant_info(expr)


def _prim_value(expr: PrimValue, context: Context) -> StructInfo:
    value = expr.value
    # NaN equals no number, itself included: no value would be what is said.
    known = not (isinstance(value, FloatImm) and math.isnan(value.value))
    return PrimStructInfo(value.dtype, value if known else None)


def _object(expr: Any, context: Context) -> StructInfo:
    return OBJECT_INFO


def _shape(expr: ShapeExpr, context: Context) -> StructInfo:
    for dim in expr.values:
        if not (dim.dtype.is_int and dim.dtype.lanes == 1):
            raise fail("RELAX-WF-25", f"a dimension must be an integer, got {dim} of dtype {dim.dtype}", span=expr.span)
    return ShapeStructInfo(expr.values)


def _tuple(expr: Tuple, context: Context) -> StructInfo:
    return TupleStructInfo([info_of(f, context) for f in expr.fields]) if expr.fields else UNIT_INFO


def _extern(expr: ExternFunc, context: Context) -> StructInfo:
    return extern_func_info()


def _variable(expr: Var, context: Context) -> StructInfo:
    raise fail(
        "RELAX-WF-2",
        f"variable {expr.name_hint} is used here but was neither bound before nor given struct info",
        span=expr.span,
        help="a function that calls itself needs its parameters and result annotated",
    )


def _global(expr: GlobalVar, context: Context) -> StructInfo:
    return context.global_info(expr)


def _operator(expr: Op, context: Context) -> StructInfo:
    raise fail("RELAX-WF-9", f"operator {expr.name} is used as a value", help="it can only be called")


# --------------------------------------------------------------------------------------------------- structures


def _item(expr: TupleGetItem, context: Context) -> StructInfo:
    info = info_of(expr.tuple_value, context)
    if not isinstance(info, TupleStructInfo):
        raise fail(
            STRUCT_INFO, f"item {expr.index} is taken of {described(info)}, which is not a tuple", span=expr.span,
            help=unless_object(info, "only tuples have items; R.take and R.strided_slice read parts of a tensor"),
        )  # fmt: skip
    count = len(info.fields)
    if not 0 <= expr.index < count:
        raise fail(
            STRUCT_INFO, f"item {expr.index} is out of range for a tuple with {count} fields", span=expr.span,
            help=f"its last item is {count - 1}" if count else "the empty tuple has no items",
        )  # fmt: skip
    return info.fields[expr.index]


def _sequence(expr: SeqExpr, context: Context) -> StructInfo:
    info = info_of(expr.body, context)
    if not expr.blocks or isinstance(info, ObjectStructInfo):
        return info
    relax_vars = {b.var for block in expr.blocks for b in block.bindings if b.var is not None}
    casts = (b for block in expr.blocks for b in block.bindings if isinstance(b, MatchCast))
    new = {v for cast in casts for v in definable_tir_vars_in_struct_info(cast.struct_info)}
    return drop_variables(info, new - context.shape_scope, relax_vars, context.prover)


def _conditional(expr: If, context: Context) -> StructInfo:
    check_condition(info_of(expr.cond, context), context, expr.span or expr.cond.span)
    return struct_info_lca(info_of(expr.true_branch, context), info_of(expr.false_branch, context), context.prover)


def _place(arg: Any, call: Call) -> Span | None:
    """The span of an argument; for a variable, of its definition."""
    return call.span or arg.span if isinstance(arg, Var) else arg.span or call.span


def check_condition(info: StructInfo, context: Context, span: Span | None, what: str = "the condition") -> None:
    """`info` must be a rank-0 bool tensor or a bool prim (contradictions A-21)."""
    answer = Answer.NO
    if isinstance(info, TensorStructInfo):
        rank = Answer.MAYBE if info.ndim == -1 else Answer.YES if info.ndim == 0 else Answer.NO
        kind = Answer.MAYBE if info.dtype.is_void else Answer.YES if info.dtype == BOOL else Answer.NO
        answer = combine((rank, kind))
    elif isinstance(info, PrimStructInfo):
        answer = Answer.YES if info.dtype == BOOL else Answer.NO
    help = unless_object(info, "compare it with something, or reduce it by R.all or R.any")
    context.report.answer(answer, f"{what} is {described(info)} instead of a boolean scalar", span=span, help=help)


def _function(expr: Function, context: Context) -> StructInfo:
    info = function_info(expr)
    if expr.ret_struct_info is None and isinstance(info, FuncStructInfo) and expr.body.struct_info_ is not None:
        ret = drop_variables(expr.body.struct_info_, (), set(expr.params), context.prover)
        return FuncStructInfo(info.params, ret, info.purity)
    return info


def _prim_func(expr: PrimFunc, context: Context) -> StructInfo:
    raise fail(
        "RELAX-GRAMMAR-10",
        "a PrimFunc can only be defined at the top of a module",
        span=expr.span,
        help="name it by a GlobalVar",
    )


# -------------------------------------------------------------------------------------------------------- calls


def _call(expr: Call, context: Context) -> StructInfo:
    callee = expr.op
    if isinstance(callee, Op):
        definition = callee.definition
        if isinstance(definition, OpDef):
            return _call_operator(expr, definition, context)
        if isinstance(definition, SpecialOp):
            return _call_special(expr, definition, context)
        raise fail(
            STRUCT_INFO,
            f"operator {callee.name} has no rule for the struct info of its calls",
            span=expr.span,
            help="look it up in the catalogue instead of writing Op(name), or register a rule with it",
        )
    info = info_of(callee, context)
    if not isinstance(info, FuncStructInfo):
        raise fail(
            STRUCT_INFO, f"{_named(callee)} is called but is {described(info)}, not a function", span=expr.span,
            help=unless_object(info, "call a function, or use the value as it is"),
        )  # fmt: skip
    return derive_call_ret_struct_info(info, expr, context)


def _call_operator(expr: Call, definition: OpDef[Any], context: Context) -> StructInfo:
    inputs = [i for i in definition.inputs if "relax" in i.languages]
    least = sum(not i.optional for i in inputs)
    most = len(inputs)
    if not least <= len(expr.args) <= most:
        _wrong_count(expr, definition.name, least, most)
    attrs = expr.attrs if expr.attrs is not None else definition.attrs()
    call = OpCall(
        definition,
        tuple(_operand(a, context) for a in expr.args),
        attrs,
        context.prover,
        tuple(_known_value(a) for a in expr.args),
        expr.span,
    )
    try:
        return from_info(definition.infer(call))
    except DiagnosticError as error:
        raise DiagnosticError([d.within(f"in {_call_site(expr, context)}") for d in error.diagnostics]) from error


def _operand(arg: Any, context: Context) -> Info:
    """The StructInfo of an argument. The result may refer to a variable that holds a shape and is visible in the whole
    function.
    """
    found = to_info(info_of(arg, context))
    if isinstance(found, ShapeInfo) and found.values is None and isinstance(arg, Var):
        return found if isinstance(arg, DataflowVar) else ShapeInfo(None, found.ndim, arg)
    return found


def _call_site(expr: Call, context: Context) -> str:
    """`the call matmul(x: R.Tensor((2, 3), dtype="float32"), ...)`, for messages."""
    shown = [f"{_named(a)}: {described(info_of(a, context))}" for a in expr.args[:6]]
    more = [f"and {len(expr.args) - 6} more"] if len(expr.args) > 6 else []
    return f"the call {_named(expr.op)}({', '.join([t[:200] for t in shown] + more)})"


def _known_value(arg: Any) -> Any:
    """An argument's value if it is a literal: an array, a tuple of ints, or a number; else None."""
    if isinstance(arg, Constant):
        # A large weight whose layout is still being changed in the background: it is no shape, do not wait for it.
        return None if isinstance(arg.data, FilledTensor) else arg.data.data
    if isinstance(arg, ShapeExpr) and all(isinstance(d, IntImm) for d in arg.values):
        return tuple(d.value for d in arg.values if isinstance(d, IntImm))
    if isinstance(arg, PrimValue):
        return getattr(arg.value, "value", None)
    return None


def _call_special(expr: Call, definition: SpecialOp, context: Context) -> StructInfo:
    least, most = definition.arity
    if len(expr.args) < least or (most is not None and len(expr.args) > most):
        _wrong_count(expr, definition.name, least, most)
    return definition.infer(expr, context)


def _wrong_count(expr: Call, name: str, least: int, most: int | None) -> None:
    wanted = f"{least}" if least == most else f"at least {least}" if most is None else f"{least} to {most}"
    raise fail(STRUCT_INFO, f"{name} takes {wanted} arguments, got {len(expr.args)}", span=expr.span)


def derive_call_ret_struct_info(info: FuncStructInfo, call: Call, context: Context) -> StructInfo:
    """The StructInfo of a call's result, by the callee's `info`. Also checks the arguments against its parameters."""
    if info.params is None:
        return derive_opaque_call(info, call, context)
    if len(info.params) != len(call.args):
        raise fail(
            STRUCT_INFO, f"{_named(call.op)} takes {len(info.params)} arguments, got {len(call.args)}", span=call.span,
            help=f"they are: {', '.join(map(described, info.params)) or 'none'}",
        )  # fmt: skip
    given = [info_of(a, context) for a in call.args]
    mapping = map_parameters(zip(info.params, given))
    own = bound_by_params(info)
    for position, (param, have) in enumerate(zip(info.params, given)):
        want = substitute_info(param, mapping, context.prover)
        answer = check_compatibility(have, want, context.prover)
        if answer is not Answer.YES:
            context.report.answer(
                answer,
                f"argument {position} of {_named(call.op)} is {described(have)} where {described(want)} is expected",
                span=_place(call.args[position], call),
                help=unless_object(have, "convert the argument, or change the parameter's annotation"),
            )
    ret = substitute_info(info.ret, mapping, context.prover)
    unknown = own - mapping.keys()
    return drop_variables(ret, unknown, (), context.prover) if unknown else ret


def derive_opaque_call(info: FuncStructInfo, call: Call, context: Context) -> StructInfo:
    """The result of calling an opaque function: by its `derive_func`, or else its declared `ret`."""
    if info.derive_func is None:
        return info.ret
    found = info.derive_func(call, context)
    if not isinstance(found, StructInfo):
        raise DiagnosticError(
            Diagnostic(
                STRUCT_INFO,
                f"derive_func of {_named(call.op)} gave {found!r}, which is not a StructInfo",
                span=call.span,
            )
        )
    return found


def _named(callee: Any) -> str:
    match callee:
        case Var() | GlobalVar():
            return str(callee.name_hint)
        case Op():
            return callee.name.removeprefix("relax.")
        case Constant():
            return "a constant"
        case Call():
            return f"{_named(callee.op)}(...)"
        case ExternFunc():
            return f"the packed function {callee.global_symbol!r}"
        case Function():
            return "the function"
        case _:
            return f"a {type(callee).__name__}"


_RULES: dict[type, Callable[[Any, Context], StructInfo]] = {
    Constant: _constant,
    PrimValue: _prim_value,
    StringImm: _object,
    DataTypeImm: _object,
    ShapeExpr: _shape,
    Tuple: _tuple,
    TupleGetItem: _item,
    ExternFunc: _extern,
    Var: _variable,
    DataflowVar: _variable,
    GlobalVar: _global,
    Op: _operator,
    SeqExpr: _sequence,
    If: _conditional,
    Function: _function,
    PrimFunc: _prim_func,
    Call: _call,
}
