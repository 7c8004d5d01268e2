"""Products of bytes and of bfloat16 through dot instructions: against NumPy at awkward sizes, every access checked.

Those of bfloat16 are tested wherever the instruction is, for a processor on which it is fast as well.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.jit import Machine, assembly
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.cpu import has_bfloat16_dots, has_byte_dots
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.dot_products.word_plan import packable_words
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.pack_weights import reading_panels, word_panels
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators as ops
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import Call, Var
from baton._src.tir.intrinsics import intrinsic
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType
from tests.codegen.native_run import HOST, build, call, random_array
from tests.lower.kernel_schedules.spills import LOOP, SPILL, spills_in, spills_in_loops

WIDE = Target("llvm -mcpu=znver4")
FAST = "llvm -mcpu=x86-64-v4 -mattr=+avx512vnni,+avx512bf16"
OTHERS = [
    Target("llvm -mcpu=haswell"),
    Target("llvm -mcpu=x86-64"),
    pytest.param(
        Target("llvm -mcpu=x86-64-v4"), marks=pytest.mark.skipif("avx512vl" not in HOST.features, reason="no AVX-512")
    ),
]
"""Processors without the instructions, whose code runs here."""
BYTES, HALVES = ("uint8", "int8", "int32"), ("bfloat16", "bfloat16", "float32")
Kinds = tuple[str, str, str]

RAPIDS = Target("llvm -mcpu=sapphirerapids")
needs_bytes = pytest.mark.skipif(not has_byte_dots(HOST.features, HOST.lanes(32)), reason="no VNNI here")
needs_halves = pytest.mark.skipif(not has_bfloat16_dots(HOST.features, HOST.lanes(32)), reason="no AVX512-BF16 here")
both_kinds = pytest.mark.parametrize(
    "kinds", [pytest.param(BYTES, marks=needs_bytes), pytest.param(HALVES, marks=needs_halves)]
)


def runs_here(target: Target) -> None:
    """Skip the test if this machine lacks what the target has."""
    if not target.features <= HOST.features:
        pytest.skip("this processor lacks features of the target")


def target_here(kinds: Kinds, options: str = "") -> Target:
    """This machine, as one that has fast dot products."""
    return Target(f"{FAST if kinds is HALVES else 'llvm'} {options}".strip())


def product(m: Any, n: Any, k: int, kinds: Kinds, transposed: bool = False) -> PrimFunc:
    """sum of A * B plus a column's bias."""
    left, right, total = kinds
    a, v = placeholder((m, k), left, "a"), placeholder((n,), total, "v")
    b = placeholder((n, k) if transposed else (k, n), right, "b")
    r = reduce_axis((0, k), "r")

    def term(i: Any, j: Any) -> Any:
        return ops.cast(total, a[i, r]) * ops.cast(total, b[j, r] if transposed else b[r, j])

    c = compute((m, n), lambda i, j: reduction.sum(term(i, j), r), "c")
    return create_prim_func([a, b, v, compute((m, n), lambda i, j: c[i, j] + v[j], "d")])


def convolution(case: tuple[int, ...], kinds: Kinds) -> tuple[PrimFunc, int]:
    n, ic, size, oc, window, stride, pad = case
    data, kernel, total = kinds
    x, w = placeholder((n, ic, size, size), data, "x"), placeholder((oc, ic, window, window), kernel, "w")
    wide, out = size + 2 * pad, (size + 2 * pad - window) // stride + 1

    def bordered(a: Any, c: Any, i: Any, j: Any) -> Any:
        inside = ops.all(i >= pad, i < size + pad, j >= pad, j < size + pad)
        return if_then_else(inside, x[a, c, i - pad, j - pad], ops.const(0, data))

    p = compute((n, ic, wide, wide), bordered, "p") if pad else x
    c, h, u = reduce_axis((0, ic), "c"), reduce_axis((0, window), "h"), reduce_axis((0, window), "u")

    def element(a: Any, o: Any, i: Any, j: Any) -> Any:
        seen = ops.cast(total, p[a, c, i * stride + h, j * stride + u])
        return reduction.sum(seen * ops.cast(total, w[o, c, h, u]), [c, h, u])

    return create_prim_func([x, w, compute((n, oc, out, out), element, "y")]), out


