"""Tiled products and convolutions, fused rows, threads: against NumPy at awkward sizes, with every access checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.jit import Machine, assembly
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution import conv2d
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.runtime.thread_pool.threads import thread_pool
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators as ops
from baton._src.tir.builders.scalar_functions import exp, if_then_else
from baton._src.tir.expr import Var
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST, build, call, random_array
from tests.grids import every_value

OLD = Target("llvm -mcpu=x86-64")
THREADS = Target("llvm -num-cores=4")
TARGETS = {"one": HOST, "sse": OLD, "threads": THREADS}


def scheduled(func: PrimFunc, rule: str, *arrays: np.ndarray, target: Target = HOST) -> None:
    """Schedule (by the expected rule), compile with checks, call."""
    decision = decide(func, target)
    assert decision.rule == rule, decision.declined
    assert call(build(decision.func, target, checked=True), decision.func, *arrays) is None


def matmul(m: Any, n: Any, k: Any, transposed: bool, bias: bool, dtype: str = "float32") -> PrimFunc:
    a = placeholder((m, k), dtype, "a")
    b = placeholder((n, k) if transposed else (k, n), dtype, "b")
    r = reduce_axis((0, k), "r")
    c = compute((m, n), lambda i, j: reduction.sum(a[i, r] * (b[j, r] if transposed else b[r, j]), r), "c")
    if not bias:
        return create_prim_func([a, b, c])
    v = placeholder((n,), dtype, "v")
    return create_prim_func([a, b, v, compute((m, n), lambda i, j: ops.max(c[i, j] + v[j], ops.const(0, dtype)), "d")])


SIZES = [
    (1, 1, 1),
    (1, 40, 7),
    (3, 50, 20),
    (5, 16, 3),
    (12, 32, 8),
    (13, 33, 9),
    (24, 100, 1),
    (50, 5, 64),
    (7, 70, 0),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("transposed", [False, True])
def test_matmul(size: tuple[int, int, int], transposed: bool) -> None:
    """Guards tiles and tails in every dim, with an epilogue."""
    m, n, k = size
    a, v = random_array((m, k), "float32", 1), random_array((n,), "float32", 3)
    b = random_array((n, k) if transposed else (k, n), "float32", 2)
    func = matmul(m, n, k, transposed, bias=True)
    out = np.zeros((m, n), "float32")
    rule = decide(func, HOST).rule
    scheduled(func, rule, a, b, v, out)
    np.testing.assert_allclose(out, np.maximum(a @ (b.T if transposed else b) + v, 0), rtol=1e-4, atol=1e-5)
    assert rule == ("matmul" if k else "rows") or m <= 4


@pytest.mark.parametrize(("symbols", "target"), every_value(["mnk", "mn", "m"], TARGETS))
def test_symbolic_matmul(symbols: str, target: Target) -> None:
    """Guards symbolic sizes: one kernel for all of them, few rows and many."""
    sizes = {"m": 0, "n": 70, "k": 19}
    dims: dict[str, Any] = {name: Var(name, "int64") if name in symbols else size for name, size in sizes.items()}
    func = matmul(dims["m"], dims["n"], dims["k"], transposed=True, bias=True)
    decision = decide(func, target)
    library = build(decision.func, target, checked=True)
    for m in (0, 1, 4, 5, 23, 64):
        n, k = (70, 19) if symbols == "m" else (33, 19) if symbols == "mn" else (40, 6)
        a, b, v = (
            random_array((m, k), "float32", 1),
            random_array((n, k), "float32", 2),
            random_array((n,), "float32", 3),
        )
        out = np.zeros((m, n), "float32")
        assert call(library, decision.func, a, b, v, out) is None
        np.testing.assert_allclose(out, np.maximum(a @ b.T + v, 0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_other_dtypes(dtype: str) -> None:
    """Guards lanes of other widths."""
    a, b = random_array((21, 13), dtype, 1), random_array((13, 37), dtype, 2)
    out = np.zeros((21, 37), dtype)
    scheduled(matmul(21, 37, 13, transposed=False, bias=False, dtype=dtype), "matmul", a, b, out)
    np.testing.assert_allclose(out, a @ b, rtol=1e-12)


def test_batched_with_broadcast() -> None:
    """Guards batch axes: shared by both factors, and of one only."""
    for shape in ((4, 9, 7), (1, 9, 7)):
        x, y = random_array((4, 11, 9), "float32", 1), random_array(shape, "float32", 2)
        a, b = placeholder((4, 11, 9), "float32", "a"), placeholder(shape, "float32", "b")
        r = reduce_axis((0, 9), "r")
        one = shape[0] == 1
        c = compute((4, 11, 7), lambda g, i, j: reduction.sum(a[g, i, r] * b[0 if one else g, r, j], r), "c")  # noqa: B023
        out = np.zeros((4, 11, 7), "float32")
        scheduled(create_prim_func([a, b, c]), "matmul", x, y, out, target=THREADS)
        np.testing.assert_allclose(out, x @ y, rtol=1e-4, atol=1e-5)


def convolution(n: Any, ic: int, size: int, oc: int, window: int, stride: int, pad: int) -> tuple[PrimFunc, int]:
    x = placeholder((n, ic, size, size), "float32", "x")
    w = placeholder((oc, ic, window, window), "float32", "w")
    v = placeholder((oc,), "float32", "v")
    wide, out = size + 2 * pad, (size + 2 * pad - window) // stride + 1

    def inside(i: Any, j: Any) -> Any:
        return ops.all(i >= pad, i < size + pad, j >= pad, j < size + pad)

    p = x
    if pad:
        p = compute(
            (n, ic, wide, wide), lambda a, c, i, j: if_then_else(inside(i, j), x[a, c, i - pad, j - pad], 0.0), "p"
        )
    c, h, u = reduce_axis((0, ic), "c"), reduce_axis((0, window), "h"), reduce_axis((0, window), "u")
    y = compute(
        (n, oc, out, out),
        lambda a, o, i, j: reduction.sum(p[a, c, i * stride + h, j * stride + u] * w[o, c, h, u], [c, h, u]),
        "y",
    )
    z = compute((n, oc, out, out), lambda a, o, i, j: ops.max(y[a, o, i, j] + v[o], 0.0), "z")
    return create_prim_func([x, w, v, z]), out


CONVOLUTIONS = [
    (1, 3, 8, 5, 3, 1, 1),
    (2, 4, 9, 13, 3, 2, 1),
    (1, 2, 7, 24, 1, 1, 0),
    (3, 5, 11, 6, 5, 3, 2),
    (1, 1, 40, 2, 3, 1, 0),
]


@pytest.mark.parametrize(("case", "how"), every_value(CONVOLUTIONS, {"one": (False, HOST), "threads": (True, THREADS)}))
def test_convolution(case: tuple[int, ...], how: tuple[bool, Target]) -> None:
    """Guards packing (lines, strides, borders), tails in channels and points, a symbolic batch, threads."""
    (n, ic, size, oc, window, stride, pad), (symbolic, target) = case, how
    func, out = convolution(Var("n", "int64") if symbolic else n, ic, size, oc, window, stride, pad)
    x, w = random_array((n, ic, size, size), "float32", 1), random_array((oc, ic, window, window), "float32", 2)
    v, found = random_array((oc,), "float32", 3), np.zeros((n, oc, out, out), "float32")
    thread_pool().start(2)
    packed = conv2d.apply(func, target)
    assert isinstance(packed, PrimFunc), packed
    assert call(build(packed, target, checked=True), packed, x, w, v, found) is None
    thread_pool().stop()
    padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    view = np.lib.stride_tricks.sliding_window_view(padded, (window, window), (2, 3))[:, :, ::stride, ::stride]
    expected = np.maximum(np.einsum("ncijhw,ochw->noij", view, w) + v[:, None, None], 0)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


ROWS = [(1, 1), (3, 5), (4, 16), (2, 200), (5, 67)]


@pytest.mark.parametrize(("shape", "target"), every_value(ROWS, TARGETS))
def test_softmax_in_rows(shape: tuple[int, int], target: Target) -> None:
    """Guards fused rows: reductions and elementwise stages over one row, partial results and tails."""
    _check_softmax(*shape, [shape], target)


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_softmax_in_any_rows(target: Target) -> None:
    """Guards the same in one kernel for rows of every number and length."""
    _check_softmax(Var("n", "int64"), Var("k", "int64"), ROWS, target)


def _check_softmax(n: Any, k: Any, shapes: list[tuple[int, int]], target: Target) -> None:
    x = placeholder((n, k), "float32", "x")
    r, q = reduce_axis((0, k), "r"), reduce_axis((0, k), "q")
    top = compute((n,), lambda i: reduction.max(x[i, r], r), "top")
    e = compute((n, k), lambda i, j: exp(x[i, j] - top[i]), "e")
    total = compute((n,), lambda i: reduction.sum(e[i, q], q), "total")
    func = create_prim_func([x, compute((n, k), lambda i, j: e[i, j] / total[i], "o")])
    decision = decide(func, target)
    assert decision.rule == "rows", decision.declined
    library = build(decision.func, target, checked=True)
    for shape in shapes:
        a, out = random_array(shape, "float32", 4), np.zeros(shape, "float32")
        assert call(library, decision.func, a, out) is None
        expected = np.exp(a - a.max(1, keepdims=True))
        np.testing.assert_allclose(out, expected / expected.sum(1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kind", ["sum", "max", "min", "prod"])
def test_reductions_along_any_axis(axis: int, kind: str) -> None:
    """Guards both ways to vectorise a reduction."""
    shape = (6, 35, 41)
    a = random_array(shape, "float32", 2)
    x = placeholder(shape, "float32", "x")
    r = reduce_axis((0, shape[axis]), "r")
    kept = [d for d in range(3) if d != axis]
    reducer = getattr(reduction, kind)

    def element(i: Any, j: Any) -> Any:
        places: list[Any] = [i, j]
        places.insert(axis, r.var)
        return reducer(x[tuple(places)], r)

    func = create_prim_func([x, compute(tuple(shape[d] for d in kept), element, "y")])
    out = np.zeros([shape[d] for d in kept], "float32")
    scheduled(func, "rows", a, out)
    np.testing.assert_allclose(out, getattr(np, kind)(a, axis=axis), rtol=2e-5, atol=1e-5)


def test_speed_of_tiles_rests_on_registers() -> None:
    """Guards the tile's accumulators: LLVM must keep them in registers, so the loop over k stores nothing."""
    if HOST.vector_bits < 512:
        pytest.skip("looks for AVX-512 registers")
    func = decide(matmul(1200, 960, 8000, transposed=False, bias=False), Target("llvm -num-cores=1")).func
    text = module_texts({"f": func}, HOST)[0]["f"]
    lines = assembly(text, Machine.of(HOST)).splitlines()
    fused = [i for i, line in enumerate(lines) if "vfmadd231ps" in line and "zmm" in line]
    assert len(fused) == 24
    loop = lines[fused[0] : fused[-1]]
    assert not [line for line in loop if line.strip().startswith("vmov") and line.rstrip().endswith(")")]
