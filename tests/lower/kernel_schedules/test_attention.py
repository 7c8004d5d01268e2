"""Attention as one kernel: several blocks of keys, masks, shared heads, odd sizes, symbolic lengths, other vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.ir.tensor_info import TensorInfo
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.ops.nn.attention import ATTENTIONS, AttentionAttrs
from baton._src.passes.relax.operators.kernel_of_call import make_kernel
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.text.printer import script
from baton._src.values.dtype import DataType
from tests.codegen.native_run import HOST, build, call, random_array

TARGETS = [HOST, Target("llvm -num-cores=4"), Target("llvm -mcpu=x86-64")]
# (batch, queries, keys, heads, key heads, size of a key, size of a value), mask
CASES: list[tuple[tuple[int, ...], str | None]] = [
    ((1, 64, 64, 2, 2, 16, 16), None),
    ((2, 7, 5, 3, 3, 8, 8), None),
    ((1, 5, 300, 4, 2, 16, 16), None),
    ((2, 33, 520, 4, 2, 64, 40), "BottomRight"),
    ((1, 1, 513, 6, 2, 64, 64), None),
    ((1, 200, 77, 2, 1, 48, 33), "TopLeft"),
    ((1, 1, 1, 1, 1, 1, 1), None),
    ((1, 20, 320, 2, 1, 24, 64), "BottomRight"),  # wide tiles: keys and columns fill panels of four vectors
]
MASKED: list[tuple[tuple[int, ...], str | None]] = [
    ((1, 300, 600, 2, 1, 16, 16), "BottomRight"),
    ((1, 300, 600, 2, 2, 16, 16), "TopLeft"),
    ((1, 70, 64, 2, 2, 16, 16), "BottomRight"),  # the first queries see no key
    ((2, 300, 270, 2, 1, 16, 16), "BottomRight"),
]
FEW: list[tuple[tuple[int, ...], str | None]] = [
    ((1, 1, 513, 6, 2, 64, 64), None),
    ((2, 3, 300, 5, 1, 16, 32), "BottomRight"),  # tiles of four heads and of one
    ((1, 4, 40, 2, 2, 32, 16), "TopLeft"),
    ((1, 2, 256, 8, 1, 128, 64), None),
]


def kernel(sizes: tuple[int, ...], mask: str | None, symbolic: bool, dtype: str = "float32") -> PrimFunc:
    """R.nn.attention with a bias for every query and key."""
    b, m, n, h, shared, d, e = sizes
    batch, rows, keys = (Var(v, "int64") for v in "bmn") if symbolic else (b, m, n)
    shapes: list[Any] = [
        (batch, rows, h, d),
        (batch, keys, shared, d),
        (batch, keys, shared, e),
        (batch, 1, rows, keys),
    ]
    args = [TensorInfo(s, DataType(dtype)) for s in shapes]
    out = TensorInfo((batch, rows, h, e), DataType(dtype))
    return make_kernel(ATTENTIONS[1], args, AttentionAttrs(None, mask), out).function


def operands(sizes: tuple[int, ...], dtype: str = "float32") -> list[Any]:
    """Random ones; the bias hides most of the first keys, sometimes whole blocks of them, by -inf."""
    b, m, n, h, shared, d, e = sizes
    shapes = [(b, m, h, d), (b, n, shared, d), (b, n, shared, e), (b, 1, m, n)]
    found = [random_array(s, "float32", seed) for seed, s in enumerate(shapes)]
    bias = found[3]
    bias[..., : n // 2] = np.where(bias[..., : n // 2] < 0.4, -np.inf, bias[..., : n // 2])
    if n > 256:
        bias[..., ::2, :256] = -np.inf
    return [x.astype(dtype) for x in found]


@pytest.mark.parametrize(
    ("sizes", "mask", "target", "symbolic"),
    [
        *((*case, TARGETS[0], False) for case in CASES),
        *((*case, TARGETS[0], True) for case in CASES[1:3]),
        *((*case, TARGETS[1], True) for case in CASES[3:5]),
        *((*case, TARGETS[2], False) for case in CASES[1:4]),
        pytest.param(*CASES[3], TARGETS[0], True, marks=pytest.mark.fuzz),  # as threads have it
    ],
)
def test_attention(sizes: tuple[int, ...], mask: str | None, target: Target, symbolic: bool) -> None:
    """Guards tiles, blocks, running maxima and tails, every access checked."""
    func = kernel(sizes, mask, symbolic)
    decision = decide(func, target)
    assert decision.rule == "attention", decision.declined
    given = operands(sizes)
    with np.errstate(invalid="ignore"):
        wanted = ATTENTIONS[1].reference([x.astype("float64") for x in given], AttentionAttrs(None, mask))
    out = np.zeros(wanted.shape, "float32")
    assert call(build(decision.func, target, checked=True), decision.func, *given, out) is None
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("symbolic", [True, False])
@pytest.mark.parametrize("case", MASKED)
def test_keys_that_no_query_sees(case: tuple[tuple[int, ...], str | None], symbolic: bool) -> None:
    """Guards how far tiles and blocks go under a causal mask."""
    sizes, mask = case
    func = decide(kernel(sizes, mask, symbolic), HOST).func
    given = operands(sizes)
    with np.errstate(invalid="ignore"):
        wanted = ATTENTIONS[1].reference([x.astype("float64") for x in given], AttentionAttrs(None, mask))
    out = np.zeros(wanted.shape, "float32")
    assert call(build(func, HOST, checked=True), func, *given, out) is None
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("symbolic", [True, False])
@pytest.mark.parametrize("target", TARGETS[1:])
@pytest.mark.parametrize("case", FEW)
def test_few_queries(case: tuple[tuple[int, ...], str | None], target: Target, symbolic: bool) -> None:
    """Guards tiles that read keys where they are: groups of heads, masks, the last keys, running maxima."""
    sizes, mask = case
    decision = decide(kernel(sizes, mask, symbolic), target)
    assert decision.rule == "attention", decision.declined
    assert ("packed_keys" in script(decision.func)) == symbolic
    for queries in {sizes[1], 4, 5} if symbolic else {sizes[1]}:
        own = (sizes[0], queries, *sizes[2:])
        given = operands(own)
        with np.errstate(invalid="ignore"):
            wanted = ATTENTIONS[1].reference([x.astype("float64") for x in given], AttentionAttrs(None, mask))
        out = np.zeros(wanted.shape, "float32")
        assert call(build(decision.func, target, checked=True), decision.func, *given, out) is None
        np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("case", [*CASES[1:3], CASES[5], *FEW[:2]])
def test_neon(case: tuple[tuple[int, ...], str | None]) -> None:
    """Guards panels of three vectors (8 x 3 on NEON), here by x86's instructions: the maxima and sums of a row left the
    last of three lanes out, so that attention of every model was wrong on ARM.
    """
    func = decide(kernel(*case, symbolic=True), Target("llvm -mtriple=aarch64-linux-gnu -num-cores=1")).func
    given = operands(case[0])
    with np.errstate(invalid="ignore"):
        wanted = ATTENTIONS[1].reference([x.astype("float64") for x in given], AttentionAttrs(None, case[1]))
    out = np.zeros(wanted.shape, "float32")
    assert call(build(func, HOST, checked=True), func, *given, out) is None
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=2e-6)


def test_no_elements() -> None:
    """Guards sizes that are 0, as numbers and when it runs: no tile has that many rows."""
    empty = [(1, 0, 5, 2, 2, 16, 16), (0, 3, 5, 2, 2, 16, 16)]
    scheduled = decide(kernel(empty[0], None, True), HOST).func
    library = build(scheduled, HOST, checked=True)
    for sizes in empty:
        assert decide(kernel(sizes, None, False), HOST).rule == "rows"
        out = np.zeros((*sizes[:2], sizes[3], sizes[6]), "float32")
        assert call(library, scheduled, *operands(sizes), out) is None


@pytest.mark.parametrize("queries", [2, 18])
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_dtypes(dtype: str, queries: int) -> None:
    """Guards conversion while packing, or reading: sixteen bits are computed in float32."""
    sizes = (1, queries, 270, 2, 2, 32, 32)
    func = kernel(sizes, None, True, dtype)
    decision = decide(func, HOST)
    assert decision.rule == "attention", decision.declined
    given = operands(sizes, dtype)
    wanted = ATTENTIONS[1].reference([x.astype("float64") for x in given], AttentionAttrs())
    out = np.zeros(wanted.shape, dtype)
    assert call(build(decision.func, HOST, checked=True), decision.func, *given, out) is None
    tolerance = 2e-3 if dtype == "float16" else 1e-12
    np.testing.assert_allclose(out.astype("float64"), wanted, rtol=tolerance, atol=tolerance)


def test_no_keys_and_all_masked() -> None:
    """Guards edges: a row whose keys are all -inf is NaN, as the formula says; other rows are not touched by it."""
    sizes = (1, 3, 300, 1, 1, 16, 16)
    func = kernel(sizes, None, True)
    given = operands(sizes)
    given[3][0, 0, 1] = -np.inf
    out = np.zeros((1, 3, 1, 16), "float32")
    decision = decide(func, HOST)
    assert call(build(decision.func, HOST, checked=True), decision.func, *given, out) is None
    assert np.isnan(out[0, 1]).all()
    assert np.isfinite(out[0, [0, 2]]).all()


def test_powers_are_never_subnormal() -> None:
    """Guards the powers of scores far below the maximum: a product of each such power and a value takes 150 cycles."""
    text = script(decide(kernel((2, 33, 520, 4, 2, 64, 40), None, symbolic=False), HOST).func)
    assert "T.exp_flushed(" in text
    assert "T.exp(" not in text
