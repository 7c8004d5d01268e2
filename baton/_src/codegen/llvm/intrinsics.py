"""TIR's intrinsics in LLVM IR: one table, `tir.exp` -> the function that writes it.

float32 mathematics is our own (`vector_math`). float64 has exp, log and sigmoid of its own; the other float64
functions, and a few rare float32 ones (nextafter, hypot, atan2, ...), call the C library lane by lane: every Python
process has it, and the loader resolves the names. Narrow floats compute in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.codegen.llvm import dot_products, vector_math
from baton._src.codegen.llvm.c_library import call_lanes
from baton._src.codegen.llvm.narrow_float import narrow, widen
from baton._src.codegen.llvm.padded import from_memory, to_memory
from baton._src.codegen.llvm.text import mangle, with_lanes
from baton._src.codegen.llvm.types import (
    byte_size,
    compute_type,
    is_narrow,
    literal_text,
    memory_type,
    register_type,
)
from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.values.dtype import DataType

Writer = Any
Handler = Callable[[Writer, tir.Call], str]
_OWN_FLOAT64 = frozenset({"exp", "log", "sigmoid"})


def _operands(w: Writer, call: tir.Call) -> list[str]:
    """The operands in the type arithmetic is done in."""
    found = []
    for argument in call.args:
        operand = w.emit(argument)
        found.append(widen(w.f, argument.dtype, operand, w.features) if is_narrow(argument.dtype) else operand)
    return found


def _finish(w: Writer, dtype: DataType, operand: str) -> str:
    return narrow(w.f, dtype, operand, w.features) if is_narrow(dtype) else operand


def _own(name: str) -> Handler:
    """A function of `vector_math`, or the C library's for float64."""

    def write(w: Writer, call: tir.Call) -> str:
        kind = compute_type(call.dtype)
        operands = _operands(w, call)
        if call.dtype.bits == 64 and name not in _OWN_FLOAT64:
            return call_lanes(w.f, name, kind, operands)
        symbol = vector_math.helper(w.f.module, name, kind)
        text = ", ".join(f"{kind} {o}" for o in operands)
        return _finish(w, call.dtype, w.f.value(f"call {kind} {symbol}({text})"))

    return write


def _pow(w: Writer, call: tir.Call) -> str:
    if not call.dtype.is_float:
        return _int_pow(w, call)
    exponent = call.args[1].value if isinstance(call.args[1], tir.Broadcast) else call.args[1]
    if isinstance(exponent, tir.FloatImm) and exponent.value in (2.0, 3.0):
        kind = compute_type(call.dtype)
        base = _operands(w, call)[0]
        found = w.f.value(f"fmul {kind} {base}, {base}")
        if exponent.value == 3.0:
            found = w.f.value(f"fmul {kind} {found}, {base}")
        return _finish(w, call.dtype, found)
    return _own("pow")(w, call)


def _int_pow(w: Writer, call: tir.Call) -> str:
    """By repeated squaring, wrapping around. A negative exponent gives the reciprocal rounded toward zero."""
    f, kind, dtype = w.f, register_type(call.dtype), call.dtype
    base, exponent = (w.emit(a) for a in call.args)
    flag, one, zero = with_lanes("i1", dtype.lanes), literal_text(dtype, 1), literal_text(dtype, 0)
    stated = call.args[1].value if isinstance(call.args[1], tir.Broadcast) else call.args[1]
    known = stated.value if isinstance(stated, tir.IntImm) and stated.value >= 0 else None
    result, power, rest = one, base, exponent
    for _ in range(dtype.bits - (dtype.kind == "int") if known is None else known.bit_length()):
        odd = f.value(f"icmp ne {kind} {f.value(f'and {kind} {rest}, {one}')}, {zero}")
        result = f.value(f"select {flag} {odd}, {kind} {f.value(f'mul {kind} {result}, {power}')}, {kind} {result}")
        power = f.value(f"mul {kind} {power}, {power}")
        rest = f.value(f"lshr {kind} {rest}, {one}")
    return result if known is not None or dtype.kind != "int" else _reciprocal(w, call.dtype, base, exponent, result)


