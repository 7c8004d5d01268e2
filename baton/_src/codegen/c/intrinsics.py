"""TIR's intrinsics in C: one table, `tir.exp` -> the function that writes it."""

from __future__ import annotations

from baton._src.codegen.c.arithmetic import fitted, narrowed, whole_suffix, widened
from baton._src.codegen.c.expr import ExprWriter, Handler
from baton._src.codegen.c.helpers import stored_suffix
from baton._src.codegen.c.text import string
from baton._src.codegen.c.types import c_type, compute_dtype, literal, suffix, unsigned_type
from baton._src.codegen.narrow_neighbours import neighbour
from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir import expr as tir
from baton._src.tir.packed_calls import PACKED


def _reals(w: ExprWriter, call: tir.Call) -> list[str]:
    """The operands in the type arithmetic is done in."""
    return [widened(w.file, a.dtype.element, w.emit(a)) for a in call.args]


def _library(name: str) -> Handler:
    """A function of the C library, for floats and doubles."""

    def write(w: ExprWriter, call: tir.Call) -> str:
        letter = "f" if compute_dtype(call.dtype).bits == 32 else ""
        return narrowed(w.file, call.dtype.element, f"{name}{letter}({', '.join(_reals(w, call))})")

    return write


def _helper(name: str) -> Handler:
    def write(w: ExprWriter, call: tir.Call) -> str:
        function = w.file.helper(f"{name}_{suffix(compute_dtype(call.dtype))}")
        return narrowed(w.file, call.dtype.element, f"{function}({', '.join(_reals(w, call))})")

    return write


def _exp10(w: ExprWriter, call: tir.Call) -> str:
    single = compute_dtype(call.dtype).bits == 32
    return narrowed(w.file, call.dtype.element, f"{'powf(10.0f' if single else 'pow(10.0'}, {_reals(w, call)[0]})")


def _rsqrt(w: ExprWriter, call: tir.Call) -> str:
    root = "sqrtf" if compute_dtype(call.dtype).bits == 32 else "sqrt"
    return narrowed(w.file, call.dtype.element, f"(1 / {root}({_reals(w, call)[0]}))")


def _pow(w: ExprWriter, call: tir.Call) -> str:
    if call.dtype.is_float:
        return _library("pow")(w, call)
    return _of_integers("pow")(w, call)


def _fabs(w: ExprWriter, call: tir.Call) -> str:
    if call.dtype.is_float:
        return _library("fabs")(w, call)
    return _of_integers("abs")(w, call) if call.dtype.kind == "int" else str(w.emit(call.args[0]))


def _ldexp(w: ExprWriter, call: tir.Call) -> str:
    name = "ldexpf" if compute_dtype(call.dtype).bits == 32 else "ldexp"
    number = widened(w.file, call.dtype.element, w.emit(call.args[0]))
    return narrowed(w.file, call.dtype.element, f"{name}({number}, (int){w.emit(call.args[1])})")


def _nextafter(w: ExprWriter, call: tir.Call) -> str:
    return w.emit(neighbour(call)) if call.dtype.is_narrow else _library("nextafter")(w, call)


def _classify(name: str) -> Handler:
    def write(w: ExprWriter, call: tir.Call) -> str:
        dtype = call.args[0].dtype.element
        if not dtype.is_float:
            return "true" if name == "isfinite" else "false"
        return f"({name}({widened(w.file, dtype, w.emit(call.args[0]))}) != 0)"

    return write


def _of_integers(name: str) -> Handler:
    def write(w: ExprWriter, call: tir.Call) -> str:
        dtype = call.args[0].dtype.element
        function = w.file.helper(f"{name}_{whole_suffix(dtype)}")
        found = f"{function}({', '.join(map(w.emit, call.args))})"
        return fitted(dtype, found) if dtype.bits < 8 and name != "clz" else found

    return write


def _bitwise(sign: str) -> Handler:
    def write(w: ExprWriter, call: tir.Call) -> str:
        a, b = map(w.emit, call.args)
        if call.args[0].dtype != call.args[1].dtype:
            raise fail("codegen-dtype", f"{call.op} needs operands of one dtype", span=call.span)
        return f"({a} {sign} {b})"

    return write


def _bitwise_not(w: ExprWriter, call: tir.Call) -> str:
    operand = w.emit(call.args[0])
    return f"(!{operand})" if call.dtype.is_bool else fitted(call.dtype.element, f"~{operand}")


