"""Floats of 16 bits and less (held as integers) to and from float32, by hardware where there is some, else by bits.

Rounding is to nearest, ties to even; infinities, NaN and subnormals are right in both ways. No run-time library is
called.
"""

from __future__ import annotations

from collections.abc import Collection

from baton._src.codegen.llvm.functions.small_float import narrow_small, widen_small
from baton._src.codegen.llvm.text import FunctionText, lanes_of, mangle, with_lanes
from baton._src.values.dtype import DataType


def widen(f: FunctionText, dtype: DataType, operand: str, features: Collection[str]) -> str:
    """float32 from a narrower float."""
    if dtype.bits <= 8:
        return widen_small(f, dtype, operand)
    lanes = dtype.lanes
    half, word, single = with_lanes("i16", lanes), with_lanes("i32", lanes), with_lanes("float", lanes)
    if dtype.kind == "bfloat":
        wide = f.value(f"zext {half} {operand} to {word}")
        return f.value(f"bitcast {word} {f.value(f'shl {word} {wide}, {_int(word, 16)}')} to {single}")
    if _converts_half(features):
        bits = f.value(f"bitcast {half} {operand} to {with_lanes('half', lanes)}")
        return f.value(f"fpext {with_lanes('half', lanes)} {bits} to {single}")
    return _half_bits_to_float(f, operand, half, word, single)


def narrow(f: FunctionText, dtype: DataType, operand: str, features: Collection[str]) -> str:
    """A narrower float from float32."""
    if dtype.bits <= 8:
        return narrow_small(f, dtype, operand)
    lanes = dtype.lanes
    half, word, single = with_lanes("i16", lanes), with_lanes("i32", lanes), with_lanes("float", lanes)
    if dtype.kind == "bfloat":
        return _float_to_bfloat(f, operand, half, word, single)
    if _converts_half(features):
        short = f.value(f"fptrunc {single} {operand} to {with_lanes('half', lanes)}")
        return f.value(f"bitcast {with_lanes('half', lanes)} {short} to {half}")
    return _float_to_half_bits(f, operand, half, word, single)


def rounded_to_odd(f: FunctionText, lanes: int, operand: str) -> str:
    """float32 from float64 such that rounding again, to float16, gives what rounding once would: an inexact number has
    the last bit of its neighbour towards zero set, so it lies on the right side of every tie.
    """
    double, single, word, flag = (with_lanes(kind, lanes) for kind in ("double", "float", "i32", "i1"))
    near = f.value(f"fptrunc {double} {operand} to {single}")
    back = f.value(f"fpext {single} {near} to {double}")
    sizes = [f.intrinsic(f"llvm.fabs.{mangle(double)}", double, (double, number)) for number in (back, operand)]
    beyond = f.value(f"zext {flag} {f.value(f'fcmp ogt {double} {sizes[0]}, {sizes[1]}')} to {word}")
    bits = f.value(f"bitcast {single} {near} to {word}")
    odd = f.value(f"or {word} {f.value(f'sub {word} {bits}, {beyond}')}, {_int(word, 1)}")
    inexact = f.value(f"fcmp one {double} {back}, {operand}")
    return f.value(f"bitcast {word} {f.value(f'select {flag} {inexact}, {word} {odd}, {word} {bits}')} to {single}")


def _converts_half(features: Collection[str]) -> bool:
    return "f16c" in features or "avx512f" in features or "neon" in features


def _int(kind: str, number: int) -> str:
    return str(number) if lanes_of(kind) == 1 else f"splat (i32 {number})"


def _float_to_bfloat(f: FunctionText, operand: str, half: str, word: str, single: str) -> str:
    bits = f.value(f"bitcast {single} {operand} to {word}")
    high = f.value(f"lshr {word} {bits}, {_int(word, 16)}")
    odd = f.value(f"and {word} {high}, {_int(word, 1)}")
    bias = f.value(f"add {word} {odd}, {_int(word, 0x7FFF)}")
    rounded = f.value(f"lshr {word} {f.value(f'add {word} {bits}, {bias}')}, {_int(word, 16)}")
    quiet = f.value(f"or {word} {high}, {_int(word, 0x40)}")
    flag = with_lanes("i1", lanes_of(word))
    is_nan = f.value(f"fcmp uno {single} {operand}, {operand}")
    chosen = f.value(f"select {flag} {is_nan}, {word} {quiet}, {word} {rounded}")
    return f.value(f"trunc {word} {chosen} to {half}")


def _half_bits_to_float(f: FunctionText, operand: str, half: str, word: str, single: str) -> str:
    """Shift exponent and mantissa into place, then scale by 2^112: exact for subnormals too."""
    flag = with_lanes("i1", lanes_of(word))
    wide = f.value(f"zext {half} {operand} to {word}")
    sign = f.value(f"shl {word} {f.value(f'and {word} {wide}, {_int(word, 0x8000)}')}, {_int(word, 16)}")
    body = f.value(f"shl {word} {f.value(f'and {word} {wide}, {_int(word, 0x7FFF)}')}, {_int(word, 13)}")
    scale = "0x46F0000000000000" if lanes_of(word) == 1 else "splat (float 0x46F0000000000000)"
    scaled = f.value(f"fmul {single} {f.value(f'bitcast {word} {body} to {single}')}, {scale}")
    finite = f.value(f"bitcast {single} {scaled} to {word}")
    special = f.value(f"or {word} {body}, {_int(word, 0x7F800000)}")
    is_special = f.value(f"icmp uge {word} {body}, {_int(word, 0x7C00 << 13)}")
    chosen = f.value(f"select {flag} {is_special}, {word} {special}, {word} {finite}")
    return f.value(f"bitcast {word} {f.value(f'or {word} {chosen}, {sign}')} to {single}")


def _float_to_half_bits(f: FunctionText, operand: str, half: str, word: str, single: str) -> str:
    flag = with_lanes("i1", lanes_of(word))

    def op(name: str, a: str, b: str | int) -> str:
        return f.value(f"{name} {word} {a}, {_int(word, b) if isinstance(b, int) else b}")

    def choose(condition: str, a: str | int, b: str) -> str:
        first = _int(word, a) if isinstance(a, int) else a
        return f.value(f"select {flag} {condition}, {word} {first}, {word} {b}")

    bits = f.value(f"bitcast {single} {operand} to {word}")
    sign = op("and", op("lshr", bits, 16), 0x8000)
    size = op("and", bits, 0x7FFFFFFF)
    # Normal results: rebias the exponent, add half a unit (ties to even), drop 13 bits. Overflow gives infinity by
    # itself.
    odd = op("and", op("lshr", size, 13), 1)
    normal = op("lshr", op("add", op("add", op("sub", size, 112 << 23), 0xFFF), odd), 13)
    normal = choose(f.value(f"icmp uge {word} {size}, {_int(word, 0x47800000)}"), 0x7C00, normal)
    # Subnormal results: adding 0.5 makes the float adder round at the right bit.
    half_constant = "5.000000e-01" if lanes_of(word) == 1 else "splat (float 5.000000e-01)"
    added = f.value(f"fadd {single} {f.value(f'bitcast {word} {size} to {single}')}, {half_constant}")
    small = op("sub", f.value(f"bitcast {single} {added} to {word}"), 0x3F000000)
    result = choose(f.value(f"icmp ult {word} {size}, {_int(word, 113 << 23)}"), small, normal)
    result = choose(f.value(f"fcmp uno {single} {operand}, {operand}"), 0x7E00, result)
    return f.value(f"trunc {word} {op('or', result, sign)} to {half}")
