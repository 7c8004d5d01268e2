"""The StructInfo of functions and kernels, from their signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from baton._src.ir.expr import Op
from baton._src.relax.check.erase import drop_variables
from baton._src.relax.check.report import STRUCT_INFO
from baton._src.relax.info import OBJECT_INFO, UNIT_INFO
from baton._src.relax.nodes import Call, Function, ShapeExpr, Var
from baton._src.relax.struct_info import FuncStructInfo, PrimStructInfo, ShapeStructInfo, StructInfo, TensorStructInfo
from baton._src.support.diagnostics import fail
from baton._src.tir.prim_func import PrimFunc


def function_info(function: Any) -> StructInfo:
    """The StructInfo of a Relax function or PrimFunc from its signature."""
    if isinstance(function, PrimFunc):
        return prim_func_info(function)
    if not isinstance(function, Function):
        known: StructInfo | None = getattr(function, "struct_info_", None)
        if known is None:
            raise fail(STRUCT_INFO, f"{type(function).__name__} has no struct info", span=function.span)
        return known
    ret = function.ret_struct_info
    if ret is None and isinstance(function.struct_info_, FuncStructInfo):
        ret = function.struct_info_.ret
    return signature_info(function.params, ret, function.is_pure)


def signature_info(params: Sequence[Var], ret: StructInfo | None, pure: bool) -> FuncStructInfo:
    """`FuncStructInfo` for use outside of the function: shapes that a parameter holds are dropped."""
    infos = [p.struct_info_ if p.struct_info_ is not None else OBJECT_INFO for p in params]
    found = FuncStructInfo(infos, ret if ret is not None else OBJECT_INFO, pure)
    outside = drop_variables(found, (), {p for p in params if isinstance(p.struct_info_, ShapeStructInfo)})
    assert isinstance(outside, FuncStructInfo)
    return outside


def is_claimed(call: Call) -> bool:
    """Whether the result's StructInfo is only claimed (`sinfo_args`, derive_func), not checked by the callee."""
    callee = call.args[0] if isinstance(call.op, Op) else call.op
    known = callee.struct_info_
    return bool(call.sinfo_args) or (isinstance(known, FuncStructInfo) and known.params is None)


def is_of_host(call: Call) -> bool:
    """Whether a packed function is called, whose numbers are a host's: floats that have float64, integers int64."""
    callee = call.args[0] if isinstance(call.op, Op) else call.op
    known = callee.struct_info_
    return isinstance(known, FuncStructInfo) and known.params is None and known.derive_func is not None


def prim_func_info(function: PrimFunc) -> FuncStructInfo:
    """Buffers are tensors, other parameters prims; nothing is returned, memory is written (facts §6, PrimFunc)."""
    params: list[StructInfo] = []
    for param in function.params:
        buffer = function.buffer_map.get(param)
        if buffer is not None:
            params.append(TensorStructInfo(ShapeExpr(buffer.shape), buffer.dtype))
        elif param.dtype.kind == "handle":
            params.append(OBJECT_INFO)
        else:
            params.append(PrimStructInfo(param.dtype, param))
    return FuncStructInfo(params, UNIT_INFO, purity=False)