def _shift(left: bool) -> Handler:
    """Shifts by the width or more give 0 (or the sign)."""

    def write(w: ExprWriter, call: tir.Call) -> str:
        dtype = call.dtype.element
        a = w.emit(call.args[0])
        amount = call.args[1].value if isinstance(call.args[1], tir.Broadcast) else call.args[1]
        if isinstance(amount, tir.IntImm) and 0 <= amount.value < dtype.bits and dtype.bits >= 8:
            if left:
                return f"(({c_type(dtype)})(({unsigned_type(dtype)}){a} << {amount.value}))"
            return f"(({c_type(dtype)})(({c_type(dtype)}){a} >> {amount.value}))"
        return _of_integers("shl" if left else "shr")(w, call)

    return write


def _function(name: str) -> Handler:
    def write(w: ExprWriter, call: tir.Call) -> str:
        return f"{w.file.helper(name)}({', '.join(map(w.emit, call.args))})"

    return write


def _large_uint(w: ExprWriter, call: tir.Call) -> str:
    low, high = (a.value & 0xFFFFFFFF for a in call.args)
    return literal(call.dtype, (high << 32) | low)


def _as_it_is(w: ExprWriter, call: tir.Call) -> str:
    return str(w.emit(call.args[0]))


def _reinterpret(w: ExprWriter, call: tir.Call) -> str:
    source, target = call.args[0].dtype, call.dtype
    if source.lanes != target.lanes:
        return _regrouped_bits(w, call)
    operand, old, new = w.emit(call.args[0]), c_type(source), c_type(target)
    if old == new:
        return str(operand)
    if "handle" in (source.kind, target.kind):
        return f"(({new})(uintptr_t){operand})"
    return f"{w.file.helper(f'bits_{stored_suffix(old)}_to_{stored_suffix(new)}')}({operand})"


def _regrouped_bits(w: ExprWriter, call: tir.Call) -> str:
    """The same bits in another number of lanes."""
    source = w.array(call.args[0])
    target = w.t.name("bits")
    w.t.line(f"{c_type(call.dtype)} {target}[{call.dtype.lanes}];")
    w.t.line(f"memcpy({target}, {source}, sizeof {target});")
    return f"{target}[{w.lane if call.dtype.lanes > 1 else 0}]"


def _ptr_add(w: ExprWriter, call: tir.Call) -> str:
    return f"((void*)((char*){w.emit(call.args[0])} + {w.place(call.args[1])}))"


def _address_of(w: ExprWriter, call: tir.Call) -> str:
    load = call.args[0]
    if not isinstance(load, tir.BufferLoad):
        raise fail("codegen-intrinsic", "address_of takes an element of a buffer", span=call.span)
    return str(w.address(load.buffer, load.indices[0]))


def _access_ptr(w: ExprWriter, call: tir.Call) -> str:
    """tvm_access_ptr(type annotation, data, offset, extent, rw mask): the offset is in elements of the type."""
    pointed = call.args[0].dtype
    lanes = f" * {pointed.lanes}" if pointed.lanes > 1 else ""
    return f"(({c_type(pointed)}*){w.emit(call.args[1])} + ({w.place(call.args[2])}){lanes})"


def _constant_memory(w: ExprWriter, call: tir.Call) -> str:
    spelled = call.args[0]
    assert isinstance(spelled, tir.StringImm)
    return f"((void*){w.file.memory(bytes.fromhex(spelled.value))})"


def _index_within(w: ExprWriter, call: tir.Call) -> str:
    """index_within(index, extent, message, shown): the index, after a test that leaves the function."""
    index, extent, text, shown = call.args
    assert isinstance(text, tir.StringImm)
    found, limit = w.emit(index), w.emit(extent)
    if isinstance(index, tir.IntImm) and isinstance(extent, tir.IntImm) and 0 <= index.value < extent.value:
        return str(found)
    assert w.leave is not None  # expressions of kernels only check indices
    with w.t.block(f"if ({found} < 0 || {found} >= {limit})" if _is_signed(index) else f"if ({found} >= {limit})"):
        w.leave(text.value, [f"(int64_t){w.emit(shown)}", f"(int64_t){limit}"])
    return str(found)