def _reciprocal(w: Writer, dtype: DataType, base: str, exponent: str, otherwise: str) -> str:
    """`otherwise`, or where the exponent is negative: 1 or -1 for those bases, 0 for all others."""
    f, kind, flag = w.f, register_type(dtype), with_lanes("i1", dtype.lanes)
    zero, one, minus = (literal_text(dtype, n) for n in (0, 1, -1))
    odd = f.value(f"icmp ne {kind} {f.value(f'and {kind} {exponent}, {one}')}, {zero}")
    by_parity = f.value(f"select {flag} {odd}, {kind} {minus}, {kind} {one}")
    is_minus = f.value(f"icmp eq {kind} {base}, {minus}")
    found = f.value(f"select {flag} {is_minus}, {kind} {by_parity}, {kind} {zero}")
    is_one = f.value(f"icmp eq {kind} {base}, {one}")
    found = f.value(f"select {flag} {is_one}, {kind} {one}, {kind} {found}")
    negative = f.value(f"icmp slt {kind} {exponent}, {zero}")
    chosen: str = f.value(f"select {flag} {negative}, {kind} {found}, {kind} {otherwise}")
    return chosen


def _ldexp(w: Writer, call: tir.Call) -> str:
    """The C library's takes the exponent as an int32."""
    exponent = call.args[1]
    narrowed = exponent if exponent.dtype.element == "int32" else tir.Cast(f"int32x{exponent.dtype.lanes}", exponent)
    operands = [_operands(w, call)[0], w.emit(narrowed)]
    kind = compute_type(call.dtype)
    return _finish(w, call.dtype, call_lanes(w.f, "ldexp", kind, operands, "i32"))


def _libm(name: str) -> Handler:
    def write(w: Writer, call: tir.Call) -> str:
        return _finish(w, call.dtype, call_lanes(w.f, name, compute_type(call.dtype), _operands(w, call)))

    return write


def _llvm(name: str) -> Handler:
    """An LLVM intrinsic that is an instruction everywhere."""

    def write(w: Writer, call: tir.Call) -> str:
        kind = compute_type(call.dtype)
        operands = [(kind, o) for o in _operands(w, call)]
        return _finish(w, call.dtype, w.f.intrinsic(f"llvm.{name}.{mangle(kind)}", kind, *operands))

    return write


def _fabs(w: Writer, call: tir.Call) -> str:
    if call.dtype.is_float:
        return _llvm("fabs")(w, call)
    operand, kind = w.emit(call.args[0]), register_type(call.dtype)
    if call.dtype.kind != "int":
        return str(operand)
    return str(w.f.intrinsic(f"llvm.abs.{mangle(kind)}", kind, (kind, operand), ("i1", "false")))


def _rsqrt(w: Writer, call: tir.Call) -> str:
    kind = compute_type(call.dtype)
    (x,) = _operands(w, call)
    root = w.f.intrinsic(f"llvm.sqrt.{mangle(kind)}", kind, (kind, x))
    one = literal_text(DataType("float32").with_lanes(call.dtype.lanes) if is_narrow(call.dtype) else call.dtype, 1.0)
    return _finish(w, call.dtype, w.f.value(f"fdiv {kind} {one}, {root}"))


def _classify(test: int) -> Handler:
    """isnan and its kin by LLVM's class test."""

    def write(w: Writer, call: tir.Call) -> str:
        dtype = call.args[0].dtype
        if not dtype.is_float:
            return literal_text(call.dtype, int(test == _FINITE))
        kind = compute_type(dtype)
        flag = with_lanes("i1", dtype.lanes)
        (x,) = _operands(w, call)
        return str(w.f.intrinsic(f"llvm.is.fpclass.{mangle(kind)}", flag, (kind, x), ("i32", str(test))))

    return write


_NAN, _INFINITE, _FINITE = 0x3, 0x204, 0x1F8


