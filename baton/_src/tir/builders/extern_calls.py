"""Builders of pointers and of calls by name: `tir.address_of`, `tir.call_extern`, `tir.call_packed`."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import Op, PrimExpr
from baton._src.tir.buffer import Buffer
from baton._src.tir.builders.scalar_functions import call
from baton._src.tir.expr import BufferLoad, Call, StringImm, Var, literal
from baton._src.values.dtype import BOOL, HANDLE


def address_of(load: BufferLoad) -> PrimExpr:
    """The pointer to the element a load would read."""
    return call("address_of", load, dtype=HANDLE)


def ptr_add(pointer: Any, offset: Any) -> PrimExpr:
    """`pointer` moved by `offset` bytes."""
    return call("ptr_add", pointer, offset, dtype=HANDLE)


def isnullptr(pointer: Any) -> PrimExpr:
    """Whether the pointer is null."""
    return call("isnullptr", pointer, dtype=BOOL)


def tvm_access_ptr(dtype: object, data: Var, offset: Any, extent: Any, mask: Any) -> PrimExpr:
    """The pointer `data` moved by `offset` elements of `dtype` (or of a `type_annotation`); mask 1 reads, 2 writes, 3
    both.
    """
    annotation = dtype if isinstance(dtype, Call) else type_annotation(dtype)
    return call("tvm_access_ptr", annotation, data, offset, extent, mask, dtype=HANDLE)


def type_annotation(dtype: object) -> PrimExpr:
    """The element's dtype, as an operand."""
    return call("type_annotation", dtype=dtype)


def call_extern(dtype: object, name: str, *args: Any) -> PrimExpr:
    """A call of the C function `name`."""
    return call("call_extern", StringImm(name), *args, dtype=dtype)


def call_pure_extern(dtype: object, name: str, *args: Any) -> PrimExpr:
    """A call of the C function `name`, which has no effects."""
    return call("call_pure_extern", StringImm(name), *args, dtype=dtype)


def call_intrin(dtype: object, name: str | Op, *args: Any) -> PrimExpr:
    """A call of an intrinsic with a stated dtype."""
    return call(name.name if isinstance(name, Op) else name, *args, dtype=dtype)


def call_packed(name: str, *args: Any) -> PrimExpr:
    """A call of a registered packed function, on numbers, texts, pointers, and buffers, which it gets as tensors."""
    return call("tvm_call_packed", StringImm(name), *map(packed_operand, args), dtype="int32")


def packed_operand(argument: Any) -> Any:
    """What a packed call passes for an argument: of a buffer (also one of `ir_builder`) its descriptor on the stack."""
    buffer = argument.asobject() if hasattr(argument, "asobject") else argument
    if not isinstance(buffer, Buffer):
        return buffer
    shape = call("tvm_stack_make_shape", *buffer.shape)
    strides = call("tvm_stack_make_shape", *buffer.strides) if buffer.strides else literal(0)
    kind, offset = literal(0, buffer.dtype), buffer.elem_offset
    place = literal(0) if offset is None else offset
    return call("tvm_stack_make_array", buffer.data, shape, strides, len(buffer.shape), kind, place)
