"""Arithmetic, comparisons and conversions of one lane, as C expressions of operands that are C expressions.

What they mean is said in `codegen.llvm.arithmetic`: integers wrap around and give 0 when divided by 0, extremes keep
NaN, floats become integers by truncation, the nearest of 32 or 64 bits if they do not fit.
"""

from __future__ import annotations

from baton._src.codegen.c.intervals import Interval, is_narrow
from baton._src.codegen.c.text import CFile
from baton._src.codegen.c.types import c_type, compute_dtype, is_padded, literal, suffix, unsigned_type
from baton._src.support.diagnostics import InternalError, fail
from baton._src.tir import expr as tir
from baton._src.values.dtype import INT64, DataType
from baton._src.values.whole_numbers import whole_dtype

_SIGNS = {tir.Add: "+", tir.Sub: "-", tir.Mul: "*"}
_COMPARE = {tir.EQ: "==", tir.NE: "!=", tir.LT: "<", tir.LE: "<=", tir.GT: ">", tir.GE: ">="}
_POWERS = DataType("float8_e8m0fnu")
"""Powers of two: the exponent of a float32."""
_OF_BOOLS = {tir.Add: "|", tir.Max: "|", tir.Mul: "&", tir.Min: "&", tir.Sub: "^"}
_DIVISIONS = {tir.Div: "div", tir.Mod: "mod", tir.FloorDiv: "floordiv", tir.FloorMod: "floormod"}


def whole_suffix(dtype: DataType) -> str:
    """The suffix of helpers for an integer dtype; smaller ones than a byte are held in one."""
    return f"{'u' if dtype.kind in ('uint', 'bool') else 'i'}{max(8, dtype.bits)}"


def fitted(dtype: DataType, text: str) -> str:
    """An integer expression of C as a value of `dtype`: the bits that it has."""
    if is_padded(dtype):
        if dtype.kind == "uint":
            return f"(uint8_t)(({text}) & {(1 << dtype.bits) - 1})"
        unused = 8 - dtype.bits
        return f"(int8_t)((int8_t)((uint8_t)({text}) << {unused}) >> {unused})"
    return f"({c_type(dtype)})({text})"


def binary(file: CFile, node: tir.BinaryOp, a: str, b: str, known: Interval | None, dividend: Interval | None) -> str:
    """A `BinaryOp`; `known` is its interval, `dividend` that of its first operand."""
    dtype: DataType = node.dtype.element
    if dtype.is_float:
        compute = compute_dtype(dtype)
        operands = (widened(file, dtype, a), widened(file, dtype, b))
        return narrowed(file, dtype, _of_floats(file, node, compute, *operands))
    if dtype.is_bool:
        if type(node) not in _OF_BOOLS:
            raise fail("codegen-dtype", f"{type(node).__name__} is not defined for bool", span=node.span)
        return f"({a} {_OF_BOOLS[type(node)]} {b})"
    sign = _SIGNS.get(type(node))
    if sign is not None:
        return _wrapped(node, dtype, a, sign, b, known)
    if isinstance(node, (tir.Min, tir.Max)):
        name = "min" if isinstance(node, tir.Min) else "max"
        return f"{file.helper(f'{name}_{whole_suffix(dtype)}')}({a}, {b})"
    quotient = _divided(file, node, dtype, a, b, dividend)
    return fitted(dtype, quotient) if is_padded(dtype) else quotient


def _wrapped(node: tir.BinaryOp, dtype: DataType, a: str, sign: str, b: str, known: Interval | None) -> str:
    if isinstance(node.a, tir.IntImm) and isinstance(node.b, tir.IntImm):
        a = f"({c_type(dtype)}){a}"
    if known is not None and dtype == INT64:
        return f"({a} {sign} {b})" if is_narrow(known) else f"((int64_t){a} {sign} {b})"
    if known is not None and dtype.bits == 32:
        return f"({a} {sign} {b})"
    if dtype.kind == "uint" and dtype.bits >= 32:
        return f"({a} {sign} {b})"
    if known is not None and dtype.bits < 32 and known != dtype.int_range:
        return f"({c_type(dtype)})({a} {sign} {b})"
    wide = unsigned_type(dtype)
    return fitted(dtype, f"({wide}){a} {sign} ({wide}){b}")