def _integer(word: str, unsigned: str | None = None) -> Handler:
    def write(w: Writer, call: tir.Call) -> str:
        a, b = (w.emit(x) for x in call.args)
        name = unsigned if unsigned and call.dtype.kind != "int" else word
        if call.args[0].dtype != call.args[1].dtype:
            raise fail("codegen-dtype", f"{word} needs operands of one dtype", span=call.span)
        return str(w.f.value(f"{name} {register_type(call.dtype)} {a}, {b}"))

    return write


def _shift(left: bool) -> Handler:
    """Shifts by the width or more give 0 (or the sign), as in NumPy; LLVM leaves them undefined."""

    def write(w: Writer, call: tir.Call) -> str:
        f, dtype = w.f, call.dtype
        kind, flag = register_type(dtype), with_lanes("i1", dtype.lanes)
        a, b = (w.emit(x) for x in call.args)
        word = "shl" if left else "ashr" if dtype.kind == "int" else "lshr"
        amount = call.args[1].value if isinstance(call.args[1], tir.Broadcast) else call.args[1]
        if isinstance(amount, tir.IntImm) and 0 <= amount.value < dtype.bits:
            return str(f.value(f"{word} {kind} {a}, {b}"))
        last = literal_text(dtype, dtype.bits - 1)
        fits = f.value(f"icmp ule {kind} {b}, {last}")
        bounded = f.value(f"select {flag} {fits}, {kind} {b}, {kind} {last}")
        found = f.value(f"{word} {kind} {a}, {bounded}")
        if word == "ashr":
            return str(found)
        return str(f.value(f"select {flag} {fits}, {kind} {found}, {kind} {literal_text(dtype, 0)}"))

    return write


def _bitwise_not(w: Writer, call: tir.Call) -> str:
    ones = literal_text(call.dtype, 1 if call.dtype.is_bool else -1)
    return str(w.f.value(f"xor {register_type(call.dtype)} {w.emit(call.args[0])}, {ones}"))


def _popcount(w: Writer, call: tir.Call) -> str:
    kind = register_type(call.dtype)
    return str(w.f.intrinsic(f"llvm.ctpop.{mangle(kind)}", kind, (kind, w.emit(call.args[0]))))


def _clz(w: Writer, call: tir.Call) -> str:
    dtype = call.args[0].dtype
    kind, result = register_type(dtype), register_type(call.dtype)
    found = w.f.intrinsic(f"llvm.ctlz.{mangle(kind)}", kind, (kind, w.emit(call.args[0])), ("i1", "false"))
    if dtype.bits == call.dtype.bits:
        return str(found)
    return str(w.f.value(f"{'trunc' if dtype.bits > call.dtype.bits else 'zext'} {kind} {found} to {result}"))


def _q_multiply_shift(w: Writer, call: tir.Call) -> str:
    """(x * y + half) >> (q + s) in 64 bits."""
    f, lanes = w.f, call.dtype.lanes
    narrow_kind, wide = register_type(call.dtype), with_lanes("i64", lanes)
    x, y, q, s = (f.value(f"sext {narrow_kind} {w.emit(a)} to {wide}") for a in call.args)
    one = "1" if lanes == 1 else "splat (i64 1)"
    shift = f.value(f"add {wide} {q}, {s}")
    half = f.value(f"shl {wide} {one}, {f.value(f'sub {wide} {shift}, {one}')}")
    total = f.value(f"add {wide} {f.value(f'mul {wide} {x}, {y}')}, {half}")
    return str(f.value(f"trunc {wide} {f.value(f'ashr {wide} {total}, {shift}')} to {narrow_kind}"))


def _large_uint(w: Writer, call: tir.Call) -> str:
    low, high = (a.value & 0xFFFFFFFF for a in call.args)
    return str((high << 32) | low)


def _likely(w: Writer, call: tir.Call) -> str:
    return str(w.emit(call.args[0]))


