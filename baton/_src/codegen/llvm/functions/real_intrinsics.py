"""Mathematical functions in LLVM IR.

float32 mathematics is our own (`vector_math`). float64 has some functions of its own; the other
float64 functions, and a few rare float32 ones (nextafter, hypot, atan2, ...), call the C library lane by lane: every
Python process has it, and the loader resolves the names. Narrow floats compute in float32.
"""

from __future__ import annotations

from baton._src.codegen.llvm.functions import vector_math
from baton._src.codegen.llvm.functions.c_library import call_lanes
from baton._src.codegen.llvm.functions.integer_intrinsics import int_pow
from baton._src.codegen.llvm.functions.narrow_float import narrow, widen
from baton._src.codegen.llvm.functions.writer import Handler, Writer
from baton._src.codegen.llvm.text import mangle, with_lanes
from baton._src.codegen.llvm.types import compute_type, literal_text, register_type
from baton._src.codegen.narrow_neighbours import neighbour
from baton._src.tir import expr as tir
from baton._src.values.dtype import DataType


def _operands(w: Writer, call: tir.Call) -> list[str]:
    """The operands in the type arithmetic is done in."""
    found = []
    for argument in call.args:
        operand = w.emit(argument)
        found.append(widen(w.f, argument.dtype, operand, w.features) if argument.dtype.is_narrow else operand)
    return found


def _finish(w: Writer, dtype: DataType, operand: str) -> str:
    return narrow(w.f, dtype, operand, w.features) if dtype.is_narrow else operand


def _own(name: str) -> Handler:
    """A function of `vector_math`, or the C library's for float64."""

    def write(w: Writer, call: tir.Call) -> str:
        kind = compute_type(call.dtype)
        operands = _operands(w, call)
        if not vector_math.is_own(name, call.dtype.bits, w.f.module.features):
            return call_lanes(w.f, name, kind, operands)
        symbol = vector_math.helper(w.f.module, name, kind)
        text = ", ".join(f"{kind} {o}" for o in operands)
        return _finish(w, call.dtype, w.f.value(f"call {kind} {symbol}({text})"))

    return write


def _pow(w: Writer, call: tir.Call) -> str:
    if not call.dtype.is_float:
        return int_pow(w, call)
    exponent = call.args[1].value if isinstance(call.args[1], tir.Broadcast) else call.args[1]
    if isinstance(exponent, tir.FloatImm) and exponent.value in (2.0, 3.0):
        kind = compute_type(call.dtype)
        base = _operands(w, call)[0]
        found = w.f.value(f"fmul {kind} {base}, {base}")
        if exponent.value == 3.0:
            found = w.f.value(f"fmul {kind} {found}, {base}")
        return _finish(w, call.dtype, found)
    return _own("pow")(w, call)


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


def _nextafter(w: Writer, call: tir.Call) -> str:
    return w.emit(neighbour(call)) if call.dtype.is_narrow else _libm("nextafter")(w, call)


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
    return w.f.intrinsic(f"llvm.abs.{mangle(kind)}", kind, (kind, operand), ("i1", "false"))


def _rsqrt(w: Writer, call: tir.Call) -> str:
    kind = compute_type(call.dtype)
    (x,) = _operands(w, call)
    root = w.f.intrinsic(f"llvm.sqrt.{mangle(kind)}", kind, (kind, x))
    one = literal_text(DataType("float32").with_lanes(call.dtype.lanes) if call.dtype.is_narrow else call.dtype, 1.0)
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
        return w.f.intrinsic(f"llvm.is.fpclass.{mangle(kind)}", flag, (kind, x), ("i32", str(test)))

    return write


_NAN, _INFINITE, _FINITE = 0x3, 0x204, 0x1F8


REALS: dict[str, Handler] = {
    **{f"tir.{name}": _own(name) for name in vector_math.FUNCTIONS if name != "pow"},
    **{f"tir.{name}": _libm(name) for name in ("atan2", "hypot")},
    **{f"tir.{name}": _llvm(name) for name in ("sqrt", "floor", "ceil", "trunc", "round", "copysign", "fma")},
    "tir.ldexp": _ldexp,
    "tir.nextafter": _nextafter,
    "tir.pow": _pow,
    "tir.nearbyint": _llvm("rint"),
    "tir.fabs": _fabs,
    "tir.rsqrt": _rsqrt,
    "tir.isnan": _classify(_NAN),
    "tir.isinf": _classify(_INFINITE),
    "tir.isfinite": _classify(_FINITE),
}