def _is_signed(index: PrimExpr) -> bool:
    return bool(index.dtype.kind == "int")


def _is_null(w: ExprWriter, call: tir.Call) -> str:
    return f"({w.emit(call.args[0])} == NULL)"


def _call_extern(w: ExprWriter, call: tir.Call) -> str:
    name, *rest = call.args
    if not isinstance(name, tir.StringImm):
        raise fail("codegen-intrinsic", "call_extern takes the function's name first", span=call.span)
    if any(a.dtype.lanes > 1 for a in rest) and w.lane is None:
        raise fail("codegen-intrinsic", f"{name.value} is called with vectors, which C has not", span=call.span)
    given = [string(a.value) if isinstance(a, tir.StringImm) else w.emit(a) for a in rest]
    kinds = ", ".join("const char*" if isinstance(a, tir.StringImm) else c_type(a.dtype) for a in rest) or "void"
    result = "void" if call.dtype.is_void else c_type(call.dtype)
    w.file.declare(name.value, f"extern {result} {name.value}({kinds});")
    text = f"{name.value}({', '.join(given)})"
    if not call.dtype.is_void:
        return text
    w.t.line(f"{text};")
    return ""


def _half(upper: bool) -> Handler:
    def write(w: ExprWriter, call: tir.Call) -> str:
        (whole,) = call.args
        name, half = w.array(whole), whole.dtype.lanes // 2
        start = f"{half} + " if upper else ""
        return f"{name}[{start}{w.lane if half > 1 else 0}]"

    return write


def _combine(w: ExprWriter, call: tir.Call) -> str:
    a, b = call.args
    first, second, half = w.array(a), w.array(b), a.dtype.lanes
    return f"({w.lane} < {half} ? {first}[{w.lane} % {half}] : {second}[{w.lane} % {half}])"


def _no_packed_calls(w: ExprWriter, call: tir.Call) -> str:
    help = 'tir.call_extern calls a function of C; target "llvm" calls packed functions'
    raise fail("codegen-intrinsic", "C code does not call packed functions", span=call.span, help=help)


_LIBRARY = """
exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh erf floor ceil
trunc round nearbyint fmod atan2 hypot copysign fma
"""

HANDLERS: dict[str, Handler] = {
    **{f"tir.{name}": _library(name) for name in _LIBRARY.split()},
    "tir.exp_flushed": _helper("exp_flushed"),
    "tir.sigmoid": _helper("sigmoid"),
    "tir.exp10": _exp10,
    "tir.rsqrt": _rsqrt,
    "tir.pow": _pow,
    "tir.fabs": _fabs,
    "tir.ldexp": _ldexp,
    "tir.nextafter": _nextafter,
    "tir.isnan": _classify("isnan"),
    "tir.isinf": _classify("isinf"),
    "tir.isfinite": _classify("isfinite"),
    "tir.bitwise_and": _bitwise("&"),
    "tir.bitwise_or": _bitwise("|"),
    "tir.bitwise_xor": _bitwise("^"),
    "tir.bitwise_not": _bitwise_not,
    "tir.shift_left": _shift(left=True),
    "tir.shift_right": _shift(left=False),
    "tir.popcount": _of_integers("popcount"),
    "tir.clz": _of_integers("clz"),
    "tir.q_multiply_shift": _function("q_multiply_shift"),
    "tir.dot_u8s8": _function("dot_u8s8"),
    "tir.dot_u7s8": _function("dot_u8s8"),
    "tir.dot_bf16": _function("dot_bf16"),
    "tir.large_uint_imm": _large_uint,
    "tir.likely": _as_it_is,
    "tir.ignore_loop_partition": _as_it_is,
    "tir.index_within": _index_within,
    "tir.undef": lambda w, call: literal(call.dtype, 0),
    "tir.reinterpret": _reinterpret,
    "tir.ptr_add": _ptr_add,
    "tir.address_of": _address_of,
    "tir.tvm_access_ptr": _access_ptr,
    "tir.constant_memory": _constant_memory,
    "tir.isnullptr": _is_null,
    "tir.call_extern": _call_extern,
    "tir.call_pure_extern": _call_extern,
    **dict.fromkeys(PACKED, _no_packed_calls),
    "tir.vectorlow": _half(upper=False),
    "tir.vectorhigh": _half(upper=True),
    "tir.vectorcombine": _combine,
}
