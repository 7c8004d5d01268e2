"""Products at the edges between ways to compute them: few rows, few columns, tails, weights that lie (n, k)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import Choices, using
from baton._src.lower.kernel_schedules.products import blocked_rows, short_sums, streamed_rows
from baton._src.lower.kernel_schedules.products.packed_weights import packable_weight
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.pack_weights import panels, reading_panels
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators as ops
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST, build, call, random_array
from tests.grids import every_pair, every_value

SIZES = [
    (5, 33, 16),
    (8, 64, 7),
    (12, 17, 32),
    (13, 40, 32),
    (17, 1, 48),
    (17, 2, 48),
    (16, 4, 9),
    (7, 3, 16),
    (1, 5, 33),
    (2, 19, 40),
    (6, 37, 50),
    (9, 49, 20),
    (21, 4, 70),
    (30, 3, 64),
    (5, 81, 4),
    (50, 40, 37),
]


def product(m: int | Var, n: int, k: int, transposed: bool, dtype: str = "float32") -> PrimFunc:
    """C[m, n] = A[m, k] B[k, n], or B[n, k], in float32."""
    a, b = placeholder((m, k), dtype, "a"), placeholder((n, k) if transposed else (k, n), dtype, "b")
    r = reduce_axis((0, k), "r")

    def term(i: Any, j: Any) -> Any:
        return ops.cast("float32", a[i, r]) * ops.cast("float32", b[j, r] if transposed else b[r, j])

    return create_prim_func([a, b, compute((m, n), lambda i, j: reduction.sum(term(i, j), r), "c")])


SSE = Target("llvm -mcpu=x86-64 -num-cores=2")
NARROW = ((5, 33, 16), (13, 40, 32), (17, 2, 48), (2, 19, 40), (6, 37, 50))
"""What is tried with narrow vectors and few registers, too: a size for each way."""


@pytest.mark.parametrize(("sizes", "target"), [*((s, HOST) for s in SIZES), *((s, SSE) for s in NARROW)])
@pytest.mark.parametrize("transposed", [False, True])
def test_odd_products(sizes: tuple[int, int, int], transposed: bool, target: Target) -> None:
    """Guards each way, every access checked."""
    m, n, k = sizes
    func = product(m, n, k, transposed)
    left, right = random_array((m, k), "float32", 1), random_array((n, k) if transposed else (k, n), "float32", 2)
    out = np.zeros((m, n), "float32")
    assert call(build(decide(func, target).func, target, checked=True), func, left, right, out) is None
    wanted = left.astype("float64") @ (right.T if transposed else right).astype("float64")
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("n", "k", "transposed"), [(2, 40, True), (4, 65, True), (3, 4000, False)])
def test_batches_of_few_columns(n: int, k: int, transposed: bool) -> None:
    """Guards a batch of small factors, which are transposed to lie along k; of large ones, which are not."""
    a, b, r = placeholder((2, 3, 18, k), "float32", "a"), placeholder((2, 3, k, n), "float32", "b"), reduce_axis((0, k))
    c = compute((2, 3, 18, n), lambda x, y, i, j: reduction.sum(a[x, y, i, r] * b[x, y, r, j], r), "c")
    func, target = create_prim_func([a, b, c]), Target("llvm -num-cores=2")
    scheduled = decide(func, target).func
    assert ("transposed" in scheduled.script()) is transposed
    left, right = random_array((2, 3, 18, k), "float32", 1), random_array((2, 3, k, n), "float32", 2)
    out = np.zeros((2, 3, 18, n), "float32")
    assert call(build(scheduled, target, checked=True), func, left, right, out) is None
    np.testing.assert_allclose(out, left.astype("float64") @ right.astype("float64"), rtol=1e-4, atol=1e-4)


def symbolic(n: int, k: int, transposed: bool) -> PrimFunc:
    return product(Var("m", "int64"), n, k, transposed)


@pytest.mark.parametrize(("sizes", "transposed"), every_value([(4, 64), (1, 70), (17, 33), (40, 32)], [False, True]))
def test_any_number_of_rows(sizes: tuple[int, int], transposed: bool) -> None:
    """Guards one kernel for all rows: tails of tiles, few rows, none."""
    n, k = sizes
    func = symbolic(n, k, transposed)
    library = build(decide(func, HOST).func, HOST, checked=True)
    right = random_array((n, k) if transposed else (k, n), "float32", 2)
    for m in (*range(14), 23, 35):
        left, out = random_array((m, k), "float32", 1), np.zeros((m, n), "float32")
        assert call(library, func, left, right, out) is None
        wanted = left.astype("float64") @ (right.T if transposed else right).astype("float64")
        np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)


STREAMED = [(1, 40, 33, "float32"), (3, 33, 7, "float16"), (4, 100, 9, "float32")]


@pytest.fixture
def _streaming(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices stream, in blocks of few columns; none is so small that it would stay near."""
    for name, value in (("CACHES", 0), ("LEAST_COLUMNS", 1), ("SUMS_BYTES", 1 << 10)):
        monkeypatch.setattr(streamed_rows, name, value)
    monkeypatch.setattr(short_sums, "NEAR", 0)