def _divided(file: CFile, node: tir.BinaryOp, dtype: DataType, a: str, b: str, dividend: Interval | None) -> str:
    divisor = node.b.value if isinstance(node.b, tir.Broadcast) else node.b
    number = divisor.value if isinstance(divisor, tir.IntImm) else 0
    word = _DIVISIONS[type(node)]
    sign = "/" if word in ("div", "floordiv") else "%"
    unsigned = dtype.kind == "uint"
    if number > 0 and (unsigned or word in ("div", "mod") or (dividend is not None and dividend[0] >= 0)):
        return f"({c_type(dtype)})({a} {sign} {b})" if dtype.bits < 32 else f"({a} {sign} {b})"
    if number > 0 and number & (number - 1) == 0:
        how = f">> {number.bit_length() - 1}" if sign == "/" else f"& {literal(dtype, number - 1)}"
        a = f"(int64_t){a}" if dtype == INT64 and number >= 1 << 31 else a
        return f"({c_type(dtype)})({a} {how})" if dtype.bits < 32 else f"({a} {how})"
    word = word.removeprefix("floor") if unsigned else word
    return f"{file.helper(f'{word}_{whole_suffix(dtype)}')}({a}, {b})"


def _of_floats(file: CFile, node: tir.BinaryOp, dtype: DataType, a: str, b: str) -> str:
    letter, end = "f" if dtype.bits == 32 else "", suffix(dtype)
    sign = _SIGNS.get(type(node))
    if sign is not None:
        return f"({a} {sign} {b})"
    match node:
        case tir.Div():
            return f"({a} / {b})"
        case tir.Min():
            return f"{file.helper(f'min_{end}')}({a}, {b})"
        case tir.Max():
            return f"{file.helper(f'max_{end}')}({a}, {b})"
        case tir.FloorDiv():
            return f"floor{letter}({a} / {b})"
        case tir.Mod():
            return f"fmod{letter}({a}, {b})"
        case tir.FloorMod():
            return f"{file.helper(f'floormod_{end}')}({a}, {b})"
        case _:
            pass
    raise InternalError(f"code generation: no rule for {type(node).__name__}")


def compare(file: CFile, node: tir.CompareOp, a: str, b: str) -> str:
    """A `CompareOp`."""
    dtype: DataType = node.a.dtype.element
    if dtype.is_narrow:
        a, b = widened(file, dtype, a), widened(file, dtype, b)
    if a == b and not dtype.is_float:  # C compilers warn of it
        return "true" if isinstance(node, (tir.EQ, tir.LE, tir.GE)) else "false"
    return f"({a} {_COMPARE[type(node)]} {b})"


def widened(file: CFile, dtype: DataType, text: str) -> str:
    """A narrow float as a `float`; any other as it is."""
    if not dtype.is_narrow:
        return text
    if dtype.bits == 16:
        return f"{file.helper(f'{suffix(dtype)}_to_f32')}({text})"
    if dtype.element == _POWERS:
        return f"{file.helper('power_to_f32')}({text})"
    return f"{file.helper('from_small')}({text}, {_format(file, dtype)})"


def narrowed(file: CFile, dtype: DataType, text: str) -> str:
    """A `float` as a narrow float; any other as it is."""
    if not dtype.is_narrow:
        return text
    if dtype.bits == 16:
        return f"{file.helper(f'f32_to_{suffix(dtype)}')}({text})"
    if dtype.element == _POWERS:
        return f"{file.helper('f32_to_power')}({text})"
    return f"{file.helper('to_small')}({text}, {_format(file, dtype)})"


def _format(file: CFile, dtype: DataType) -> str:
    return file.small_format(f"f{str(dtype.element).removeprefix('float')}")


def cast(file: CFile, source: DataType, target: DataType, text: str) -> str:
    """`text` of type `source` as `target`."""
    source, target = source.element, target.element
    if source == target:
        return text
    if "handle" in (source.kind, target.kind):
        return f"((void*)(uintptr_t){text})" if target.kind == "handle" else f"(({c_type(target)})(uintptr_t){text})"
    if source.is_narrow:
        return cast(file, DataType("float32"), target, widened(file, source, text))
    if target.is_narrow:
        if source == DataType("float64") and target == DataType("float16"):
            return narrowed(file, target, f"{file.helper('rounded_to_odd')}({text})")
        return narrowed(file, target, cast(file, source, DataType("float32"), text))
    if target.is_bool:
        return f"({text} != 0)"
    if source.is_float and not target.is_float:
        through = target if target == DataType("uint64") else whole_dtype(target)
        whole = f"{file.helper(f'to_{whole_suffix(through)}_{suffix(source)}')}({text})"
        return whole if through == target else fitted(target, whole)
    return fitted(target, text) if is_padded(target) else f"(({c_type(target)}){text})"
