"""Intrinsics of integers in LLVM IR: bits, shifts, powers, products in fixed point."""

from __future__ import annotations

from baton._src.codegen.llvm.functions.writer import Handler, Writer
from baton._src.codegen.llvm.text import mangle, with_lanes
from baton._src.codegen.llvm.types import literal_text, register_type
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.values.dtype import DataType


def int_pow(w: Writer, call: tir.Call) -> str:
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


def _integer(word: str, unsigned: str | None = None) -> Handler:
    def write(w: Writer, call: tir.Call) -> str:
        a, b = (w.emit(x) for x in call.args)
        name = unsigned if unsigned and call.dtype.kind != "int" else word
        if call.args[0].dtype != call.args[1].dtype:
            raise fail("codegen-dtype", f"{word} needs operands of one dtype", span=call.span)
        return w.f.value(f"{name} {register_type(call.dtype)} {a}, {b}")

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
            return f.value(f"{word} {kind} {a}, {b}")
        last = literal_text(dtype, dtype.bits - 1)
        fits = f.value(f"icmp ule {kind} {b}, {last}")
        bounded = f.value(f"select {flag} {fits}, {kind} {b}, {kind} {last}")
        found = f.value(f"{word} {kind} {a}, {bounded}")
        if word == "ashr":
            return str(found)
        return f.value(f"select {flag} {fits}, {kind} {found}, {kind} {literal_text(dtype, 0)}")

    return write


def _bitwise_not(w: Writer, call: tir.Call) -> str:
    ones = literal_text(call.dtype, 1 if call.dtype.is_bool else -1)
    return w.f.value(f"xor {register_type(call.dtype)} {w.emit(call.args[0])}, {ones}")


def _popcount(w: Writer, call: tir.Call) -> str:
    kind = register_type(call.dtype)
    return w.f.intrinsic(f"llvm.ctpop.{mangle(kind)}", kind, (kind, w.emit(call.args[0])))


def _clz(w: Writer, call: tir.Call) -> str:
    dtype = call.args[0].dtype
    kind, result = register_type(dtype), register_type(call.dtype)
    found = w.f.intrinsic(f"llvm.ctlz.{mangle(kind)}", kind, (kind, w.emit(call.args[0])), ("i1", "false"))
    if dtype.bits == call.dtype.bits:
        return str(found)
    return w.f.value(f"{'trunc' if dtype.bits > call.dtype.bits else 'zext'} {kind} {found} to {result}")


def _q_multiply_shift(w: Writer, call: tir.Call) -> str:
    """(x * y + half) >> (q + s) in 64 bits."""
    f, lanes = w.f, call.dtype.lanes
    narrow_kind, wide = register_type(call.dtype), with_lanes("i64", lanes)
    x, y, q, s = (f.value(f"sext {narrow_kind} {w.emit(a)} to {wide}") for a in call.args)
    one = "1" if lanes == 1 else "splat (i64 1)"
    shift = f.value(f"add {wide} {q}, {s}")
    half = f.value(f"shl {wide} {one}, {f.value(f'sub {wide} {shift}, {one}')}")
    total = f.value(f"add {wide} {f.value(f'mul {wide} {x}, {y}')}, {half}")
    return f.value(f"trunc {wide} {f.value(f'ashr {wide} {total}, {shift}')} to {narrow_kind}")


INTEGERS: dict[str, Handler] = {
    "tir.bitwise_and": _integer("and"),
    "tir.bitwise_or": _integer("or"),
    "tir.bitwise_xor": _integer("xor"),
    "tir.bitwise_not": _bitwise_not,
    "tir.shift_left": _shift(left=True),
    "tir.shift_right": _shift(left=False),
    "tir.popcount": _popcount,
    "tir.clz": _clz,
    "tir.q_multiply_shift": _q_multiply_shift,
}
