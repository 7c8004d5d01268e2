"""Builders of the intrinsics that compiled code talks to the runtime with, and of other raw calls, under TVM's names.

They make the calls; the code generator takes those its own lowering makes.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import GlobalVar, PrimExpr
from baton._src.support.spans import Span
from baton._src.tir import operators
from baton._src.tir.buffer import Buffer
from baton._src.tir.builders.extern_calls import packed_operand
from baton._src.tir.builders.scalar_functions import call
from baton._src.tir.expr import Call, StringImm, Var
from baton._src.values.dtype import DataType


def _passed(args: Any) -> list[Any]:
    return [a.data if isinstance(a, Buffer) else a for a in args]


def call_packed_lowered(*args: Any, span: Span | None = None) -> PrimExpr:
    """A packed call whose arguments lie on the stack: name, values, codes, begin, end."""
    return call("tvm_call_packed_lowered", *_passed(args))


def call_cpacked_lowered(*args: Any, span: Span | None = None) -> PrimExpr:
    """As `call_packed_lowered`, of a C function."""
    return call("tvm_call_cpacked_lowered", *_passed(args))


def call_cpacked(*args: Any, span: Span | None = None) -> PrimExpr:
    """A call as `call_packed` makes it, with an operand for C functions behind the others: their context."""
    return call("tvm_call_cpacked", *map(packed_operand, args))


def call_tir(global_var: GlobalVar, *args: Any) -> PrimExpr:
    """A call of another kernel of the module."""
    return Call("void", global_var, [operators.convert(a) for a in args])


def trace(args: Any, trace_action: str = "tvm.default_trace_action") -> PrimExpr:
    """Gives the last of `args`, after telling the packed function `trace_action` of all of them."""
    if not isinstance(args, list):
        raise TypeError("tir.trace takes a list of arguments")
    given = [operators.convert(a) for a in args]
    return call("tvm_call_trace_packed", StringImm(trace_action), *given, dtype=given[-1].dtype)


def tvm_check_return(expected: int, return_unexpected: int, nested_call: PrimExpr) -> PrimExpr:
    """`return_unexpected` unless `nested_call` gives `expected`."""
    return call("tvm_check_return", expected, return_unexpected, nested_call)


def tvm_stack_alloca(dtype_str: str, num: Any) -> PrimExpr:
    """Room for `num` values of a kind (`shape`, `arg_value`, ...) on the stack."""
    return call("tvm_stack_alloca", StringImm(dtype_str), num)


def tvm_stack_make_shape(*args: Any) -> PrimExpr:
    """A shape on the stack."""
    return call("tvm_stack_make_shape", *args)


def tvm_stack_make_array(
    data: PrimExpr, shape: PrimExpr, strides: PrimExpr, ndim: Any, arr_dtype: Any, elem_offset: Any
) -> PrimExpr:
    """A tensor's descriptor on the stack."""
    return call("tvm_stack_make_array", data, shape, strides, ndim, arr_dtype, elem_offset)


def tvm_tuple(*value: Any) -> PrimExpr:
    """Several values as the value of an attribute."""
    return call("tvm_tuple", *value)


def tvm_struct_get(arr: Var, index: Any, field: int, dtype: object) -> PrimExpr:
    """A field of the `index`-th structure behind `arr`."""
    return call("tvm_struct_get", arr, index, field, dtype=dtype)


def tvm_struct_set(arr: Var, index: Any, field: int, value: Any) -> PrimExpr:
    """Writes a field of the `index`-th structure behind `arr`."""
    return call("tvm_struct_set", arr, index, field, value)


def lookup_param(param_name: str, span: Span | None = None) -> PrimExpr:
    """The parameter of this name."""
    return call("lookup_param", StringImm(param_name))


def tvm_throw_last_error() -> PrimExpr:
    """Leaves with the error that was set last."""
    return call("tvm_throw_last_error")


def TVMBackendAllocWorkspace(
    device_type: int, device_id: int, nbytes: Any, dtype_code_hint: int, dtype_bits_hint: int
) -> PrimExpr:
    """Memory for a while."""
    return call("TVMBackendAllocWorkspace", device_type, device_id, nbytes, dtype_code_hint, dtype_bits_hint)


def TVMBackendFreeWorkspace(device_type: int, device_id: int, ptr: Var) -> PrimExpr:
    """Gives such memory back."""
    return call("TVMBackendFreeWorkspace", device_type, device_id, ptr)


def start_profile_intrinsic(id: int) -> PrimExpr:
    """Marks where a profiled region begins."""
    return call("start_profile_intrinsic", id)


def end_profile_intrinsic(id: int) -> PrimExpr:
    """Marks where a profiled region ends."""
    return call("end_profile_intrinsic", id)


def vscale() -> PrimExpr:
    """How many times wider than its minimum a scalable vector is."""
    return call("vscale")


def vectorlow(dtype: object, vec: PrimExpr) -> PrimExpr:
    """The lower half of a vector."""
    return call("vectorlow", vec, dtype=DataType(dtype))


def vectorhigh(dtype: object, vec: PrimExpr) -> PrimExpr:
    """The upper half of a vector."""
    return call("vectorhigh", vec, dtype=DataType(dtype))


def vectorcombine(dtype: object, vec1: PrimExpr, vec2: PrimExpr) -> PrimExpr:
    """Two vectors as one."""
    return call("vectorcombine", vec1, vec2, dtype=DataType(dtype))


def q_multiply_shift_per_axis(
    x: Any, y: Any, ls: Any, rs: Any, q: Any, is_lshift_required: Any, is_rshift_required: Any
) -> PrimExpr:
    """`q_multiply_shift` with a left and a right shift of its own for each channel."""
    return call("q_multiply_shift_per_axis", x, y, ls, rs, q, is_lshift_required, is_rshift_required)


def shift_left(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """x << y"""
    return operators.left_shift(x, y)


def shift_right(x: Any, y: Any, span: Span | None = None) -> PrimExpr:
    """x >> y; of signed integers the sign is shifted in."""
    return operators.right_shift(x, y)
