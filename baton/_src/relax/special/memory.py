"""Memory: allocation, storages, views, and the end of objects (facts §10). Most appear only while lowering.

Arguments, in order:
    builtin.alloc_tensor(shape, dtype, device index, scope)
    memory.alloc_storage(size, device index, scope, dtype)    memory.alloc_tensor(storage, offset, shape, dtype)
    vm.alloc_storage(size, device index, dtype, scope)        vm.alloc_tensor(storage, offset, shape, dtype)
    memory.view(tensor, shape, dtype, byte offset)            each of them unit for "as it is"
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.relax.check.dims import Answer, known_dims, same_dim
from baton._src.relax.check.report import described
from baton._src.relax.info import OBJECT_INFO, UNIT_INFO
from baton._src.relax.nodes import Call, DataTypeImm, PrimValue, ShapeExpr
from baton._src.relax.special.call_errors import wrong_call
from baton._src.relax.special.shapes import tensor_argument
from baton._src.relax.special_op import SpecialOp
from baton._src.relax.struct_info import (
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from baton._src.tir.expr import IntImm, Mul
from baton._src.values.dtype import INT64, DataType


def _shape_argument(call: Call, position: int) -> ShapeStructInfo:
    info = call.args[position].struct_info
    if not isinstance(info, ShapeStructInfo):
        raise wrong_call(call, f"argument {position} must be a shape, got {described(info)}")
    return info


def _dtype_argument(call: Call, position: int) -> DataType:
    arg = call.args[position]
    if not isinstance(arg, DataTypeImm):
        raise wrong_call(call, f"argument {position} must be a data type, got {arg!r}")
    return arg.value


def _tensor_of(call: Call, shape: int, dtype: int) -> StructInfo:
    info = _shape_argument(call, shape)
    arg = call.args[shape]
    kind = _dtype_argument(call, dtype)
    return (
        TensorStructInfo(arg if isinstance(arg, ShapeExpr) else ShapeExpr(info.values or ()), kind)
        if (info.values is not None)
        else TensorStructInfo(arg, kind, ndim=info.ndim)
    )


def _infer_builtin_alloc(call: Call, context: Any) -> StructInfo:
    return _tensor_of(call, 0, 1)


def _infer_alloc_storage(call: Call, context: Any) -> StructInfo:
    _shape_argument(call, 0)
    return OBJECT_INFO


def _infer_alloc_tensor(call: Call, context: Any) -> StructInfo:
    return _tensor_of(call, 2, 3)


def _infer_unit(call: Call, context: Any) -> StructInfo:
    return UNIT_INFO


def _infer_kill_tensor(call: Call, context: Any) -> StructInfo:
    tensor_argument(call)
    return UNIT_INFO


def _infer_same(call: Call, context: Any) -> StructInfo:
    found: StructInfo = call.args[0].struct_info
    return found


def _infer_tensor_same(call: Call, context: Any) -> StructInfo:
    return tensor_argument(call)


def _infer_view(call: Call, context: Any) -> StructInfo:
    """A tensor that shares the memory of its argument: other shape, dtype or start; it may not reach beyond the end."""
    have = tensor_argument(call)
    shape, dtype, offset = _view_arguments(call)
    found = TensorStructInfo(
        have.shape if shape is None else shape,
        have.dtype if dtype is None else dtype,
        have.vdevice,
        have.ndim if shape is None else -1,
    )
    _check_view_size(call, have, found, offset, context)
    return found


def _view_arguments(call: Call) -> tuple[Any, DataType | None, Any]:
    padded = [*call.args[1:], *([None] * (4 - len(call.args)))]
    shape_arg, dtype_arg, offset_arg = (None if a is None or _is_unit(a) else a for a in padded)
    shape: Any = None
    if shape_arg is not None:
        info = shape_arg.struct_info
        if not isinstance(info, ShapeStructInfo):
            raise wrong_call(call, f"the shape must be a shape, got {described(info)}")
        shape = ShapeExpr(info.values) if info.values is not None else shape_arg
    if dtype_arg is not None and not isinstance(dtype_arg, DataTypeImm):
        raise wrong_call(call, f"the dtype must be a data type, got {dtype_arg!r}")
    if offset_arg is not None:
        info = offset_arg.struct_info
        if not (isinstance(info, PrimStructInfo) and info.dtype == INT64):
            raise wrong_call(call, f"the byte offset must be an int64, got {described(info)}")
    return shape, None if dtype_arg is None else dtype_arg.value, offset_arg


def _is_unit(expr: Any) -> bool:
    info = expr.struct_info
    return isinstance(info, TupleStructInfo) and not info.fields


def _check_view_size(call: Call, have: TensorStructInfo, found: TensorStructInfo, offset: Any, context: Any) -> None:
    old, new = known_dims(have.shape), known_dims(found.shape)
    if old is None or new is None or have.dtype.is_void or found.dtype.is_void:
        return
    start = offset.value if isinstance(offset, PrimValue) else None
    before, after = _bytes(old, have.dtype), _bytes(new, found.dtype)
    if isinstance(before, int) and isinstance(after, int):
        begin = start.value if isinstance(start, IntImm) else 0
        if begin < 0 or begin + after > before:
            raise wrong_call(
                call, f"{after} bytes from byte {begin} do not fit the {before} bytes of {described(have)}"
            )
    elif start is None and have.dtype == found.dtype:
        equal = same_dim(_product(old), _product(new), context.prover)
        if equal is Answer.NO and offset is None:
            context.report.undecided(f"view makes {described(found)} of {described(have)}", span=call.span)


def _bytes(dims: tuple[PrimExpr, ...], dtype: DataType) -> int | None:
    total = dtype.itemsize
    for dim in dims:
        if not isinstance(dim, IntImm):
            return None
        total *= dim.value
    return total


def _product(dims: tuple[PrimExpr, ...]) -> PrimExpr:
    found: PrimExpr = IntImm(INT64, 1)
    for dim in dims:
        found = Mul(found, dim)
    return found


def _infer_call_tir_dyn(call: Call, context: Any) -> StructInfo:
    if not isinstance(call.args[1].struct_info, (TupleStructInfo, ObjectStructInfo)):
        raise wrong_call(call, f"the arguments must be a tuple, got {described(call.args[1].struct_info)}")
    return UNIT_INFO


MEMORY = (
    SpecialOp(
        "builtin.alloc_tensor", doc="a new tensor", infer=_infer_builtin_alloc, pure=True, arity=(2, 4), allocates=True
    ),
    SpecialOp("builtin.stop_lift_params", doc="the identity; ends lifting", infer=_infer_same, pure=True, arity=(1, 1)),
    SpecialOp(
        "memory.alloc_storage", doc="new memory", infer=_infer_alloc_storage, pure=True, arity=(4, 4), allocates=True
    ),
    SpecialOp(
        "memory.alloc_tensor", doc="a tensor in a storage", infer=_infer_alloc_tensor, pure=True, arity=(4, 5),
        allocates=True,
    ),
    SpecialOp("memory.kill_storage", doc="the storage is no longer used", infer=_infer_unit, pure=False, arity=(1, 1)),
    SpecialOp(
        "memory.kill_tensor", doc="the tensor is no longer used", infer=_infer_kill_tensor, pure=False, arity=(1, 1),
    ),
    SpecialOp("memory.view", doc="a tensor over the same memory", infer=_infer_view, pure=True, arity=(1, 4)),
    SpecialOp(
        "memory.ensure_zero_offset", doc="the tensor, copied if it does not start its memory", pure=True, arity=(1, 1),
        infer=_infer_tensor_same,
    ),
    SpecialOp(
        "vm.alloc_storage", doc="allocate memory in the VM", infer=_infer_alloc_storage, pure=True, arity=(3, 4),
        allocates=True,
    ),
    SpecialOp(
        "vm.alloc_tensor", doc="allocate a tensor in a storage of the VM", infer=_infer_alloc_tensor, pure=True,
        arity=(4, 5), allocates=True,
    ),
    SpecialOp("vm.kill_object", doc="the object is no longer used", infer=_infer_unit, pure=False, arity=(1, 1)),
    SpecialOp(
        "vm.call_tir_dyn", doc="call a kernel whose integers are given by a shape", infer=_infer_call_tir_dyn,
        pure=False, arity=(2, 2),
    ),
)  # fmt: skip
