"""Random primitives on many kernels: what is not refused leaves the meaning as it was, and what is refused the program.

`make fuzz` takes other and longer schedules.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from baton import te
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import children, post_order
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir import stmt as st
from baton._src.tir.analysis.check import check_prim_func
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton.script import from_source
from tests.at_length import seeds_at_length
from tests.codegen.native_run import run_native

Kernel = tuple[PrimFunc, list[tuple[int, ...]]]


def matmul(symbolic: bool) -> Kernel:
    n, m, k = (te.var("n"), te.var("m"), te.var("k")) if symbolic else (7, 6, 5)
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), "k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], r), name="C")
    d = te.compute((n, m), lambda i, j: te.max(c[i, j], 0.0) + 1.0, name="D")
    return te.create_prim_func([a, b, d]), [(7, 5), (5, 6), (7, 6)]


def softmax(symbolic: bool) -> Kernel:
    n, m = (te.var("n"), te.var("m")) if symbolic else (4, 9)
    a = te.placeholder((n, m), name="A")
    r, q = te.reduce_axis((0, m), "r"), te.reduce_axis((0, m), "q")
    most = te.compute((n,), lambda i: te.max(a[i, r], axis=r), name="M")
    e = te.compute((n, m), lambda i, j: te.exp(a[i, j] - most[i]), name="E")
    s = te.compute((n,), lambda i: te.sum(e[i, q], axis=q), name="S")
    o = te.compute((n, m), lambda i, j: e[i, j] / s[i], name="O")
    return te.create_prim_func([a, o]), [(4, 9), (4, 9)]


def convolution(symbolic: bool) -> Kernel:
    h = te.var("h") if symbolic else 8
    a, w = te.placeholder((2, h, h), name="A"), te.placeholder((3, 2, 3, 3), name="W")

    def padded(c: Any, y: Any, x: Any) -> Any:
        return te.if_then_else(te.all(y >= 1, y < h + 1, x >= 1, x < h + 1), a[c, y - 1, x - 1], 0.0)

    p = te.compute((2, h + 2, h + 2), padded, name="P")
    rc, ry, rx = (te.reduce_axis((0, n), name) for n, name in ((2, "rc"), (3, "ry"), (3, "rx")))
    o = te.compute(
        (3, h, h), lambda f, y, x: te.sum(p[rc, y + ry, x + rx] * w[f, rc, ry, rx], axis=[rc, ry, rx]), name="O"
    )
    q = te.compute((3, h, h), lambda f, y, x: o[f, y, x] * 2.0, name="Q")
    return te.create_prim_func([a, w, q]), [(2, 8, 8), (3, 2, 3, 3), (3, 8, 8)]


def transposes(symbolic: bool) -> Kernel:
    n = te.var("n") if symbolic else 10
    a = te.placeholder((n, 6), name="A")
    b = te.compute((6, n), lambda i, j: a[j, i] + 1.0, name="B")
    c = te.compute((n, 6), lambda i, j: b[j, i] * 2.0, name="C")
    d = te.compute((n, 6), lambda i, j: c[i, j] + b[j, i], name="D")
    e = te.compute((n, 3), lambda i, j: d[i, 2 * j] - d[i, 2 * j + 1], name="E")
    return te.create_prim_func([a, e]), [(10, 6), (10, 3)]


def pooling(symbolic: bool) -> Kernel:
    n = te.var("n") if symbolic else 11
    a = te.placeholder((n, 12), name="A")
    r, s = te.reduce_axis((0, 3), "r"), te.reduce_axis((0, 4), "s")
    b = te.compute((n, 4), lambda i, j: te.max(a[i, j * 3 + r], axis=r), name="B")
    c = te.compute((n,), lambda i: te.sum(b[i, s], axis=s), name="C")
    d = te.compute((n, 4), lambda i, j: b[i, j] - c[i], name="D")
    return te.create_prim_func([a, d]), [(11, 12), (11, 4)]


def reversal(symbolic: bool) -> Kernel:
    n = te.var("n") if symbolic else 6
    a = te.placeholder((n, 5), name="A")
    b = te.compute((n, 5), lambda i, j: a[n - 1 - i, 4 - j] + 0.5, name="B")
    c = te.compute((n * 5,), lambda i: b[te.floordiv(i, 5), te.floormod(i, 5)] * 3.0, name="C")
    return te.create_prim_func([a, c]), [(6, 5), (30,)]


def windows(symbolic: bool) -> Kernel:
    """Neighbours in both axes at once, and those two steps away."""
    n = te.var("n") if symbolic else 9
    a = te.placeholder((n + 4, n + 4), name="A")
    b = te.compute((n + 4, n + 4), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((n, 4), lambda i, j: b[i, i + j] - b[i + 2, i + 2] + b[i + 4, j], name="C")
    d = te.compute((n,), lambda i: c[i, 0] + c[n - 1 - i, 3], name="D")
    return te.create_prim_func([a, d]), [(13, 13), (9,)]


KERNELS = (matmul, softmax, convolution, transposes, pooling, reversal, windows)
Draw = random.Random
Step = Callable[[Schedule, Any, list[Any], Draw], object]
FACTORS: tuple[list[Any], ...] = ([None, 2], [None, 3], [2, None], [None, 2, 2], [4, 4], [None, 1])
LAYOUTS: dict[int, tuple[Any, ...]] = {
    1: (lambda i: (i // 2, i % 2),),
    2: (lambda i, j: (j, i), lambda i, j: (i, j // 2, j % 2)),
    3: (lambda i, j, k: (j, k, i), lambda i, j, k: (i // 4, j, k, i % 4)),
}


def _other_loop(s: Schedule, r: Draw) -> Any:
    around = [loop for name in names(s) for loop in s.get_loops(s.get_block(name))]
    return r.choice(around)


def _some(r: Draw, loops: list[Any]) -> list[Any]:
    return r.sample(loops, min(len(loops), r.randint(2, 4)))


def _fuse(s: Schedule, block: Any, loops: list[Any], r: Draw) -> None:
    first = r.randrange(len(loops))
    s.fuse(*loops[first : first + r.randint(2, 3)])


def _layout(s: Schedule, block: Any, loops: list[Any], r: Draw) -> None:
    """Of buffers that the kernel allocates; parameters change their shape with it."""
    found = s.get(block)
    regions = [*found.reads, *found.writes]
    if not regions:  # the blocks around the parts of a loop say so
        return
    region = r.choice(regions)
    maps = LAYOUTS.get(region.buffer.ndim)
    if maps and region.buffer not in s.func.buffer_map.values():
        s.transform_layout(block, region.buffer, r.choice(maps), assume_injective_transform=r.random() < 0.8)


def _axes_layout(s: Schedule, block: Any, loops: list[Any], r: Draw) -> None:
    maps = LAYOUTS.get(len(s.get(block).iter_vars))
    if maps:
        s.transform_block_layout(block, r.choice(maps))


def _indexed_copy(s: Schedule, block: Any, loops: list[Any], r: Draw) -> None:
    maps = LAYOUTS.get(len(s.get(block).iter_vars))
    if maps:
        r.choice([s.reindex_cache_read, s.reindex_cache_write])(block, 0, "local", r.choice(maps))


def _padded(s: Schedule, block: Any, loops: list[Any], r: Draw) -> None:
    s.pad_einsum(block, [r.choice([1, 2, 4]) for _ in s.get(block).iter_vars])


def _reordered_axes(s: Schedule, block: Any, loops: list[Any], r: Draw) -> None:
    count = len(s.get(block).iter_vars)
    s.reorder_block_iter_var(block, r.sample(range(count), count))


STEPS: tuple[Step, ...] = (
    lambda s, b, loops, r: s.split(r.choice(loops), r.choice(FACTORS), preserve_unit_iters=r.random() < 0.8),
    lambda s, b, loops, r: s.split(r.choice(loops), r.choice(FACTORS)),
    _fuse,
    lambda s, b, loops, r: s.reorder(*_some(r, loops)),
    lambda s, b, loops, r: s.vectorize(r.choice(loops[-2:])),
    lambda s, b, loops, r: s.parallel(r.choice(loops[:2])),
    lambda s, b, loops, r: s.bind(r.choice(loops[:2]), r.choice(["blockIdx.x", "threadIdx.x"])),
    lambda s, b, loops, r: s.unroll(r.choice(loops)),
    lambda s, b, loops, r: s.compute_inline(b),
    lambda s, b, loops, r: s.reverse_compute_inline(b),
    lambda s, b, loops, r: s.compute_at(b, _other_loop(s, r), preserve_unit_loops=r.random() < 0.5),
    lambda s, b, loops, r: s.reverse_compute_at(b, _other_loop(s, r), preserve_unit_loops=r.random() < 0.5),
    lambda s, b, loops, r: s.decompose_reduction(b, r.choice(loops)),
    lambda s, b, loops, r: s.rfactor(r.choice(loops), r.randint(0, 2)),
    lambda s, b, loops, r: s.cache_read(b, r.randint(0, 1), r.choice(["local", "global"])),
    lambda s, b, loops, r: s.cache_write(b, 0, "local"),
    _layout,
    lambda s, b, loops, r: s.blockize(r.choice(loops), preserve_unit_iters=r.random() < 0.5),
    lambda s, b, loops, r: s.add_unit_loop(r.choice([b, r.choice(loops)])),
    lambda s, b, loops, r: s.reindex(b, (r.choice(["read", "write"]), 0)),
    _indexed_copy,
    lambda s, b, loops, r: s.loop_partition(r.choice(loops), r.choice([[2, None], [1, 2, None]])),
    _padded,
    _axes_layout,
    _reordered_axes,
    lambda s, b, loops, r: s.decompose_padding(b, r.choice(loops)),
    lambda s, b, loops, r: s.storage_align(b, 0, r.choice([0, -2]), 8, 1),
    lambda s, b, loops, r: s.set_scope(b, 0, r.choice(["local", "shared"])),
    lambda s, b, loops, r: s.merge(loops[0], _other_loop(s, r)),
    lambda s, b, loops, r: s.read_at(r.choice(loops), b, 0, "local"),
    lambda s, b, loops, r: s.write_at(r.choice(loops), b, 0, "local"),
    lambda s, b, loops, r: s.annotate(r.choice(loops), "pragma_x", 1),
    lambda s, b, loops, r: s.sample_compute_location(b),
    lambda s, b, loops, r: s.rolling_buffer(b, 0),
    lambda s, b, loops, r: s.cache_index(b, "local", r.randint(0, 1)),
    lambda s, b, loops, r: s.cache_inplace(b, 0, r.choice(["local", "global"])),
)


def names(s: Schedule) -> list[str]:
    found = [n.name_hint for n in post_order(s.func.body) if isinstance(n, st.Block)]
    return [name for name in found if name not in ("", "root")]


MOST = 50_000
"""Instances of blocks: the oracle runs each. Stages computed anew in loops of others make millions of them."""


def instances(func: PrimFunc) -> int:
    """How often the blocks of a kernel run, axes of open size 10 times."""
    found: dict[Any, int] = {}
    for node in post_order(func.body):
        if isinstance(node, st.Stmt):
            inside = sum(found.get(c, 0) for c in children(node)) + isinstance(node, st.Block)
            times = getattr(node.extent, "value", 10) if isinstance(node, st.For) else 1
            found[node] = inside * times
    return found[func.body]


def carried(func: PrimFunc) -> list[str]:
    """Parallel and vectorised loops that run a reduction."""
    return [
        loop.loop_var.name
        for loop in post_order(func.body)
        if isinstance(loop, st.For) and loop.kind in (st.ForKind.PARALLEL, st.ForKind.VECTORIZED)
        for n in post_order(loop.body)
        if isinstance(n, st.BlockRealize)
        for axis, value in zip(n.block.iter_vars, n.iter_values)
        if axis.iter_type != "spatial" and any(v is loop.loop_var for v in post_order(value))
    ]


def check(seed: int, length: int, kernels: Sequence[Callable[[bool], Kernel]] = KERNELS) -> None:
    r = random.Random(seed)
    kernel, shapes = r.choice(kernels)(r.random() < 0.3)
    draws = np.random.default_rng(seed)
    arrays = [draws.random(shape, np.float32) * 2 - 1 for shape in shapes]
    expected, native = ([a.copy() for a in arrays] for _ in range(2))
    run_prim_func(kernel, expected)
    s = Schedule(kernel, seed=seed % 2**31)
    for _ in range(length * 4):
        before = s.func
        block = s.get_block(r.choice(names(s)))
        loops = s.get_loops(block)
        if not loops:
            continue
        try:
            r.choice(STEPS)(s, block, loops, r)
        except DiagnosticError:
            assert s.func is before, "it was refused, and yet the program is another"
            continue
        if s.func is before:
            continue
        if instances(s.func) > MOST:
            s = Schedule(before, seed=seed % 2**31)
            continue
        assert check_prim_func(s.func) == []
        assert carried(s.func) == []
        found = [a.copy() for a in arrays]
        run_prim_func(s.func, found)
        np.testing.assert_allclose(found[-1], expected[-1], rtol=1e-4, atol=1e-5, err_msg=s.func.script())
    text = s.func.script()
    back = from_source(text)
    assert structural_equal(back, s.func.with_fields(attrs=back.attrs)), text
    assert run_native(s.func, *native, checked=True) is None
    np.testing.assert_allclose(native[-1], expected[-1], rtol=1e-4, atol=1e-5, err_msg=text)


@pytest.mark.parametrize("seed", range(18))
def test_random_schedules(seed: int) -> None:
    check(seed, 4)


@pytest.mark.fuzz
def test_many_random_schedules() -> None:
    """Others in each run; the seed stands in the failure."""
    for seed in seeds_at_length(3000):
        try:
            check(seed, 8)
        except Exception as error:
            raise AssertionError(f"seed {seed}, of length 8") from error
