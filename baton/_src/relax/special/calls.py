"""Destination-passing calls: call_tir and its relatives, call_dps_packed (facts: relax-language §10).

Arguments of `call_tir`: the GlobalVar of a PrimFunc, an in-line tuple, and optionally a shape of trailing integers; the
one struct info argument describes the outputs. The kernel gets the arguments, then the outputs, then the integers.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GlobalVar, Op
from baton._src.relax.check.compatibility import check_compatibility
from baton._src.relax.check.dims import Answer
from baton._src.relax.check.erase import substitute_info
from baton._src.relax.check.report import STRUCT_INFO, described
from baton._src.relax.check.shape_map import map_parameters
from baton._src.relax.nodes import Call, ShapeExpr, Tuple, TupleGetItem, Var
from baton._src.relax.special.call_errors import call_name
from baton._src.relax.special_op import SpecialOp
from baton._src.relax.struct_info import (
    FuncStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.support.diagnostics import fail
from baton._src.tir.operators.operands import cast
from baton._src.tir.prim_func import PrimFunc

WF_26 = "RELAX-WF-26"


@attrs
class CallTIRInplaceAttrs(Attrs):
    """Attributes of call_tir_inplace and call_inplace_packed."""

    inplace_indices: tuple[int, ...] = attr((), "for each output, the argument it is written into; -1: fresh memory")


@attrs
class CallTIRWithGradAttrs(Attrs):
    """Attributes of call_tir_with_grad."""

    te_grad_name: str = attr("", "the registered TE gradient function")
    te_grad_kwargs: Any = attr(None, "keyword arguments passed to it")


def output_infos(call: Call) -> tuple[TensorStructInfo, ...]:
    """The tensors a destination-passing call makes, from its struct info argument."""
    said = call.sinfo_args[0]
    fields = said.fields if isinstance(said, TupleStructInfo) else (said,)
    return tuple(f for f in fields if isinstance(f, TensorStructInfo))


def _infer_outputs(call: Call) -> StructInfo:
    name = call_name(call)
    if len(call.sinfo_args) != 1:
        raise fail(STRUCT_INFO, f"{name} takes one struct info argument, got {len(call.sinfo_args)}", span=call.span)
    said: StructInfo = call.sinfo_args[0]
    fields = said.fields if isinstance(said, TupleStructInfo) else (said,)
    for field in fields:
        known = isinstance(field, TensorStructInfo) and isinstance(field.shape, ShapeExpr) and not field.dtype.is_void
        if not known:
            raise fail(
                STRUCT_INFO,
                f"{name}: an output must be a tensor of known dtype and dims, got {described(field)}",
                span=call.span,
                help="its memory is allocated before the call, so the size must be known",
            )
    if len(call.args) > 2:
        ints = call.args[2]
        if not isinstance(ints.struct_info_, ShapeStructInfo):
            raise fail(STRUCT_INFO, f"{name}: the trailing integers must be a shape, got {ints!r}", span=call.span)
    return said


def _infer_call_tir(call: Call, context: Any) -> StructInfo:
    if not isinstance(call.args[0], GlobalVar):
        raise fail(
            STRUCT_INFO,
            f"{call_name(call)} calls a function of the module by its GlobalVar, got {call.args[0]!r}",
            span=call.span,
        )
    return _infer_outputs(call)


def _infer_dps_packed(call: Call, context: Any) -> StructInfo:
    info = call.args[0].struct_info_
    if isinstance(call.args[0], Op) or not (info is None or isinstance(info, FuncStructInfo)):
        raise fail(STRUCT_INFO, f"{call_name(call)} calls a packed function, got {call.args[0]!r}", span=call.span)
    return _infer_outputs(call)


def inline_arguments(call: Call, lookup: Any) -> Call:
    """`call` with its argument tuple written in line (normal form, RELAX-OP-03)."""
    packed = call.args[1]
    if isinstance(packed, Tuple):
        return call
    bound = lookup(packed) if isinstance(packed, Var) else None
    if isinstance(bound, Tuple):
        items: Any = bound
    else:
        info = packed.struct_info_
        if not isinstance(info, TupleStructInfo):
            raise fail(
                STRUCT_INFO, f"{call_name(call)}: the arguments must be a tuple, got {described(info)}", span=call.span
            )
        items = Tuple([TupleGetItem(packed, i) for i in range(len(info.fields))])
    return call.with_fields(args=(call.args[0], items, *call.args[2:]))


def validate_call_tir(call: Call, context: Any) -> None:
    """The callee must be a PrimFunc whose signature takes the arguments, outputs and integers given."""
    var = call.args[0]
    function = context.functions.get(var)
    if function is None:
        return
    if not isinstance(function, PrimFunc):
        raise fail(
            WF_26, f"{call_name(call)} calls {var.name_hint}, which is not a PrimFunc", span=call.span,
            help="call a function of Relax directly",
        )  # fmt: skip
    given = _kernel_arguments(call)
    if given is None:
        return
    params = context.global_info(var).params
    if len(params) != len(given):
        raise fail(
            WF_26,
            f"{call_name(call)} passes {len(given)} arguments, outputs and integers to {var.name_hint}, "
            f"which takes {len(params)}",
            span=call.span,
            help=f"they are: {', '.join(map(described, params))}",
        )
    given = [_in_width_of(param, have) for param, have in zip(params, given)]
    mapping = map_parameters(zip(params, given))
    for position, (param, have) in enumerate(zip(params, given)):
        want = substitute_info(param, mapping, context.prover)
        if check_compatibility(have, want, context.prover) is Answer.NO:
            raise fail(
                WF_26,
                f"{call_name(call)} passes {described(have)} as parameter {position} of {var.name_hint}, "
                f"which is {described(want)}",
                span=call.span,
                help="arguments and out_sinfo have the dims and dtypes of the kernel's T.match_buffer",
            )


def _in_width_of(param: StructInfo, given: StructInfo) -> StructInfo:
    """What an integer is to the kernel: it takes one of any width, as any packed function does."""
    if not isinstance(param, PrimStructInfo) or not isinstance(given, PrimStructInfo) or param.dtype == given.dtype:
        return given
    if not {param.dtype.kind, given.dtype.kind} <= {"int", "uint"}:
        return given
    return PrimStructInfo(param.dtype, None if given.value is None else cast(param.dtype, given.value))


def _kernel_arguments(call: Call) -> list[StructInfo] | None:
    """The kernel's arguments in order; None where they are not written in line."""
    packed = call.args[1]
    if not isinstance(packed, Tuple):
        return None
    given = [field.struct_info for field in packed.fields]
    indices = call.attrs.inplace_indices if isinstance(call.attrs, CallTIRInplaceAttrs) else None
    outputs = output_infos(call)
    given += [o for i, o in enumerate(outputs) if indices is None or indices[i] == -1]
    if len(call.args) > 2:
        ints = call.args[2].struct_info
        if ints.values is None:
            return None
        given += [PrimStructInfo(v.dtype, v) for v in ints.values]
    return given


