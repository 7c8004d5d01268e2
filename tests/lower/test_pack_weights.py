"""PackWeights: what it changes, and that packed kernels compute the same, with every access checked."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.products.packed_weights import packable_weight
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.pack_weights import PackWeights, panels, reading_panels
from baton._src.passes.pipelines import default
from baton._src.relax.nodes import Constant
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import For
from tests.codegen.native_run import HOST, build, call, random_array
from tests.grids import every_pair, every_value, some
from tests.lower.kernel_schedules.test_rules import matmul
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import R, program, tensor, weights

SIZES = [
    (1, 40, 13),
    (1, 300, 20),
    (2, 33, 11),
    (3, 70, 9),
    (4, 64, 12),
    (5, 16, 15),
    (13, 33, 9),
    (30, 130, 1024),
    (7, 12, 10),
]
TARGETS = {"one": HOST, "threads": Target("llvm -num-cores=4"), "sse": Target("llvm -mcpu=x86-64")}


@pytest.mark.parametrize(("size", "transposed", "target"), every_pair(SIZES, [False, True], TARGETS))
def test_packed_product(size: tuple[int, int, int], transposed: bool, target: Target) -> None:
    """Guards panels, their tail, few rows, copied rows (k = 1024) and the epilogue."""
    m, n, k = size
    a, v = random_array((m, k), "float32", 1), random_array((n,), "float32", 3)
    b = random_array((n, k) if transposed else (k, n), "float32", 2)
    func = matmul(m, n, k, transposed, bias=True)
    _check(func, target, [a], b, v)


@pytest.mark.parametrize(
    ("size", "cpu", "threads"),
    every_pair([(26, 40, 3301), (30, 33, 3072), (32, 16, 3500)], ["x86-64", "x86-64-v3"], [1, 4]),
)
def test_long_sums(size: tuple[int, int, int], cpu: str, threads: int) -> None:
    """Guards sums in blocks of terms, kept in a scratch between blocks: a shorter last block, a narrower last panel."""
    m, n, k = size
    target = Target(f"llvm -mcpu={cpu} -num-cores={threads}")
    a, b, v = (np.rint(random_array(shape, "float32", 1)) for shape in ((m, k), (k, n), (n,)))  # sums are exact
    func = matmul(m, n, k, False, bias=True)
    scheduled = _check(func, target, [a], b, v)
    assert any(isinstance(node, For) and node.loop_var.name == "block" for node in post_order(scheduled.body))


ROWS = [64, 128, 130, 193, 256, 300]


@pytest.mark.parametrize(("rows", "threads"), every_value(ROWS, [1, 2, 3]))
def test_blocks_of_rows(rows: int, threads: int) -> None:
    """Guards blocks of rows that go through all panels, and panels that threads share where rows are few."""
    _check_blocks(rows, [rows], threads)


@pytest.mark.parametrize("threads", some([1, 3, 2], 2))
def test_blocks_of_any_number_of_rows(threads: int) -> None:
    """Guards the same in one kernel for all numbers of rows."""
    _check_blocks(TirVar("m", "int64"), ROWS, threads)


def _check_blocks(declared: int | TirVar, rows: list[int], threads: int) -> None:
    func = matmul(declared, 300, 33, True, bias=True)
    given = [random_array((m, 33), "float32", 0) for m in rows]
    b, v = random_array((300, 33), "float32", 1), random_array((300,), "float32", 2)
    _check(func, Target(f"llvm -num-cores={threads}"), given, b, v)


def test_any_number_of_rows() -> None:
    """Guards one kernel for all numbers of rows, few ones."""
    func = matmul(TirVar("m", "int64"), 70, 33, True, bias=True)
    given = [random_array((rows, 33), "float32", 1) for rows in (1, 4, 6, 40)]
    _check(func, HOST, given, random_array((70, 33), "float32", 2), np.ones(70, "float32"))


def _check(func: PrimFunc, target: Target, given: list[np.ndarray], b: np.ndarray, v: np.ndarray) -> PrimFunc:
    """One kernel, compiled once, for each of the left operands that are given."""
    weight = packable_weight(func, target)
    assert weight is not None
    matrix = b.T if weight.columns_first else b
    decision = decide(reading_panels(func, weight), target)
    assert decision.rule == "prepacked"
    kernel = build(decision.func, target, checked=True)
    for a in given:
        out = np.zeros((len(a), matrix.shape[1]), "float32")
        assert call(kernel, decision.func, a, panels(matrix, weight.width), v, out) is None
        np.testing.assert_allclose(out, np.maximum(a @ matrix + v, 0), rtol=1e-4, atol=1e-4)
    return decision.func


def test_program() -> None:
    """A batch of rows against constant weights: packed once for two uses; the program means the same."""
    x, w = tensor("x", 2, 3, 12), weights(12, 40)
    before = program([x], lambda bb, x: R.add(R.matmul(x, w), R.matmul(R.add(x, x), w)))
    with HOST:
        lowered = before
        for step in default():
            lowered = step(lowered)
        after = PackWeights()(lowered)
    shapes = [n.data.shape for n in post_order(after["main"]) if isinstance(n, Constant)]
    assert all(len(s) == 3 and s[1] == 12 for s in shapes), shapes
    data = random_array((2, 3, 12), "float32", 5)
    np.testing.assert_allclose(evaluate(after, "main", data), evaluate(before, "main", data), rtol=1e-5)


def test_weights_given_at_run_time_stay() -> None:
    """Only constants are packed."""
    x, w = tensor("x", 2, 8), tensor("w", 8, 40)
    before = program([x, w], lambda bb, x, w: R.matmul(x, w))
    with HOST:
        lowered = before
        for step in default():
            lowered = step(lowered)
        assert PackWeights()(lowered) is lowered


@pytest.mark.parametrize(("cpu", "axes"), [("znver4", 4), ("sapphirerapids", 3)])
def test_weights_of_bfloat16(cpu: str, axes: int) -> None:
    """Guards words for processors whose dot products are fast, plain panels of bfloat16 for others."""
    x, w = tensor("x", 9, 12, dtype="bfloat16"), Constant(random_array((12, 40), "bfloat16", 1))
    lowered = program([x], lambda bb, x: R.matmul(x, w))
    with Target(f"llvm -mcpu={cpu}"):
        for step in (*default(), PackWeights()):
            lowered = step(lowered)
    (packed,) = (n.data for n in post_order(lowered["main"]) if isinstance(n, Constant))
    assert (len(packed.shape), str(packed.dtype)) == (axes, "bfloat16")
