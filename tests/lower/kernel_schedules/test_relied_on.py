"""Kernels that look like what a rule is for, but lack something that its result relies on; accesses checked.

Each is compared with its loops as they were written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from baton import te, tir
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.attention.attention import find_attention
from baton._src.lower.kernel_schedules.attention.attention_parts import Attention
from baton._src.lower.kernel_schedules.convolution.winograd.choice import Candidate, candidate
from baton._src.lower.kernel_schedules.dot_products.word_plan import packable_words
from baton._src.lower.kernel_schedules.products.packed_weights import packable_weight
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.kernel_schedules.shared.affine import coefficient
from baton._src.lower.kernel_schedules.shared.stages import Declined, Kernel, read_kernel
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton.script import tir as T
from tests.codegen.native_run import build, call, random_array

BYTES = ("uint8", "int8", "int32")
ONE = Target("llvm -num-cores=1")


def agrees(func: PrimFunc, *shapes: Any, target: Target = ONE, arrays: list[Any] | None = None) -> str:
    """Run as scheduled and as written; the rule's name. The code is this machine's, if it lacks what the target has."""
    given = arrays or [random_array(shape, "float32", n) for n, shape in enumerate(shapes)]
    mine, wanted = ([a.copy() for a in given] for _ in range(2))
    decision = decide(func, target)
    here = target if target.features <= ONE.features else ONE
    assert call(build(decision.func, here, checked=True), func, *mine) is None
    assert call(build(func, ONE), func, *wanted) is None
    for a, b in zip(mine, wanted, strict=True):
        np.testing.assert_allclose(a.astype("float64"), b.astype("float64"), rtol=1e-3, atol=1e-3)
    return decision.rule


# ------------------------------------------------------------------------------------------------------- stages


def test_loops_over_part_of_a_domain() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")) -> None:
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] * T.float32(2)

    agrees(kernel, (16,), (16,))


def test_stores_to_part_of_a_buffer() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((4, 4), "float32"), B: T.Buffer((8, 8), "float32")) -> None:
        for i, j in T.grid(4, 4):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    agrees(kernel, (4, 4), (8, 8))


def test_sums_that_begin_with_other_data() -> None:
    @T.prim_func
    def kernel(
        A: T.Buffer((12, 32), "float32"),
        B: T.Buffer((32, 40), "float32"),
        C: T.Buffer((40,), "float32"),
        D: T.Buffer((12, 40), "float32"),
        E: T.Buffer((40,), "float32"),
    ) -> None:
        S = T.alloc_buffer((40,), "float32")
        for i in range(40):
            with T.block("s"):
                vi = T.axis.spatial(40, i)
                S[vi] = C[vi] + T.float32(3)
        for i, j, k in T.grid(12, 40, 32):
            with T.block("d"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    D[vi, vj] = S[vj]
                D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
        for i in range(40):
            with T.block("e"):
                vi = T.axis.spatial(40, i)
                E[vi] = S[vi] * T.float32(2)

    assert agrees(kernel, (12, 32), (32, 40), (40,), (12, 40), (40,)) == "matmul"


def test_a_product_over_its_operand() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((40, 200), "float32"), B: T.Buffer((200, 200), "float32")) -> None:
        C = T.alloc_buffer((40, 200), "float32")
        for i, j, k in T.grid(40, 200, 200):
            with T.block("c"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
        for i, j in T.grid(40, 200):
            with T.block("a"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = C[vi, vj] * T.float32(2)

    assert agrees(kernel, (40, 200), (200, 200)) == "matmul"


def test_results_with_strides() -> None:
    @T.prim_func
    def sums(a: T.handle, b: T.handle) -> None:
        A = T.match_buffer(a, (12, 32), "float32")
        B = T.match_buffer(b, (12, 1), "float32", strides=[4, 1])
        for i, u, k in T.grid(12, 1, 32):
            with T.block("b"):
                vi, vu, vk = T.axis.remap("SSR", [i, u, k])
                with T.init():
                    B[vi, vu] = T.float32(0)
                B[vi, vu] = B[vi, vu] + A[vi, vk]

    @T.prim_func
    def rows(a: T.handle, b: T.handle) -> None:
        A = T.match_buffer(a, (12, 32), "float32")
        B = T.match_buffer(b, (12, 32), "float32", strides=[40, 1])
        M = T.alloc_buffer((12,), "float32")
        for i, k in T.grid(12, 32):
            with T.block("m"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    M[vi] = T.float32(-1000)
                M[vi] = T.max(M[vi], A[vi, vk])
        for i, k in T.grid(12, 32):
            with T.block("b"):
                vi, vk = T.axis.remap("SS", [i, k])
                B[vi, vk] = T.exp(A[vi, vk] - M[vi])

    agrees(sums, (12, 32), (12, 4))
    agrees(rows, (12, 32), (12, 40))


def test_digits_of_an_axis_that_is_read_whole_as_well() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((16, 4, 80, 16), "float32"), B: T.Buffer((16, 64), "float32")) -> None:
        for i, c in T.grid(16, 64):
            with T.block("b"):
                vi, vc = T.axis.remap("SS", [i, c])
                B[vi, vc] = A[vc // 4, vc % 4, vc + 1, vi]

    agrees(kernel, (16, 4, 80, 16), (16, 64))


def test_casts_that_wrap_are_no_steps() -> None:
    i = tir.Var("i", "int64")
    assert coefficient(i.astype("int32").astype("int64"), i) == 1
    assert coefficient(i.astype("uint8").astype("int64"), i) is None
    assert coefficient(i.astype("bool").astype("int64"), i) is None


def test_places_that_wrap() -> None:
    @T.prim_func
    def kernel(A: T.Buffer((256, 40), "float32"), B: T.Buffer((40, 300), "float32")) -> None:
        for i, j in T.grid(40, 300):
            with T.block("b"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[T.Cast("int32", T.Cast("uint8", vj)), vi]

    agrees(kernel, (256, 40), (40, 300))


# ----------------------------------------------------------------------------------------------------- products


@pytest.mark.parametrize(("cpu", "width", "rows"), [("x86-64-v3", 16, 50), ("x86-64-v4", 32, 98)])
@pytest.mark.parametrize("threads", [24, 64])
def test_packed_weights_on_many_threads(cpu: str, width: int, rows: int, threads: int) -> None:
    """Blocks of rows had fewer rows than there were tiles for: those were not computed."""
    m, r = te.var("m", "int64"), te.reduce_axis((0, 64), "r")
    a = te.placeholder((m, 64), "float32", "a")
    p = te.placeholder((64 // width, 64, width), "float32", "p")
    c = te.compute((m, 64), lambda i, j: te.sum(a[i, r] * p[j // width, r, j % width], axis=r), "c")
    func = create_prim_func([a, p, c])
    shapes = ((rows, 64), (64 // width, 64, width), (rows, 64))
    assert agrees(func, *shapes, target=Target(f"llvm -mcpu={cpu} -num-cores={threads}")) == "prepacked"


@pytest.mark.parametrize(("dtypes", "packable"), [(("float32",) * 3, packable_weight), (BYTES, packable_words)])
@pytest.mark.parametrize("terms", [64, 48])
def test_weights_are_packed_whole(dtypes: tuple[str, ...], packable: Any, terms: int) -> None:
    """Panels have as many terms as the sums."""
    a, b = te.placeholder((20, 64), dtypes[0], "a"), te.placeholder((64, 32), dtypes[1], "b")
    r = te.reduce_axis((0, terms), "r")

    def term(i: Any, j: Any) -> Any:
        return te.sum(a[i, r].astype(dtypes[2]) * b[r, j].astype(dtypes[2]), axis=r)

    func = create_prim_func([a, b, te.compute((20, 32), term, "c")])
    assert (packable(func, Target("llvm -mcpu=cascadelake")) is not None) == (terms == 64)


def test_words_are_not_what_was_converted_on_the_way() -> None:
    a, b = te.placeholder((8, 64), "uint8", "a"), te.placeholder((64, 32), "int8", "b")
    r = te.reduce_axis((0, 64), "r")
    c = te.compute(
        (8, 32), lambda i, j: te.sum(a[i, r].astype("int8").astype("int32") * b[r, j].astype("int32"), axis=r), "c"
    )
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 255, (8, 64), "uint8"), rng.integers(-127, 127, (64, 32), "int8")]
    func = create_prim_func([a, b, c])
    for cpu in ("cascadelake", "x86-64-v3"):
        target = Target(f"llvm -mcpu={cpu} -num-cores=1")
        agrees(func, target=target, arrays=[*arrays, np.zeros((8, 32), "int32")])


@pytest.mark.parametrize("cpu", ["cascadelake", "x86-64-v3"])
@pytest.mark.parametrize(("terms", "width"), [(64, 16), (32, 16), (64, 8), (64, 10)])
def test_words_that_a_program_packed(cpu: str, terms: int, width: int) -> None:
    """Panels of words hold as many terms as the sums, in whole vectors: others are packed anew."""
    panels = -(-60 // width)
    a, b = te.placeholder((8, 64), "uint8", "a"), te.placeholder((panels, 16, width, 4), "int8", "b")
    r = te.reduce_axis((0, terms), "r")

    def term(i: Any, j: Any) -> Any:
        return te.sum(a[i, r].astype("int32") * b[j // width, r // 4, j % width, r % 4].astype("int32"), axis=r)

    rng = np.random.default_rng(0)
    shape = (panels, 16, width, 4)
    arrays = [
        rng.integers(0, 255, (8, 64), "uint8"),
        rng.integers(-127, 127, shape, "int8"),
        np.zeros((8, 60), "int32"),
    ]
    func = create_prim_func([a, b, te.compute((8, 60), term, "c")])
    assert agrees(func, target=Target(f"llvm -mcpu={cpu} -num-cores=1"), arrays=arrays) == "dot_products"


# ---------------------------------------------------------------------------------------------------- attention


def attention(
    extra: str = "", first: float = 0.0, values: int = 48, dtype: str = "float32", added: int = 48, most: int = 48
) -> PrimFunc:
    """softmax(Q K) V, of whose intermediates one may be a result, too; sums from `first` on. Totals are of `added`
    powers, maxima of `most` scores.
    """
    q, k, v = (te.placeholder((2, n, 16), dtype, name) for n, name in ((40, "q"), (48, "k"), (48, "v")))
    d, j0, j1, j2 = (te.reduce_axis((0, n), f"r{n}") for n in (16, most, added, values))
    s = te.compute((2, 40, 48), lambda b, i, j: te.sum(q[b, i, d] * k[b, j, d], axis=d), "s")
    top = te.compute((2, 40), lambda b, i: te.max(s[b, i, j0], axis=j0), "top")
    p = te.compute((2, 40, 48), lambda b, i, j: te.exp(s[b, i, j] - top[b, i]), "p")
    total = te.compute((2, 40), lambda b, i: te.sum(p[b, i, j1], axis=j1, init=tir.const(first, dtype)), "total")
    w = te.compute((2, 40, 16), lambda b, i, e: te.sum(p[b, i, j2] * v[b, j2, e], axis=j2), "w")
    out = te.compute((2, 40, 16), lambda b, i, e: w[b, i, e] / total[b, i], "out")
    kept = {"s": s, "top": top, "p": p, "total": total, "w": w}
    return create_prim_func([q, k, v, *([kept[extra]] if extra else []), out])


OPERANDS = ((2, 40, 16), (2, 48, 16), (2, 48, 16))
RESULT = (2, 40, 16)


@pytest.mark.parametrize(
    ("extra", "shape"), [("s", (2, 40, 48)), ("top", (2, 40)), ("p", (2, 40, 48)), ("total", (2, 40)), ("w", RESULT)]
)
def test_attention_whose_intermediates_are_results(extra: str, shape: tuple[int, ...]) -> None:
    assert agrees(attention(extra), *OPERANDS, shape, RESULT) != "attention"


def test_attention_with_other_sums() -> None:
    assert agrees(attention(), *OPERANDS, RESULT) == "attention"
    assert agrees(attention(first=1.0), *OPERANDS, RESULT) != "attention"
    for part in ({"values": 24}, {"added": 24}, {"most": 24}):
        assert agrees(attention(**part), *OPERANDS, RESULT) != "attention"


def test_attention_over_its_own_values() -> None:
    """Blocks of queries must not overwrite what others still read."""
    func = attention()
    values = func.buffer_map[func.params[2]]
    kernel = read_kernel(func)
    assert isinstance(kernel, Kernel)
    last = replace(kernel.stages[-1], buffer=values)
    over = replace(kernel, stages=(*kernel.stages[:-1], last))
    assert isinstance(find_attention(kernel), Attention)
    assert isinstance(find_attention(over), Declined)


def test_attention_of_large_negative_scores() -> None:
    """bfloat16 reaches as far as float32, not as float16: rows of scores below that were NaN."""
    func = attention(dtype="bfloat16")
    arrays = [random_array(shape, "bfloat16", n) for n, shape in enumerate((*OPERANDS, RESULT))]
    arrays[0][:], arrays[1][:] = 1e4, -1e4
    assert decide(func, ONE).rule == "attention"
    assert call(build(decide(func, ONE).func, ONE, checked=True), func, *arrays) is None
    mean = arrays[2].astype("float32").mean(axis=1, keepdims=True)
    np.testing.assert_allclose(arrays[3].astype("float32"), np.broadcast_to(mean, RESULT), atol=0.02)


# ------------------------------------------------------------------------------------------------- convolutions


def as_bytes(value: Any) -> Any:
    return value.astype("int8").astype("float32")


def convolution(
    o: int, c: int, size: tuple[int, int], data: Callable[[Any], Any], weight: Callable[[Any], Any], whole: int = 3
) -> tuple[PrimFunc, list[Any]]:
    """3 x 3 taps of a weight of `whole` x `whole`."""
    h, w = size
    shapes = ((1, c, h, w), (o, c, whole, whole), (1, o, h - 2, w - 2))
    x, k = (te.placeholder(shape, "float32", name) for shape, name in zip(shapes, "xk"))
    rc, rh, rw = (te.reduce_axis((0, n), "r") for n in (c, 3, 3))

    def body(n: Any, f: Any, i: Any, j: Any) -> Any:
        return te.sum(data(x[n, rc, i + rh, j + rw]) * weight(k[f, rc, rh, rw]), axis=[rc, rh, rw])

    arrays = [np.round(random_array(shape, "float32", n) * 20) / 4 for n, shape in enumerate(shapes)]
    return create_prim_func([x, k, te.compute(shapes[2], body, "y")]), arrays


@pytest.mark.parametrize("size", [(4, 4), (7, 7), (9, 70)])
@pytest.mark.parametrize("what", ["data", "weight", "part"])
def test_convolutions(size: tuple[int, int], what: str) -> None:
    """Factors that are rounded on the way, and a part of a larger weight."""
    ways = [as_bytes if what == name else lambda value: value for name in ("data", "weight")]
    func, arrays = convolution(32, 8, size, ways[0], ways[1], 5 if what == "part" else 3)
    agrees(func, arrays=arrays)


def test_a_border_around_what_is_overwritten() -> None:
    @T.prim_func
    def kernel(
        X: T.Buffer((1, 8, 12, 80), "float32"),
        W: T.Buffer((4, 8, 3, 3), "float32"),
        Y: T.Buffer((1, 4, 12, 80), "float32"),
    ) -> None:
        P = T.alloc_buffer((1, 8, 14, 82), "float32")
        for n, c, h, w in T.grid(1, 8, 14, 82):
            with T.block("p"):
                vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
                P[vn, vc, vh, vw] = T.if_then_else(
                    vh >= 1 and vh < 13 and vw >= 1 and vw < 81, X[vn, vc, vh - 1, vw - 1], T.float32(0)
                )
        for n, c, h, w in T.grid(1, 8, 12, 80):
            with T.block("x"):
                vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
                X[vn, vc, vh, vw] = T.float32(1)
        for n, o, h, w, c, i, j in T.grid(1, 4, 12, 80, 8, 3, 3):
            with T.block("y"):
                vn, vo, vh, vw, vc, vi, vj = T.axis.remap("SSSSRRR", [n, o, h, w, c, i, j])
                with T.init():
                    Y[vn, vo, vh, vw] = T.float32(0)
                Y[vn, vo, vh, vw] = Y[vn, vo, vh, vw] + P[vn, vc, vh + vi, vw + vj] * W[vo, vc, vi, vj]

    agrees(kernel, (1, 8, 12, 80), (4, 8, 3, 3), (1, 4, 12, 80))


def test_an_epilogue_that_reads_part_of_a_larger_map() -> None:
    shapes = ((1, 6, 20, 80), (6, 2, 3, 3), (2, 7, 18, 78), (2, 6, 18, 78))
    x, w, q = (te.placeholder(shape, "float32", name) for shape, name in zip(shapes, "xwq"))
    rc, rh, rw = (te.reduce_axis((0, n), "r") for n in (2, 3, 3))

    def body(b: Any, f: Any, i: Any, j: Any) -> Any:
        return te.sum(x[0, f // 2 * 2 + rc, i + rh, j + rw] * w[f, rc, rh, rw], axis=[rc, rh, rw])

    y = te.compute(shapes[3], body, "y")
    agrees(create_prim_func([x, w, q, te.compute(shapes[3], lambda *at: y[at] + q[at], "z")]), *shapes)


def blocked(kind: str, first: float = 0.0) -> tuple[PrimFunc, tuple[tuple[int, ...], ...]]:
    """Convolutions over blocks of 16 channels, sums from `first` on."""
    c = te.var("c", "int64") if kind == "symbolic" else 2
    rc, ri, rh, rw = (te.reduce_axis((0, n), "r") for n in (c, 16, 3, 3))
    x, data, weights = te.placeholder((1, c, 9, 9, 16), "float32", "x"), (1, 2, 9, 9, 16), (4, c, 3, 3, 16, 16)
    if kind == "words":
        weights = (4, 2, 3, 3, 4, 16, 4)
    elif kind == "multiplied":
        weights = (4, 3, 3, 16)
    w = te.placeholder(weights, "float32", "w")

    def body(b: Any, f: Any, i: Any, j: Any, lane: Any) -> Any:
        if kind == "multiplied":
            return te.sum(x[b, f // 2, i + rh, j + rw, lane] * w[f, rh, rw, lane], axis=[rh, rw])
        weight = w[f, rc, rh, rw, ri // 4, lane, ri % 4] if kind == "words" else w[f, rc, rh, rw, ri, lane]
        seen = x[b, rc, i + rh, j + rw, ri]
        value = (as_bytes(seen) if kind == "rounded" else seen) * weight
        return te.sum(value, axis=[rc, rh, rw, ri], init=tir.const(first, "float32"))

    y = te.compute((1, 4, 7, 7, 16), body, "y")
    known = tuple(2 if dim is c else dim for dim in weights)
    return create_prim_func([x, w, y]), (data, known, (1, 4, 7, 7, 16))


@pytest.mark.parametrize("kind", ["plain", "symbolic", "words", "multiplied", "rounded"])
def test_blocked_convolutions(kind: str) -> None:
    func, shapes = blocked(kind)
    agrees(func, *shapes)


@pytest.mark.parametrize(("channels", "last"), [(8, 4), (6, 4), (4, 8)])
def test_blocked_convolutions_by_words(channels: int, last: int) -> None:
    """A step loads four channels at once: they are all there, and lie side by side in the weight."""
    rc, ri, rh, rw = (te.reduce_axis((0, n), "r") for n in (2, channels, 3, 3))
    shapes = ((1, 2, 9, 9, channels), (4, 2, 3, 3, -(-channels // 4), 16, last), (1, 4, 7, 7, 16))
    x, w = te.placeholder(shapes[0], "uint8", "x"), te.placeholder(shapes[1], "int8", "w")

    def body(b: Any, f: Any, i: Any, j: Any, lane: Any) -> Any:
        weight = w[f, rc, rh, rw, ri // 4, lane, ri % 4] if last == 4 else w[f, rc, rh, rw, 0, lane, ri]
        return te.sum(x[b, rc, i + rh, j + rw, ri].astype("int32") * weight.astype("int32"), axis=[rc, rh, rw, ri])

    func = create_prim_func([x, w, te.compute(shapes[2], body, "y")])
    arrays = [random_array(shape, dtype, n) for n, (shape, dtype) in enumerate(zip(shapes, BYTES, strict=True))]
    whole = channels % 4 == 0 and last == 4
    rule = agrees(func, target=Target("llvm -mcpu=cascadelake -num-cores=1"), arrays=arrays)
    assert (rule == "conv_blocked") == whole


def test_winograd_begins_at_zero() -> None:
    assert isinstance(candidate(blocked("plain")[0]), Candidate)
    assert isinstance(candidate(blocked("plain", first=1.0)[0]), Declined)


@pytest.mark.parametrize("spread", [False, True])
def test_repeated_data_are_not_spread(spread: bool) -> None:
    """A convolution over a map enlarged by repetition reads like a transposed one, but for a condition."""
    shapes = ((1, 8, 20, 40), (8, 16, 3, 3), (1, 16, 39, 79))
    x, w = (te.placeholder(shape, "float32", name) for shape, name in zip(shapes, "xw"))
    rc, rh, rw = (te.reduce_axis((0, n), "r") for n in (8, 3, 3))

    def seen(n: Any, h: Any, v: Any) -> Any:
        inside = [h >= 0, h < 40, v >= 0, v < 80, *([h % 2 == 0, v % 2 == 0] if spread else [])]
        return tir.if_then_else(tir.all(*inside), x[n, rc, h // 2, v // 2], tir.const(0, "float32"))

    def body(n: Any, f: Any, i: Any, j: Any) -> Any:
        return te.sum(seen(n, i + rh - 1, j + rw - 1) * w[rc, f, 2 - rh, 2 - rw], axis=[rc, rh, rw])

    func = create_prim_func([x, w, te.compute(shapes[2], body, "y")])
    assert (agrees(func, *shapes) == "conv_phases") == spread


# --------------------------------------------------------------------------------------------------- recurrence


@pytest.mark.parametrize("states", [1, 2])
def test_states_that_are_overwritten(states: int) -> None:
    """A block of units must not store a state that the next one still reads."""

    @T.prim_func
    def kernel(
        X: T.Buffer((4, 3, 96), "float32"), W: T.Buffer((96, 96), "float32"), H: T.Buffer((2, 3, 96), "float32")
    ) -> None:
        with T.block("root"):
            S = T.alloc_buffer((3, 96), "float32")
            with T.block("steps"):
                T.reads(X[0:4, 0:3, 0:96], W[0:96, 0:96], H[0:2, 0:3, 0:96])
                T.writes(H[0:2, 0:3, 0:96])
                for b, n in T.grid(3, 96):
                    H[0, b, n] = T.float32(0.5)
                for t in range(4):
                    for b, n in T.grid(3, 96):
                        S[b, n] = T.float32(0)
                        for k in range(96):
                            S[b, n] = S[b, n] + H[t % states, b, k] * W[k, n]
                    for b, j in T.grid(3, 96):
                        H[(t + 1) % states, b, j] = T.tanh(S[b, j] * T.float32(0.1) + X[t, b, j])

    assert (agrees(kernel, (4, 3, 96), (96, 96), (2, 3, 96)) == "recurrence") == (states == 2)
