"""TIR's intrinsics in LLVM IR: one table, `tir.exp` -> the function that writes it; memory, lanes and calls of C.

Those that may leave the function are written by the writer of statements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from baton._src.codegen.llvm.functions import dot_products
from baton._src.codegen.llvm.functions.integer_intrinsics import INTEGERS
from baton._src.codegen.llvm.functions.real_intrinsics import REALS
from baton._src.codegen.llvm.functions.writer import Handler, Writer
from baton._src.codegen.llvm.padded import from_memory, to_memory
from baton._src.codegen.llvm.types import byte_size, literal_text, memory_type, register_type
from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.values.dtype import DataType


def _large_uint(w: Writer, call: tir.Call) -> str:
    low, high = (a.value & 0xFFFFFFFF for a in call.args)
    return str((high << 32) | low)


def _as_it_is(w: Writer, call: tir.Call) -> str:
    return w.emit(call.args[0])


def _reinterpret(w: Writer, call: tir.Call) -> str:
    source, target = call.args[0].dtype, call.dtype
    operand = w.emit(call.args[0])
    old, new = register_type(source), register_type(target)
    if old == new:
        return str(operand)
    if "handle" in (source.kind, target.kind):
        word = "ptrtoint" if source.kind == "handle" else "inttoptr"
        return w.f.value(f"{word} {old} {operand} to {new}")
    return w.f.value(f"bitcast {old} {operand} to {new}")


def _ptr_add(w: Writer, call: tir.Call) -> str:
    return w.f.value(f"getelementptr inbounds i8, ptr {w.emit(call.args[0])}, i64 {w.index(call.args[1])}")


def _address_of(w: Writer, call: tir.Call) -> str:
    load = call.args[0]
    if not isinstance(load, tir.BufferLoad):
        raise fail("codegen-intrinsic", "address_of takes an element of a buffer", span=call.span)
    return w.pointer(load.buffer, load.indices[0])


def _access_ptr(w: Writer, call: tir.Call) -> str:
    """tvm_access_ptr(type annotation, data, offset, extent, rw mask): the offset is in elements of the type."""
    pointed = call.args[0].dtype
    size = byte_size(pointed.element) * pointed.lanes
    offset = w.f.value(f"mul i64 {w.index(call.args[2])}, {size}")
    return w.f.value(f"getelementptr inbounds i8, ptr {w.emit(call.args[1])}, i64 {offset}")


def _constant_memory(w: Writer, call: tir.Call) -> str:
    spelled = call.args[0]
    assert isinstance(spelled, tir.StringImm)
    return w.f.module.memory(bytes.fromhex(spelled.value), 64)


def _is_null(w: Writer, call: tir.Call) -> str:
    return w.f.value(f"icmp eq ptr {w.emit(call.args[0])}, null")


def _call_extern(w: Writer, call: tir.Call) -> str:
    name, *rest = call.args
    if not isinstance(name, tir.StringImm):
        raise fail("codegen-intrinsic", "call_extern takes the function's name first", span=call.span)
    return call_c(w, w.f.module.import_function, name.value, call.dtype, rest)


def call_c(w: Writer, declare: Callable[..., str], name: str, dtype: DataType, args: list[PrimExpr]) -> str:
    """A call by the C convention: bools travel as bytes."""
    kinds = [memory_type(a.dtype) for a in args]
    operands = []
    for argument, kind in zip(args, kinds):
        operand = to_memory(w.f, argument.dtype, w.emit(argument))
        operands.append(f"{kind} {operand}")
    result = "void" if dtype.is_void else memory_type(dtype)
    symbol = declare(name, result, kinds)
    text = f"call {result} {symbol}({', '.join(operands)})"
    if result == "void":
        w.f.line(text)
        return ""
    return from_memory(w.f, dtype, w.f.value(text))


def _half(upper: bool) -> Handler:
    def write(w: Writer, call: tir.Call) -> str:
        (whole,) = call.args
        half = whole.dtype.lanes // 2
        start, kind = half if upper else 0, register_type(whole.dtype)
        if half == 1:
            return w.f.value(f"extractelement {kind} {w.emit(whole)}, i32 {start}")
        return _shuffled(w, kind, w.emit(whole), "poison", range(start, start + half))

    return write


def _combine(w: Writer, call: tir.Call) -> str:
    a, b = (w.emit(x) for x in call.args)
    kind, whole = register_type(call.args[0].dtype), register_type(call.dtype)
    if call.dtype.lanes > 2:
        return _shuffled(w, kind, a, b, range(call.dtype.lanes))
    first = w.f.value(f"insertelement {whole} poison, {kind} {a}, i32 0")
    return w.f.value(f"insertelement {whole} {first}, {kind} {b}, i32 1")


def _shuffled(w: Writer, kind: str, a: str, b: str, lanes: Sequence[int]) -> str:
    """The chosen lanes of two vectors behind each other."""
    picks = ", ".join(f"i32 {lane}" for lane in lanes)
    return w.f.value(f"shufflevector {kind} {a}, {kind} {b}, <{len(lanes)} x i32> <{picks}>")


def _undef(w: Writer, call: tir.Call) -> str:
    return literal_text(call.dtype, 0)


HANDLERS: dict[str, Handler] = {
    **REALS,
    **INTEGERS,
    "tir.dot_u8s8": dot_products.dot_u8s8,
    "tir.dot_u7s8": dot_products.dot_u7s8,
    "tir.dot_bf16": dot_products.dot_bf16,
    "tir.large_uint_imm": _large_uint,
    "tir.likely": _as_it_is,
    "tir.ignore_loop_partition": _as_it_is,
    "tir.undef": _undef,
    "tir.reinterpret": _reinterpret,
    "tir.ptr_add": _ptr_add,
    "tir.address_of": _address_of,
    "tir.tvm_access_ptr": _access_ptr,
    "tir.constant_memory": _constant_memory,
    "tir.isnullptr": _is_null,
    "tir.call_extern": _call_extern,
    "tir.call_pure_extern": _call_extern,
    "tir.vectorlow": _half(upper=False),
    "tir.vectorhigh": _half(upper=True),
    "tir.vectorcombine": _combine,
}
