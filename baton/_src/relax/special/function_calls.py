"""Calls of packed functions, builtins of the VM, and closures (facts: relax-language §10)."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, Op
from baton._src.relax.check.compatibility import check_compatibility
from baton._src.relax.check.dims import Answer
from baton._src.relax.check.report import STRUCT_INFO, described
from baton._src.relax.info import OBJECT_INFO, UNIT_INFO
from baton._src.relax.nodes import Call, ExternFunc
from baton._src.relax.special.call_errors import call_name
from baton._src.relax.special.calls import WF_26, CallTIRInplaceAttrs, inplace_indices
from baton._src.relax.special_op import SpecialOp
from baton._src.relax.struct_info import FuncStructInfo, StructInfo, TupleStructInfo, default_derive
from baton._src.support.diagnostics import fail


def _infer_pure_packed(call: Call, context: Any) -> StructInfo:
    """A call that is trusted to be pure: (function, *arguments)."""
    callee = call.args[0]
    if isinstance(callee, Op):
        raise fail(
            STRUCT_INFO, f"{call_name(call)} calls a packed function, not operator {callee.name}", span=call.span
        )
    info = context.global_info(callee) if isinstance(callee, GlobalVar) else callee.struct_info
    if not isinstance(info, FuncStructInfo) or info.params is not None:
        raise fail(STRUCT_INFO, f"{call_name(call)} calls an opaque function, got {described(info)}", span=call.span)
    if info.derive_func is None:
        return info.ret
    inner = Call(callee, call.args[1:], call.attrs, call.sinfo_args, call.span)
    found: StructInfo = info.derive_func(inner, context)
    return found


def _infer_inplace_packed(call: Call, context: Any) -> StructInfo:
    indices = inplace_indices(call, len(call.args) - 1, None)
    result = _infer_pure_packed(call, context)
    if len(indices) == 1:
        parts: tuple[StructInfo, ...] = (result,)
    elif isinstance(result, TupleStructInfo) and len(result.fields) == len(indices):
        parts = result.fields
    else:
        raise fail(
            WF_26, f"{call_name(call)} has {len(indices)} inplace_indices but gives {described(result)}", span=call.span
        )
    for part, index in zip(parts, indices):
        if index != -1:
            have = call.args[index + 1].struct_info
            if check_compatibility(have, part, context.prover) is not Answer.YES:
                raise fail(
                    WF_26,
                    f"{call_name(call)}: result {described(part)} does not cover argument {index}, {described(have)}",
                    span=call.span,
                )
    return result


def _infer_builtin(call: Call, context: Any) -> StructInfo:
    if len(call.sinfo_args) > 1:
        raise fail(
            STRUCT_INFO,
            f"{call_name(call)} takes at most one struct info argument, got {len(call.sinfo_args)}",
            span=call.span,
        )
    if not isinstance(call.args[0], ExternFunc):
        raise fail(STRUCT_INFO, f"{call_name(call)} calls a builtin by name, got {call.args[0]!r}", span=call.span)
    _want_tuple(call)
    return call.sinfo_args[0] if call.sinfo_args else UNIT_INFO


def _infer_closure_call(call: Call, context: Any) -> StructInfo:
    _want_tuple(call)
    return default_derive(call, context)


def _want_tuple(call: Call) -> None:
    """What a call hands on, its second argument, must be a tuple."""
    info = call.args[1].struct_info_
    if not isinstance(info, TupleStructInfo):
        raise fail(
            STRUCT_INFO, f"{call_name(call)}: the arguments must be a tuple, got {described(info)}", span=call.span
        )


def _infer_make_closure(call: Call, context: Any) -> StructInfo:
    if not isinstance(call.args[0], GlobalVar):
        raise fail(
            STRUCT_INFO, f"{call_name(call)} takes a function of the module, got {call.args[0]!r}", span=call.span
        )
    _want_tuple(call)
    return OBJECT_INFO


CALL_PURE_PACKED = SpecialOp(
    "call_pure_packed",
    doc="call a packed function that is trusted to be pure",
    infer=_infer_pure_packed,
    pure=True,
    arity=(1, None),
)
CALL_INPLACE_PACKED = SpecialOp(
    "call_inplace_packed",
    doc="call a packed function that changes and returns the arguments named by the indices; trusted otherwise",
    infer=_infer_inplace_packed,
    pure=True,
    writes_arguments=True,
    attrs=CallTIRInplaceAttrs,
    arity=(2, None),
)
CALL_BUILTIN_WITH_CTX = SpecialOp(
    "call_builtin_with_ctx",
    doc="call a VM builtin, which takes the state of the VM as its first argument",
    infer=_infer_builtin,
    pure=False,
    arity=(2, 2),
)
MAKE_CLOSURE = SpecialOp(
    "make_closure",
    doc="a closure of a function of the module with its trailing arguments bound",
    infer=_infer_make_closure,
    pure=True,
    arity=(2, 2),
)
INVOKE_CLOSURE = SpecialOp(
    "invoke_closure",
    doc="call a closure made by make_closure; may have effects",
    infer=_infer_closure_call,
    pure=False,
    arity=(2, 2),
)
INVOKE_PURE_CLOSURE = SpecialOp(
    "invoke_pure_closure",
    doc="call a closure that is trusted to be pure",
    infer=_infer_closure_call,
    pure=True,
    arity=(2, 2),
)
