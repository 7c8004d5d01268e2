"""Between tensors and shapes, and what is read from a tensor's header: shape_of, ..., inspect.* (facts §10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.relax.check.dims import known_dims
from baton._src.relax.check.report import described
from baton._src.relax.nodes import Call, PrimValue, ShapeExpr
from baton._src.relax.special.call_errors import wrong_call
from baton._src.relax.special_op import SpecialOp
from baton._src.relax.struct_info import PrimStructInfo, ShapeStructInfo, StructInfo, TensorStructInfo
from baton._src.tir.expr import IntImm
from baton._src.values.dtype import INT64, DataType


def tensor_argument(call: Call) -> TensorStructInfo:
    """The first argument, which must be a tensor."""
    info = call.args[0].struct_info
    if not isinstance(info, TensorStructInfo):
        raise wrong_call(call, f"argument 0 must be a tensor, got {described(info)}")
    return info


def _infer_shape_of(call: Call, context: Any) -> StructInfo:
    info = tensor_argument(call)
    dims = known_dims(info.shape) if isinstance(info.shape, ShapeExpr) else None
    return ShapeStructInfo(dims, info.ndim)


def _infer_tensor_to_shape(call: Call, context: Any) -> StructInfo:
    info = tensor_argument(call)
    if info.ndim not in (-1, 1):
        raise wrong_call(call, f"the tensor must have rank 1, got {described(info)}")
    if not info.dtype.is_void and info.dtype != INT64:
        raise wrong_call(call, f"the tensor must have dtype int64, got {described(info)}")
    if info.ndim == -1 or info.dtype.is_void:
        context.report.undecided(f"tensor_to_shape gets {described(info)}, not a rank-1 int64 tensor", span=call.span)
    dims = known_dims(info.shape)
    length = dims[0] if dims else None
    return ShapeStructInfo(None, length.value if isinstance(length, IntImm) else -1)


def _infer_shape_to_tensor(call: Call, context: Any) -> StructInfo:
    info = call.args[0].struct_info
    if not isinstance(info, ShapeStructInfo):
        raise wrong_call(call, f"argument 0 must be a shape, got {described(info)}")
    return TensorStructInfo(None if info.ndim == -1 else ShapeExpr([info.ndim]), INT64, ndim=1)


def _header(dtype: str, axis: bool, value: Callable[[TensorStructInfo], Any]) -> Callable[[Call, Any], StructInfo]:
    """The rule of an operator that reads a tensor's header; `axis`: its second argument is an axis number."""

    def infer(call: Call, context: Any) -> StructInfo:
        info = tensor_argument(call)
        if axis:
            found = _axis_value(call, info)
            return PrimStructInfo(dtype, found)
        return PrimStructInfo(dtype, value(info))

    return infer


def _axis_value(call: Call, info: TensorStructInfo) -> Any:
    at = call.args[1].struct_info
    if not (isinstance(at, PrimStructInfo) and at.dtype.is_int):
        raise wrong_call(call, f"the axis must be an integer, got {described(at)}")
    axis = call.args[1].value if isinstance(call.args[1], PrimValue) else at.value
    if not isinstance(axis, IntImm):
        return None
    if axis.value < 0 or (info.ndim != -1 and axis.value >= info.ndim):
        raise wrong_call(call, f"axis {axis.value} is out of range for {described(info)}")
    dims = known_dims(info.shape)
    return dims[axis.value] if dims is not None and str(call.op.name).endswith("shape_i") else None


def _infer_stride(call: Call, context: Any) -> StructInfo:
    _axis_value(call, tensor_argument(call))
    return PrimStructInfo(INT64)


_CODES = {"int": 0, "uint": 1, "float": 2, "handle": 3, "bfloat": 4, "bool": 1}


def _of_dtype(read: Callable[[DataType], int]) -> Callable[[TensorStructInfo], Any]:
    return lambda info: None if info.dtype.is_void else read(info.dtype)


def dtype_code(dtype: DataType) -> int:
    """DLPack's number for the kind of an element type."""
    return _CODES[dtype.kind]


SHAPE_OF = SpecialOp("shape_of", doc="the shape of a tensor", infer=_infer_shape_of, pure=True, arity=(1, 1))
TENSOR_TO_SHAPE = SpecialOp(
    "tensor_to_shape", doc="the shape whose dims a rank-1 int64 tensor lists", infer=_infer_tensor_to_shape, pure=True,
    arity=(1, 1),
)  # fmt: skip
SHAPE_TO_TENSOR = SpecialOp(
    "shape_to_tensor", doc="a rank-1 int64 tensor of a shape's dims", infer=_infer_shape_to_tensor, pure=True,
    arity=(1, 1),
)  # fmt: skip

INSPECT = (
    SpecialOp(
        "inspect.tensor_dtype_code", doc="DLPack's code of the element kind", pure=True, arity=(1, 1),
        infer=_header("uint8", False, _of_dtype(dtype_code)),
    ),
    SpecialOp(
        "inspect.tensor_dtype_bits", doc="bits of an element", pure=True, arity=(1, 1),
        infer=_header("uint8", False, _of_dtype(lambda d: d.bits)),
    ),
    SpecialOp(
        "inspect.tensor_dtype_lanes", doc="lanes of an element", pure=True, arity=(1, 1),
        infer=_header("uint16", False, _of_dtype(lambda d: d.lanes)),
    ),
    SpecialOp(
        "inspect.tensor_ndim", doc="the rank", pure=True, arity=(1, 1),
        infer=_header("int32", False, lambda info: None if info.ndim == -1 else info.ndim),
    ),
    SpecialOp(
        "inspect.tensor_shape_i", doc="the length of an axis", pure=True, arity=(2, 2),
        infer=_header("int64", True, lambda info: None),
    ),
    SpecialOp(
        "inspect.tensor_stride_i", doc="the stride of an axis, in elements", pure=True, arity=(2, 2),
        infer=_infer_stride,
    ),
    SpecialOp(
        "inspect.tensor_byte_offset", doc="bytes between the start of the memory and the first element", pure=True,
        arity=(1, 1), infer=_header("uint64", False, lambda info: None),
    ),
    SpecialOp(
        "inspect.tensor_elem_offset", doc="elements between the start of the memory and the first", pure=True,
        arity=(1, 1), infer=_header("uint64", False, lambda info: None),
    ),
)  # fmt: skip