def _reinterpret(w: Writer, call: tir.Call) -> str:
    source, target = call.args[0].dtype, call.dtype
    operand = w.emit(call.args[0])
    old, new = register_type(source), register_type(target)
    if old == new:
        return str(operand)
    if "handle" in (source.kind, target.kind):
        word = "ptrtoint" if source.kind == "handle" else "inttoptr"
        return str(w.f.value(f"{word} {old} {operand} to {new}"))
    return str(w.f.value(f"bitcast {old} {operand} to {new}"))


def _ptr_add(w: Writer, call: tir.Call) -> str:
    return str(w.f.value(f"getelementptr inbounds i8, ptr {w.emit(call.args[0])}, i64 {w.index(call.args[1])}"))


def _address_of(w: Writer, call: tir.Call) -> str:
    load = call.args[0]
    if not isinstance(load, tir.BufferLoad):
        raise fail("codegen-intrinsic", "address_of takes an element of a buffer", span=call.span)
    return str(w.pointer(load.buffer, load.indices[0]))


def _access_ptr(w: Writer, call: tir.Call) -> str:
    """tvm_access_ptr(type annotation, data, offset, extent, rw mask): the offset is in elements of the type."""
    size = byte_size(call.args[0].dtype.element)
    offset = w.f.value(f"mul i64 {w.index(call.args[2])}, {size}")
    return str(w.f.value(f"getelementptr inbounds i8, ptr {w.emit(call.args[1])}, i64 {offset}"))


def _constant_memory(w: Writer, call: tir.Call) -> str:
    spelled = call.args[0]
    assert isinstance(spelled, tir.StringImm)
    return str(w.f.module.memory(bytes.fromhex(spelled.value), 64))


def _is_null(w: Writer, call: tir.Call) -> str:
    return str(w.f.value(f"icmp eq ptr {w.emit(call.args[0])}, null"))


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
        lanes = call.args[0].dtype.lanes
        start = lanes // 2 if upper else 0
        picks = ", ".join(f"i32 {start + i}" for i in range(lanes // 2))
        kind = register_type(call.args[0].dtype)
        return str(w.f.value(f"shufflevector {kind} {w.emit(call.args[0])}, {kind} poison, <{picks}>"))

    return write


def _combine(w: Writer, call: tir.Call) -> str:
    kind = register_type(call.args[0].dtype)
    picks = ", ".join(f"i32 {i}" for i in range(call.dtype.lanes))
    a, b = (w.emit(x) for x in call.args)
    return str(w.f.value(f"shufflevector {kind} {a}, {kind} {b}, <{picks}>"))


def _undef(w: Writer, call: tir.Call) -> str:
    return literal_text(call.dtype, 0)


HANDLERS: dict[str, Handler] = {
    **{f"tir.{name}": _own(name) for name in vector_math.FUNCTIONS if name != "pow"},
    **{f"tir.{name}": _libm(name) for name in ("fmod", "atan2", "hypot", "nextafter")},
    **{f"tir.{name}": _llvm(name) for name in ("sqrt", "floor", "ceil", "trunc", "round", "copysign", "fma")},
    "tir.ldexp": _ldexp,
    "tir.pow": _pow,
    "tir.nearbyint": _llvm("rint"),
    "tir.fabs": _fabs,
    "tir.rsqrt": _rsqrt,
    "tir.isnan": _classify(_NAN),
    "tir.isinf": _classify(_INFINITE),
    "tir.isfinite": _classify(_FINITE),
    "tir.bitwise_and": _integer("and"),
    "tir.bitwise_or": _integer("or"),
    "tir.bitwise_xor": _integer("xor"),
    "tir.bitwise_not": _bitwise_not,
    "tir.shift_left": _shift(left=True),
    "tir.shift_right": _shift(left=False),
    "tir.popcount": _popcount,
    "tir.clz": _clz,
    "tir.q_multiply_shift": _q_multiply_shift,
    "tir.dot_u8s8": dot_products.dot_u8s8,
    "tir.dot_bf16": dot_products.dot_bf16,
    "tir.large_uint_imm": _large_uint,
    "tir.likely": _likely,
    "tir.index_within": lambda w, call: w.check_index(call),
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
