"""Dot products of narrow numbers packed in words: one instruction where the processor has it, else several.

`tir.dot_u8s8` is VNNI's vpdpbusd (four unsigned by four signed bytes) and ARM's usdot, `tir.dot_bf16` AVX-512's
vdpbf16ps (two pairs of bfloat16). Without a matching instruction, words are shifted, masked and multiplied.

ARM processors without usdot mostly have sdot, of signed bytes: u * s = (u - 128) * s + 128 * s. The second term depends
on the right words only, so LLVM computes it once for all rows of a tile, and an addition is left. x86 processors
without VNNI multiply bytes as 16-bit numbers, two at a time, by vpmaddwd: exactly (vpmaddubsw saturates).
"""

from __future__ import annotations

from typing import Any

from baton._src.codegen.llvm.text import mangle, with_lanes
from baton._src.ir.cpu import has_bfloat16_dots, has_byte_dot_instruction, has_byte_dots, has_pair_dots
from baton._src.tir import expr as tir

Writer = Any


def dot_u8s8(w: Writer, call: tir.Call) -> str:
    """sum + a0 * b0 + .. + a3 * b3"""
    total, a, b = (w.emit(x) for x in call.args)
    lanes = call.dtype.lanes
    words = with_lanes("i32", lanes)
    if "neon" in w.features and has_byte_dots(w.features, lanes):
        return _bytes_on_arm(w, lanes, total, a, b)
    if not has_byte_dot_instruction(w.features, lanes):
        by = _bytes_by_pairs if has_pair_dots(w.features, lanes) else _bytes_by_shifts
        return by(w.f, lanes, total, a, b)
    size = with_lanes("i8", 4 * lanes)
    narrow = [(size, w.f.value(f"bitcast {words} {x} to {size}")) for x in (a, b)]
    name = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}"
    return str(w.f.intrinsic(name, words, (words, total), *narrow))


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
    return str(w.f.intrinsic(name, floats, (floats, total), *narrow))


def _bytes_on_arm(w: Writer, lanes: int, total: str, a: str, b: str) -> str:
    """Four words at a time."""
    dot, whole = _usdot if "i8mm" in w.features else _sdot, with_lanes("i32", lanes)
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


def _usdot(f: Any, total: str, a: str, b: str) -> str:
    narrow = [(_BYTES, f.value(f"bitcast {_WORDS} {x} to {_BYTES}")) for x in (a, b)]
    return str(f.intrinsic("llvm.aarch64.neon.usdot.v4i32.v16i8", _WORDS, (_WORDS, total), *narrow))


def _sdot(f: Any, total: str, a: str, b: str) -> str:
    less = f.value(f"xor {_WORDS} {a}, splat (i32 {0x80808080 - (1 << 32)})")
    signed, right = ((_BYTES, f.value(f"bitcast {_WORDS} {x} to {_BYTES}")) for x in (less, b))
    name, extra = "llvm.aarch64.neon.sdot.v4i32.v16i8", "zeroinitializer"
    for _ in range(2):
        extra = f.intrinsic(name, _WORDS, (_WORDS, extra), (_BYTES, "splat (i8 64)"), right)
    both = f.value(f"add {_WORDS} {total}, {extra}")
    return str(f.intrinsic(name, _WORDS, (_WORDS, both), signed, right))


def _splat(lanes: int, value: int) -> str:
    return str(value) if lanes == 1 else f"splat (i32 {value})"


def _bytes_by_pairs(f: Any, lanes: int, total: str, a: str, b: str) -> str:
    """The even bytes of each word as 16-bit numbers, then the odd ones."""
    words, halves = with_lanes("i32", lanes), with_lanes("i16", 2 * lanes)
    x, y = (f.value(f"bitcast {words} {v} to {halves}") for v in (a, b))
    name = {4: "llvm.x86.sse2.pmadd.wd", 8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}[lanes]
    low = f.value(f"shl {halves} {y}, splat (i16 8)")
    pairs = (
        (f.value(f"and {halves} {x}, splat (i16 255)"), f.value(f"ashr {halves} {low}, splat (i16 8)")),
        (f.value(f"lshr {halves} {x}, splat (i16 8)"), f.value(f"ashr {halves} {y}, splat (i16 8)")),
    )
    for unsigned, signed in pairs:
        products = f.intrinsic(name, words, (halves, unsigned), (halves, signed))
        total = f.value(f"add {words} {total}, {products}")
    return total


def _bytes_by_shifts(f: Any, lanes: int, total: str, a: str, b: str) -> str:
    words = with_lanes("i32", lanes)
    for place in (0, 8, 16, 24):
        moved = f.value(f"lshr {words} {a}, {_splat(lanes, place)}")
        unsigned = f.value(f"and {words} {moved}, {_splat(lanes, 255)}")
        top = f.value(f"shl {words} {b}, {_splat(lanes, 24 - place)}")
        signed = f.value(f"ashr {words} {top}, {_splat(lanes, 24)}")
        total = f.value(f"add {words} {total}, {f.value(f'mul {words} {unsigned}, {signed}')}")
    return total


def _halves_by_shifts(f: Any, lanes: int, total: str, a: str, b: str) -> str:
    words, floats = with_lanes("i32", lanes), with_lanes("float", lanes)
    for half, by in (("shl", 16), ("and", -65536)):  # the lower, then the upper bfloat16 of each word, as a float32
        whole = (f.value(f"{half} {words} {v}, {_splat(lanes, by)}") for v in (a, b))
        x, y = (f.value(f"bitcast {words} {v} to {floats}") for v in whole)
        kind = mangle(floats)
        total = f.intrinsic(f"llvm.fmuladd.{kind}", floats, (floats, x), (floats, y), (floats, total))
    return total
