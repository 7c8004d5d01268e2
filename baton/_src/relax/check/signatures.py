"""The StructInfo of functions and kernels, as their signatures say it."""

from __future__ import annotations

from typing import Any

from baton._src.relax.check.report import STRUCT_INFO
from baton._src.relax.info import OBJECT_INFO, UNIT_INFO
from baton._src.relax.nodes import Function, ShapeExpr
from baton._src.relax.struct_info import FuncStructInfo, PrimStructInfo, StructInfo, TensorStructInfo
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
    params = [p.struct_info_ if p.struct_info_ is not None else OBJECT_INFO for p in function.params]
    return FuncStructInfo(params, ret if ret is not None else OBJECT_INFO, function.is_pure)


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