@pytest.mark.usefixtures("_streaming")
@pytest.mark.parametrize(("m", "n", "k", "dtype"), STREAMED)
def test_streamed_rows(m: int, n: int, k: int, dtype: str) -> None:
    """Guards blocks of columns, the rest of k, even tiles, two threads, float16."""
    func, target = product(m, n, k, False, dtype), Target("llvm -num-cores=2")
    scheduled = decide(func, target).func
    assert "sums" in scheduled.script()
    left, right, out = random_array((m, k), dtype, 1), random_array((k, n), dtype, 2), np.zeros((m, n), "float32")
    assert call(build(scheduled, target, checked=True), func, left, right, out) is None
    np.testing.assert_allclose(out, left.astype("float64") @ right.astype("float64"), rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("_streaming")
def test_any_number_of_streamed_rows() -> None:
    """Guards blocks whose width depends on the number of rows, and more rows than stream."""
    func = symbolic(49, 20, False)
    library = build(decide(func, HOST).func, HOST, checked=True)
    right = random_array((20, 49), "float32", 2)
    for m in (*range(9), 33):
        left, out = random_array((m, 20), "float32", 1), np.zeros((m, 49), "float32")
        assert call(library, func, left, right, out) is None
        np.testing.assert_allclose(out, left.astype("float64") @ right.astype("float64"), rtol=1e-4, atol=1e-5)


@pytest.fixture
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of few rows of B, few columns and few rows of A."""
    for name, value in (("STEPS", 16), ("SUMS_BYTES", 1 << 12), ("MOST_UNKNOWN", 16)):
        monkeypatch.setattr(blocked_rows, name, value)


BLOCKED = [(13, 96, 32, "float32"), (17, 49, 35, "float16"), (32, 10, 50, "float32"), (61, 130, 9, "float32")]


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize("target", [Target("llvm -num-cores=2"), SSE])
@pytest.mark.parametrize(("m", "n", "k", "dtype"), BLOCKED)
def test_blocked_rows(m: int, n: int, k: int, dtype: str, target: Target) -> None:
    """Guards blocks of k that are not equal, or only one, strips that are wider than what is left, two threads."""
    func = product(m, n, k, False, dtype)
    scheduled = decide(func, target).func
    assert "packed" not in scheduled.script()
    left, right, out = random_array((m, k), dtype, 1), random_array((k, n), dtype, 2), np.zeros((m, n), "float32")
    assert call(build(scheduled, target, checked=True), func, left, right, out) is None
    np.testing.assert_allclose(out, left.astype("float64") @ right.astype("float64"), rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("_small_blocks")
@pytest.mark.parametrize(("n", "k"), [(96, 35), (49, 16), (1100, 20)])
def test_any_number_of_rows_in_blocks(n: int, k: int) -> None:
    """Guards groups of rows, their tiles, and none."""
    func, target = symbolic(n, k, False), Target("llvm -num-cores=2")
    library = build(decide(func, target).func, target, checked=True)
    right = random_array((k, n), "float32", 2)
    for m in (*range(12), 16, 17, 33, 50):
        left, out = random_array((m, k), "float32", 1), np.zeros((m, n), "float32")
        assert call(library, func, left, right, out) is None
        np.testing.assert_allclose(out, left.astype("float64") @ right.astype("float64"), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("outer", [1, 2])
@pytest.mark.parametrize("transposed", [False, True])
def test_two_axes_of_few_rows(outer: int, transposed: bool) -> None:
    """Guards row axes that are not one: a tile is as high as the last of them, not as both."""
    shape = (40, 20) if transposed else (20, 40)
    a, b = placeholder((2, outer, 20), "float32", "a"), placeholder(shape, "float32", "b")
    r = reduce_axis((0, 20), "r")

    def element(i: Any, j: Any, n: Any) -> Any:
        return reduction.sum(a[j, i, r] * (b[n, r] if transposed else b[r, n]), r)

    func = create_prim_func([a, b, compute((outer, 2, 40), element, "c")])
    left, out = random_array((2, outer, 20), "float32", 1), np.zeros((outer, 2, 40), "float32")
    right = random_array(shape, "float32", 2)
    assert call(build(decide(func, HOST).func, checked=True), func, left, right, out) is None
    wanted = left.swapaxes(0, 1).astype("float64") @ (right.T if transposed else right)
    np.testing.assert_allclose(out, wanted, rtol=1e-4, atol=1e-5)


def test_packing_looks_ahead() -> None:
    """Guards that the next panel is asked for while a panel's last tiles run, however B lies, and only where B is
    packed.
    """
    for transposed in (False, True):
        assert "prefetch" in decide(product(50, 70, 32, transposed), HOST).func.script()
    assert "prefetch" not in decide(product(3, 70, 32, False), HOST).func.script()


def test_few_columns_are_dot_products() -> None:
    """Guards the choice: a tile of one column would be empty but for one lane; so would a packed panel."""
    func = product(64, 1, 64, False)
    assert "part" in decide(func, HOST).func.script()
    assert packable_weight(func, HOST) is None


def test_23_columns_are_not_32() -> None:
    """Guards the width of the last panel's tiles: one and a half vectors of 512 bits."""
    text = decide(product(24, 23, 64, False), Target("llvm -mcpu=znver4")).func.script()
    assert "288" in text  # 12 rows x 24 sums
    assert "384" not in text


@pytest.mark.parametrize(
    ("n", "way"), every_value([9, 18, 26], ["run time", "along k", "packed", "any rows", "any rows, packed"])
)
def test_last_columns(n: int, way: str) -> None:
    """Guards columns beyond whole half vectors, which are dot products while the others are not, however B lies."""
    k, rows, target = 70, (2, 5, 30), Target("llvm -mcpu=znver4 -num-cores=1")
    right, transposed = random_array((k, n), "float32", 2), way == "along k"
    for size in [Var("m", "int64")] if "any" in way else rows:
        func, given = product(size, n, k, transposed), right
        if transposed:
            given = np.ascontiguousarray(right.T)
        elif "packed" in way:
            weight = packable_weight(func, target)
            assert weight is not None
            func, given = reading_panels(func, weight), panels(right, weight.width)
        scheduled = decide(func, target).func
        assert ("part" in scheduled.script()) == ("any" in way or transposed or size == 30)
        library = build(scheduled, HOST, checked=True)
        for m in rows if isinstance(size, Var) else [size]:
            left, out = random_array((m, k), "float32", 1), np.zeros((m, n), "float32")
            assert call(library, func, left, given, out) is None
            np.testing.assert_allclose(out, left.astype("float64") @ right.astype("float64"), rtol=1e-4, atol=1e-5)


def test_last_columns_and_what_follows() -> None:
    """Guards the elementwise stage of both parts, each for its columns."""
    a, b, c = (placeholder(shape, "float32", name) for shape, name in (((20, 40), "a"), ((40, 17), "b"), ((17,), "c")))
    r = reduce_axis((0, 40), "r")
    d = compute((20, 17), lambda i, j: reduction.sum(a[i, r] * b[r, j], r), "d")
    func = create_prim_func([a, b, c, compute((20, 17), lambda i, j: d[i, j] + c[j], "e")])
    left, right, bias = (random_array(shape, "float32", n) for n, shape in enumerate(((20, 40), (40, 17), (17,))))
    scheduled = decide(func, Target("llvm -mcpu=znver4")).func
    assert "part" in scheduled.script()
    out = np.zeros((20, 17), "float32")
    assert call(build(scheduled, HOST, checked=True), func, left, right, bias, out) is None
    np.testing.assert_allclose(out, left.astype("float64") @ right.astype("float64") + bias, rtol=1e-4, atol=1e-5)


SLOW_DOTS = [Target(f"llvm -mcpu=sapphirerapids -num-cores={threads}") for threads in (1, 2)]


@pytest.mark.parametrize(
    ("sizes", "target", "dtype"),
    every_pair(
        [(1, 40, 33), (3, 49, 16), (4, 83, 9), (5, 33, 16), (26, 65, 20)],
        {"one": SLOW_DOTS[0], "two": SLOW_DOTS[1], "sse": SSE},
        ["float32", "float16", "bfloat16"],
    ),
)
def test_packed_weights(sizes: tuple[int, int, int], target: Target, dtype: str) -> None:
    """Guards narrow last panels of weights packed before, halves that the first tile of rows converts, and vectors of
    bfloat16 whose columns are apart until their sums are put in order.
    """
    m, n, k = sizes
    plain = product(m, n, k, False, dtype)
    weight = packable_weight(plain, target)
    assert weight is not None
    func = reading_panels(plain, weight)
    decision = decide(func, target)
    assert decision.rule == "prepacked"
    left, right = random_array((m, k), dtype, 1), random_array((k, n), dtype, 2)
    out = np.zeros((m, n), "float32")
    assert call(build(decision.func, HOST, checked=True), func, left, panels(right, weight.width), out) is None
    np.testing.assert_allclose(out, left.astype("float64") @ right.astype("float64"), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "target"), every_value(["float16", "bfloat16"], {"one": SLOW_DOTS[0], "two": SLOW_DOTS[1]})
)
def test_packed_halves_of_any_number_of_rows(dtype: str, target: Target) -> None:
    """Guards panels converted by the first tile, whatever its height, and by each thread's own."""
    n, k = 83, 35
    plain, right = product(Var("m", "int64"), n, k, False, dtype), random_array((k, n), dtype, 2)
    weight = packable_weight(plain, target)
    assert weight is not None
    func = reading_panels(plain, weight)
    library = build(decide(func, target).func, HOST, checked=True)
    for m in (0, 1, 2, 3, 4, 5, 9, 13, 40, 300):
        left, out = random_array((m, k), dtype, 1), np.zeros((m, n), "float32")
        assert call(library, func, left, panels(right, weight.width), out) is None
        np.testing.assert_allclose(out, left.astype("float64") @ right.astype("float64"), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("rows", [3, 50])
def test_float16(rows: int, transposed: bool) -> None:
    """Guards rows that are converted once, in vectors, and not element by element in every tile."""
    func = product(rows, 40, 35, transposed, "float16")
    left, right = random_array((rows, 35), "float16", 1), random_array((35, 40), "float16", 2)
    out, given = np.zeros((rows, 40), "float32"), np.ascontiguousarray(right.T) if transposed else right
    scheduled = decide(func, HOST).func
    assert ("wide" in scheduled.script()) == (not transposed or rows > 4)
    assert call(build(scheduled, HOST, checked=True), func, left, given, out) is None
    np.testing.assert_allclose(out, left.astype("float64") @ right.astype("float64"), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("cpu", "many"), [("skylake-avx512", True), ("znver3", False)])
def test_panels_take_turns_where_tiles_are_large(cpu: str, many: bool) -> None:
    """Guards a choice: tiles in 16 registers read panels from as near as can be, others read a far A for several."""
    choices = Choices()
    with using(choices):
        decide(product(1500, 768, 768, False), Target(f"llvm -mcpu={cpu} -num-cores=1"))
    assert (choices.offered["panels_in_turn"].default > 1) == many


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("n", [96, 120])
def test_panels_in_turn(n: int, packed: bool) -> None:
    """Guards tiles of several panels in turn, which products with more rows than the second-level cache holds have."""
    m, k, target = 530, 260, Target("llvm -mcpu=x86-64 -num-cores=1")
    assert m * k * 4 > target.cpu.l2_bytes
    func = product(m, n, k, False)
    left, right = random_array((m, k), "float32", 1), random_array((k, n), "float32", 2)
    given = right
    if packed:
        weight = packable_weight(func, target)
        assert weight is not None
        func, given = reading_panels(func, weight), panels(right, weight.width)
    choices = Choices({"panels_in_turn": 2})
    with using(choices):
        decision = decide(func, target)
    assert 2 in choices.offered["panels_in_turn"].candidates
    out = np.zeros((m, n), "float32")
    assert call(build(decision.func, target, checked=True), func, left, given, out) is None
    np.testing.assert_allclose(out, left @ right, rtol=1e-4, atol=1e-4)