def inplace_indices(call: Call, arguments: int, outputs: int | None) -> tuple[int, ...]:
    """The call's `inplace_indices`, if they are valid; else an error."""
    indices = tuple(call.attrs.inplace_indices)
    name = call_name(call)
    if outputs is not None and len(indices) != outputs:
        raise fail(WF_26, f"{name} has {outputs} outputs but {len(indices)} inplace_indices", span=call.span)
    used = [i for i in indices if i != -1]
    wrong = [i for i in indices if not -1 <= i < arguments]
    if wrong:
        raise fail(WF_26, f"{name}: inplace index {wrong[0]} is out of range for {arguments} arguments", span=call.span)
    if len(set(used)) != len(used):
        raise fail(WF_26, f"{name}: inplace_indices {list(indices)} name an argument twice", span=call.span)
    if not used:
        raise fail(WF_26, f"{name}: no argument is written in place", span=call.span, help="use the plain call instead")
    return indices


def validate_call_tir_inplace(call: Call, context: Any) -> None:
    """The indices must be usable and each aliased output provably shaped like its argument."""
    packed = call.args[1]
    if isinstance(packed, Tuple):
        outputs = output_infos(call)
        indices = inplace_indices(call, len(packed.fields), len(outputs))
        for output, index in zip(outputs, indices):
            if index == -1:
                continue
            have = packed.fields[index].struct_info
            if check_compatibility(have, output, context.prover) is not Answer.YES:
                raise fail(
                    WF_26,
                    f"{call_name(call)}: output {described(output)} cannot be written into argument {index}, "
                    f"which is {described(have)}",
                    span=call.span,
                )
    validate_call_tir(call, context)


CALL_TIR = SpecialOp(
    "call_tir",
    doc="allocate the outputs, call the kernel f(args..., outputs..., integers...), return the outputs",
    infer=_infer_call_tir,
    pure=True,
    fresh_results=True,
    arity=(2, 3),
    normalize=inline_arguments,
    validate=validate_call_tir,
)
CALL_TIR_INPLACE = SpecialOp(
    "call_tir_inplace",
    doc="as call_tir, but outputs with an index are written into that argument",
    infer=_infer_call_tir,
    pure=True,
    writes_arguments=True,
    attrs=CallTIRInplaceAttrs,
    arity=(2, 3),
    normalize=inline_arguments,
    validate=validate_call_tir_inplace,
)
CALL_TIR_WITH_GRAD = SpecialOp(
    "call_tir_with_grad",
    doc="as call_tir, and names the TE function that differentiates it",
    infer=_infer_call_tir,
    pure=True,
    fresh_results=True,
    attrs=CallTIRWithGradAttrs,
    arity=(2, 3),
    normalize=inline_arguments,
    validate=validate_call_tir,
)
CALL_DPS_PACKED = SpecialOp(
    "call_dps_packed",
    doc="allocate the outputs, call the packed function f(args..., outputs...), return the outputs; trusted to be pure",
    infer=_infer_dps_packed,
    pure=True,
    fresh_results=True,
    arity=(2, 2),
    normalize=inline_arguments,
)