def numbers(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    """Bytes over the whole range, with many at its ends."""
    if dtype not in ("int8", "uint8"):
        return random_array(shape, dtype, seed)
    low, high = DataType(dtype).int_range
    found = np.random.default_rng(seed).integers(3 * low - 200, 3 * high + 200, shape)
    return np.clip(found, low, high).astype(dtype)


def same(found: np.ndarray, expected: np.ndarray) -> None:
    if found.dtype == np.int32:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


def run(func: PrimFunc, target: Target, *arrays: np.ndarray) -> str:
    """Schedule, compile with checks, call; the rule."""
    decision = decide(func, target)
    assert call(build(decision.func, target, checked=True), decision.func, *arrays) is None
    return decision.rule


SIZES = [(5, 7, 3), (12, 32, 8), (13, 33, 9), (24, 100, 1), (50, 5, 64), (7, 70, 17), (5, 16, 256)]


@both_kinds
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("transposed", [False, True])
def test_products(kinds: Kinds, size: tuple[int, int, int], transposed: bool) -> None:
    """Guards words with a tail along k, tiles with tails in rows and columns, weights packed now and before."""
    (m, n, k), target = size, target_here(kinds)
    a, b = numbers((m, k), kinds[0], 1), numbers((k, n), kinds[1], 2)
    v = numbers((n,), kinds[2], 3)
    expected = (a.astype("float64") @ b.astype("float64") + v).astype(kinds[2])
    func, out = product(m, n, k, kinds, transposed), np.zeros((m, n), kinds[2])
    given = np.ascontiguousarray(b.T) if transposed else b
    assert run(func, target, a, given, v, out) == "dot_products"
    same(out, expected)
    weight = packable_words(func, target)
    assert weight is not None
    out[:] = 0
    panels = word_panels(b, weight.width, weight.group)
    assert run(reading_panels(func, weight), target, a, panels, v, out) == "dot_products"
    same(out, expected)


@both_kinds
@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("size", [(1, 70, 97), (2, 33, 130), (3, 640, 66), (4, 17, 3)])
def test_few_rows_by_packed_weights(kinds: Kinds, size: tuple[int, int, int], threads: int) -> None:
    """Guards several sums for each result, over words that they do not share evenly, and panels shared by threads."""
    m, n, k = size
    a, b, v = numbers((m, k), kinds[0], 1), numbers((k, n), kinds[1], 2), numbers((n,), kinds[2], 3)
    target, func = target_here(kinds, f"-num-cores={threads}"), product(m, n, k, kinds)
    out = np.zeros((m, n), kinds[2])
    weight = packable_words(func, target)
    assert weight is not None
    panels = word_panels(b, weight.width, weight.group)
    assert run(reading_panels(func, weight), target, a, panels, v, out) == "dot_products"
    same(out, (a.astype("float64") @ b.astype("float64") + v).astype(kinds[2]))


@pytest.mark.parametrize(
    ("kinds", "threads"), [pytest.param(BYTES, 4, marks=needs_bytes), pytest.param(HALVES, 1, marks=needs_halves)]
)
def test_symbolic_rows(kinds: Kinds, threads: int) -> None:
    """Guards one kernel for any number of rows, one and none among them."""
    target = target_here(kinds, f"-num-cores={threads}")
    func = product(Var("m", "int64"), 40, 11, kinds)
    decision = decide(func, target)
    assert decision.rule == "dot_products"
    library = build(decision.func, target, checked=True)
    b, v = numbers((11, 40), kinds[1], 2), numbers((40,), kinds[2], 3)
    for m in (0, 1, 4, 23, 120):
        a, out = numbers((m, 11), kinds[0], 1), np.zeros((m, 40), kinds[2])
        assert call(library, decision.func, a, b, v, out) is None
        same(out, (a.astype("float64") @ b.astype("float64") + v).astype(kinds[2]))


CASES = [
    (1, 3, 8, 5, 3, 1, 1),
    (2, 4, 9, 13, 3, 2, 1),
    (1, 2, 7, 24, 1, 1, 0),
    (3, 5, 11, 6, 5, 3, 2),
    (1, 2, 70, 6, 3, 1, 1),
]


@both_kinds
@pytest.mark.parametrize("case", CASES)
def test_convolutions(kinds: Kinds, case: tuple[int, ...]) -> None:
    """Guards panels of points interleaved along the window, borders, strides, signed data with unsigned weights."""
    n, ic, size, oc, window, stride, pad = case
    for data, kernel in ((kinds[0], kinds[1]), (kinds[1], kinds[0]))[: 1 + (kinds is BYTES)]:
        func, out = convolution(case, (data, kernel, kinds[2]))
        x, w = numbers((n, ic, size, size), data, 1), numbers((oc, ic, window, window), kernel, 2)
        found = np.zeros((n, oc, out, out), kinds[2])
        assert run(func, target_here(kinds), x, w, found) == "dot_products"
        padded = np.pad(x.astype("float64"), ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        view = np.lib.stride_tricks.sliding_window_view(padded, (window, window), (2, 3))[:, :, ::stride, ::stride]
        same(found, np.einsum("ncijhw,ochw->noij", view, w.astype("float64")).astype(kinds[2]))


@pytest.mark.parametrize("kinds", [BYTES, HALVES])
def test_the_interpreter_agrees(kinds: Kinds) -> None:
    """Guards the meaning of the intrinsics over NumPy, on the scheduled kernel of a processor that need not be here."""
    a, b, v = numbers((5, 11), kinds[0], 1), numbers((11, 20), kinds[1], 2), numbers((20,), kinds[2], 3)
    decision = decide(product(5, 20, 11, kinds), WIDE)
    assert decision.rule == "dot_products"
    out = np.zeros((5, 20), kinds[2])
    run_prim_func(decision.func, [a, b, v, out])
    same(out, (a.astype("float64") @ b.astype("float64") + v).astype(kinds[2]))


@pytest.mark.parametrize("kinds", [BYTES, HALVES])
@pytest.mark.parametrize("target", OTHERS, ids=str)
def test_others_decline(kinds: Kinds, target: Target) -> None:
    """Guards that processors without the instructions take the general rule, whose results are the same."""
    if kinds == BYTES and has_byte_dots(target.features, target.lanes(32)):
        pytest.skip("bytes in pairs")
    runs_here(target)
    func = product(13, 33, 9, kinds)
    assert packable_words(func, target) is None
    a, b, v = numbers((13, 9), kinds[0], 1), numbers((9, 33), kinds[1], 2), numbers((33,), kinds[2], 3)
    out = np.zeros((13, 33), kinds[2])
    assert run(func, target, a, b, v, out) != "dot_products"
    same(out, (a.astype("float64") @ b.astype("float64") + v).astype(kinds[2]))
    texts, _ = module_texts({"f": decide(func, target).func}, target)
    assert not re.search(r"vpdpbusd|vdpbf16", assembly(texts["f"], Machine.of(target)))


def test_slow_dots_of_bfloat16_are_left_alone() -> None:
    """Guards Sapphire Rapids, which multiplies floats faster; its bytes are fast."""
    assert decide(product(13, 33, 9, HALVES), RAPIDS).rule == "matmul"
    assert packable_words(product(13, 33, 9, HALVES), RAPIDS) is None
    assert decide(product(13, 33, 9, BYTES), RAPIDS).rule == "dot_products"


@pytest.mark.parametrize(("kinds", "cpu"), [(BYTES, "cortex-a72"), (HALVES, "neoverse-v1")])
def test_arm_declines(kinds: Kinds, cpu: str) -> None:
    """Guards that ARM code is made by the general rules without dot products of bytes, and for bfloat16."""
    func, target = product(13, 33, 9, kinds), Target(f"llvm -mtriple=aarch64-linux-gnu -mcpu={cpu}")
    assert decide(func, target).rule != "dot_products"
    texts, _ = module_texts({"f": decide(func, target).func}, target)
    assert "ret" in assembly(texts["f"], Machine.of(target))


@pytest.mark.parametrize(("cpu", "dots"), [("neoverse-v1", ["usdot"] * 24), ("neoverse-n1", ["sdot"] * 30)])
def test_dots_of_arm(cpu: str, dots: list[str]) -> None:
    """Guards loops over words: 8 rows of 3 vectors in registers; without usdot, 128 times the sums of the three words
    of B are computed once for all rows.
    """
    target = Target(f"llvm -mtriple=aarch64-linux-gnu -mcpu={cpu}")
    func = product(64, 256, 96, BYTES)
    weight = packable_words(func, target)
    assert weight is not None
    texts, _ = module_texts({"f": decide(reading_panels(func, weight), target).func}, target)
    code = assembly(texts["f"], Machine.of(target))
    assert spills_in_loops(code, "dot\t") == []
    longest = max((body for _, body in LOOP.findall(code)), key=lambda body: body.count("dot\t"))
    assert re.findall(r"(\w+)\tv\d+.4s, v\d+.16b", longest) == dots


@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("target", [HOST, *OTHERS], ids=str)
@pytest.mark.parametrize("name", ["tir.dot_u8s8", "tir.dot_u7s8", "tir.dot_bf16"])
def test_intrinsics_everywhere(name: str, target: Target, lanes: int) -> None:
    """Guards what stands for the instructions where they are missing, at every width."""
    runs_here(target)
    total = "int32" if name.endswith("s8") else "float32"
    s, a, b = (placeholder((lanes,), t, n) for t, n in ((total, "s"), ("int32", "a"), ("int32", "b")))
    out = compute((lanes,), lambda i: Call(total, intrinsic(name), (s[i], a[i], b[i])), "o")
    func = create_prim_func([s, a, b, out])
    if total == "int32":
        unsigned, signed = (numbers((lanes * 4,), kind, n) for n, kind in enumerate(("uint8", "int8")))
        words = [(np.minimum(unsigned, 127) if "u7" in name else unsigned).view("int32"), signed.view("int32")]
        start = random_array((lanes,), "int32", 3)
    else:
        words = [random_array((lanes * 2,), "bfloat16", n).view("int32") for n in (1, 2)]
        start = random_array((lanes,), "float32", 3)
    expected = intrinsic(name).definition.numpy(start, *words)
    found = np.zeros(lanes, total)
    run(func, target, start, *words, found)
    same(found, np.asarray(expected))


@pytest.mark.parametrize("kinds", [BYTES, HALVES])
@pytest.mark.parametrize("rows", [1, 3, 64, 128, None])
def test_tiles_stay_in_registers(kinds: Kinds, rows: int | None) -> None:
    """Guards the loops over words: dots of registers, no vector to the stack and back."""
    func = product(Var("m", "int64") if rows is None else rows, 256, 64, kinds)
    weight = packable_words(func, WIDE)
    assert weight is not None
    for one in (reading_panels(func, weight), *([func] if rows is None or rows > 4 else [])):
        texts, _ = module_texts({"f": decide(one, WIDE).func}, WIDE)
        code = assembly(texts["f"], Machine.of(WIDE))
        assert re.search(r"vpdpbusd\s.*%zmm|vdpbf16ps\s.*%zmm", code)
        assert spills_in(code) == []


def test_narrower_vectors() -> None:
    """Guards VNNI of 256 bits: tiles for 16 registers; what is added to their sums may wait elsewhere."""
    target = Target("llvm -mcpu=haswell -mattr=+avxvnni")
    func = product(64, 256, 64, BYTES)
    weight = packable_words(func, target)
    assert weight is not None
    texts, _ = module_texts({"f": decide(reading_panels(func, weight), target).func}, target)
    code = assembly(texts["f"], Machine.of(target))
    assert re.search(r"vpdpbusd\s.*%ymm", code)
    assert "%zmm" not in code
    assert spills_in_loops(code, "vpdpbusd") == []


@pytest.mark.parametrize(("name", "register"), [("haswell", "ymm"), ("skylake-avx512", "zmm")])
def test_bytes_in_pairs(name: str, register: str) -> None:
    """Guards processors without VNNI: pairs of 16-bit numbers, in tiles for 16 registers or 32 (8 rows by 1024x1024
    took 433 us, now 167).
    """
    target = Target(f"llvm -mcpu={name}")
    func = product(64, 256, 64, BYTES)
    weight = packable_words(func, target)
    assert weight is not None
    texts, _ = module_texts({"f": decide(reading_panels(func, weight), target).func}, target)
    code = assembly(texts["f"], Machine.of(target))
    assert re.search(rf"vpmaddwd\s.*%{register}", code)
    assert spills_in_loops(code, "vpmaddwd") == []


def test_convolutions_stay_in_registers() -> None:
    """Guards the wider tiles of convolutions."""
    func, _ = convolution((1, 64, 56, 64, 3, 1, 1), BYTES)
    texts, _ = module_texts({"f": decide(func, WIDE).func}, WIDE)
    blocks = re.split(r"^\.\w+:", assembly(texts["f"], Machine.of(WIDE)), flags=re.MULTILINE)
    loops = [block for block in blocks if len(re.findall(r"vpdpbusd\s.*%zmm", block)) >= 16]
    assert loops
    assert all(SPILL.findall(re.split(r"^\tj", loop, flags=re.MULTILINE)[0]) == [] for loop in loops)
