"""Dot products of narrow numbers packed in words: one instruction where the processor has it, else several.

`tir.dot_u8s8` is VNNI's vpdpbusd (four unsigned by four signed bytes) and ARM's usdot, `tir.dot_bf16` AVX-512's
vdpbf16ps (two pairs of bfloat16). Without a matching instruction, words are shifted, masked and multiplied.

`tir.dot_u7s8` promises that the unsigned bytes are at most 127: they are signed bytes as well, as sdot takes them, and
vpmaddubsw adds two of their products in 16 bits without saturating.

ARM processors without usdot mostly have sdot, of signed bytes: u * s = (u - 128) * s + 128 * s. The second term depends
on the right words only, so LLVM computes it once for all rows of a tile, and an addition is left. x86 processors
without VNNI multiply bytes as 16-bit numbers, two at a time, by vpmaddwd: exactly (vpmaddubsw saturates).
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.codegen.llvm.functions.writer import Writer
from baton._src.codegen.llvm.text import FunctionText, mangle, with_lanes
from baton._src.ir.cpu import has_bfloat16_dots, has_byte_dot_instruction, has_byte_dots, has_pair_dots
from baton._src.tir import expr as tir

Dot = Callable[[FunctionText, str, str, str], str]


def dot_u8s8(w: Writer, call: tir.Call) -> str:
    """sum + a0 * b0 + .. + a3 * b3"""
    operands = [w.emit(x) for x in call.args]
    lanes = call.dtype.lanes
    if "neon" in w.features and has_byte_dots(w.features, lanes):
        return _bytes_on_arm(w, lanes, _usdot if "i8mm" in w.features else _sdot_of_unsigned, *operands)
    if has_byte_dot_instruction(w.features, lanes):
        return _in_one_instruction(w.f, lanes, *operands)
    by = _bytes_by_pairs if has_pair_dots(w.features, lanes) else _bytes_by_shifts
    return by(w.f, lanes, *operands)


def dot_u7s8(w: Writer, call: tir.Call) -> str:
    """The same, of bytes a0 .. a3 that are at most 127."""
    lanes = call.dtype.lanes
    if "neon" in w.features and has_byte_dots(w.features, lanes):
        return _bytes_on_arm(w, lanes, _sdot, *(w.emit(x) for x in call.args))
    has_sums = has_pair_dots(w.features, lanes) or ("ssse3" in w.features and lanes == 4)
    if has_byte_dot_instruction(w.features, lanes) or not has_sums:
        return dot_u8s8(w, call)
    return _bytes_by_sums(w.f, lanes, *(w.emit(x) for x in call.args))


def _in_one_instruction(f: FunctionText, lanes: int, total: str, a: str, b: str) -> str:
    words, size = with_lanes("i32", lanes), with_lanes("i8", 4 * lanes)
    narrow = [(size, f.value(f"bitcast {words} {x} to {size}")) for x in (a, b)]
    return f.intrinsic(f"llvm.x86.avx512.vpdpbusd.{32 * lanes}", words, (words, total), *narrow)


def dot_bf16(w: Writer, call: tir.Call) -> str:
    """sum + a0 * b0 + a1 * b1"""
    total, a, b = (w.emit(x) for x in call.args)
    lanes = call.dtype.lanes
    words, floats = with_lanes("i32", lanes), with_lanes("float", lanes)
    if not has_bfloat16_dots(w.features, lanes):
        return _halves_by_shifts(w.f, lanes, total, a, b)
    size = with_lanes("bfloat", 2 * lanes)
    narrow = [(size, w.f.value(f"bitcast {words} {x} to {size}")) for x in (a, b)]
    name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * lanes}"
    return w.f.intrinsic(name, floats, (floats, total), *narrow)


def _bytes_on_arm(w: Writer, lanes: int, dot: Dot, total: str, a: str, b: str) -> str:
    """Four words at a time."""
    whole = with_lanes("i32", lanes)
    if lanes == 4:
        return dot(w.f, total, a, b)
    found = "poison"
    for place in range(0, lanes, 4):
        at = ("i64", str(place))
        parts = (
            w.f.intrinsic(f"llvm.vector.extract.v4i32.{mangle(whole)}", _WORDS, (whole, x), at) for x in (total, a, b)
        )
        put = f"llvm.vector.insert.{mangle(whole)}.v4i32"
        found = w.f.intrinsic(put, whole, (whole, found), (_WORDS, dot(w.f, *parts)), at)
    return found


_WORDS, _BYTES = "<4 x i32>", "<16 x i8>"


def _usdot(f: FunctionText, total: str, a: str, b: str) -> str:
    narrow = [(_BYTES, f.value(f"bitcast {_WORDS} {x} to {_BYTES}")) for x in (a, b)]
    return f.intrinsic("llvm.aarch64.neon.usdot.v4i32.v16i8", _WORDS, (_WORDS, total), *narrow)


_SDOT = "llvm.aarch64.neon.sdot.v4i32.v16i8"


def _sdot(f: FunctionText, total: str, a: str, b: str) -> str:
    narrow = [(_BYTES, f.value(f"bitcast {_WORDS} {x} to {_BYTES}")) for x in (a, b)]
    return f.intrinsic(_SDOT, _WORDS, (_WORDS, total), *narrow)


def _sdot_of_unsigned(f: FunctionText, total: str, a: str, b: str) -> str:
    less = f.value(f"xor {_WORDS} {a}, splat (i32 {0x80808080 - (1 << 32)})")
    signed, right = ((_BYTES, f.value(f"bitcast {_WORDS} {x} to {_BYTES}")) for x in (less, b))
    extra = "zeroinitializer"
    for _ in range(2):
        extra = f.intrinsic(_SDOT, _WORDS, (_WORDS, extra), (_BYTES, "splat (i8 64)"), right)
    both = f.value(f"add {_WORDS} {total}, {extra}")
    return f.intrinsic(_SDOT, _WORDS, (_WORDS, both), signed, right)


def _splat(lanes: int, value: int) -> str:
    return str(value) if lanes == 1 else f"splat (i32 {value})"


_PAIRS = {4: "llvm.x86.sse2.pmadd.wd", 8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}
_SUMS = {4: "llvm.x86.ssse3.pmadd.ub.sw.128", 8: "llvm.x86.avx2.pmadd.ub.sw", 16: "llvm.x86.avx512.pmaddubs.w.512"}


def _bytes_by_sums(f: FunctionText, lanes: int, total: str, a: str, b: str) -> str:
    """Two products each in 16 bits, then pairs of these."""
    words, halves, size = (with_lanes(kind, lanes * n) for n, kind in ((1, "i32"), (2, "i16"), (4, "i8")))
    narrow = [(size, f.value(f"bitcast {words} {x} to {size}")) for x in (a, b)]
    sums = f.intrinsic(_SUMS[lanes], halves, *narrow)
    pairs = f.intrinsic(_PAIRS[lanes], words, (halves, sums), (halves, "splat (i16 1)"))
    return f.value(f"add {words} {total}, {pairs}")


def _bytes_by_pairs(f: FunctionText, lanes: int, total: str, a: str, b: str) -> str:
    """The even bytes of each word as 16-bit numbers, then the odd ones."""
    words, halves = with_lanes("i32", lanes), with_lanes("i16", 2 * lanes)
    x, y = (f.value(f"bitcast {words} {v} to {halves}") for v in (a, b))
    low = f.value(f"shl {halves} {y}, splat (i16 8)")
    pairs = (
        (f.value(f"and {halves} {x}, splat (i16 255)"), f.value(f"ashr {halves} {low}, splat (i16 8)")),
        (f.value(f"lshr {halves} {x}, splat (i16 8)"), f.value(f"ashr {halves} {y}, splat (i16 8)")),
    )
    for unsigned, signed in pairs:
        products = f.intrinsic(_PAIRS[lanes], words, (halves, unsigned), (halves, signed))
        total = f.value(f"add {words} {total}, {products}")
    return total


def _bytes_by_shifts(f: FunctionText, lanes: int, total: str, a: str, b: str) -> str:
    words = with_lanes("i32", lanes)
    for place in (0, 8, 16, 24):
        moved = f.value(f"lshr {words} {a}, {_splat(lanes, place)}")
        unsigned = f.value(f"and {words} {moved}, {_splat(lanes, 255)}")
        top = f.value(f"shl {words} {b}, {_splat(lanes, 24 - place)}")
        signed = f.value(f"ashr {words} {top}, {_splat(lanes, 24)}")
        total = f.value(f"add {words} {total}, {f.value(f'mul {words} {unsigned}, {signed}')}")
    return total


def _halves_by_shifts(f: FunctionText, lanes: int, total: str, a: str, b: str) -> str:
    words, floats = with_lanes("i32", lanes), with_lanes("float", lanes)
    for half, by in (("shl", 16), ("and", -65536)):  # the lower, then the upper bfloat16 of each word, as a float32
        whole = (f.value(f"{half} {words} {v}, {_splat(lanes, by)}") for v in (a, b))
        x, y = (f.value(f"bitcast {words} {v} to {floats}") for v in whole)
        kind = mangle(floats)
        total = f.intrinsic(f"llvm.fmuladd.{kind}", floats, (floats, x), (floats, y), (floats, total))
    return total
