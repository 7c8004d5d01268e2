"""Reductions over an axis that is empty at run time: their result is the identity, natively and interpreted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton import te, tir
from baton._src.ir.module import IRModule
from baton._src.lower.kernel_schedules.given_loops import with_compact_memory
from baton._src.tir import operators as ops
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
from baton.script import from_source
from tests.codegen.native_run import run_native

X = tir.transform


def sums() -> PrimFunc:
    n = te.var("n")
    a = te.placeholder((3, n), name="A")
    k = te.reduce_axis((0, n), "k")
    made: PrimFunc = te.create_prim_func([a, te.compute((3,), lambda i: te.sum(a[i, k], k), name="B")])
    return made


def _decomposed_after_split(s: Schedule) -> None:
    _, k = s.get_loops("B")
    outer, _ = s.split(k, [None, 4])
    s.decompose_reduction("B", outer)


SCHEDULES: dict[str, Callable[[Schedule], object]] = {
    "as it is": lambda s: None,
    "reduced outside": lambda s: s.reorder(*reversed(s.get_loops("B"))),
    "inner split": lambda s: s.split(s.get_loops("B")[1], [None, 4]),
    "outer split": lambda s: s.split(s.get_loops("B")[1], [4, None]),
    "outer split, reduced outside": lambda s: s.reorder(*s.split(s.get_loops("B")[1], [4, None]), s.get_loops("B")[0]),
    "decomposed": lambda s: s.decompose_reduction("B", s.get_loops("B")[1]),
    "decomposed after split": _decomposed_after_split,
}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("size", [0, 1, 5])
def test_empty_axes(name: str, size: int) -> None:
    """Guards results that stayed unwritten: the interpreter's, and native ones where the bound of a split axis stood
    around the initialisation."""
    s = Schedule(sums())
    SCHEDULES[name](s)
    a = np.random.default_rng(0).random((3, size), np.float32)
    for run in (lambda *arrays: run_prim_func(s.func, arrays), lambda *arrays: run_native(s.func, *arrays)):
        b = np.full(3, 7, np.float32)
        assert run(a, b) is None
        np.testing.assert_allclose(b, a.sum(1), rtol=1e-6)


def _split(s: Schedule, axis: int, *factors: Any) -> list[Any]:
    """The loops around block B, one of them split."""
    loops = s.get_loops("B")
    return [*loops[:axis], *s.split(loops[axis], factors), *loops[axis + 1 :]]


def _tiled(s: Schedule) -> None:
    outer, inner, k = _split(s, 0, None, 2)
    s.reorder(outer, k, inner)
    s.compute_at("P", k)


def _written_locally(s: Schedule) -> None:
    copy = s.cache_write("B", 0, "local")
    outer, inner, k = _split(s, 0, None, 2)
    s.reorder(outer, k, inner)
    s.compute_at("P", k)
    s.reverse_compute_at(copy, outer)


def _fused_in_tiles(s: Schedule) -> None:
    _, inner, k = _split(s, 0, None, 2)
    s.compute_at("P", s.fuse(inner, k))


def _padded(s: Schedule) -> None:
    """A loop of 4 whatever the size: a condition has it do nothing."""
    _, outer, _ = _split(s, 1, 4, None)
    s.compute_at("P", outer)


SHARED: dict[str, Callable[[Schedule], object]] = {
    "with a producer": lambda s: s.compute_at("P", s.get_loops("B")[1]),
    "with a producer of each part": lambda s: s.compute_at("P", _split(s, 1, None, 4)[1]),
    "with a producer of each part, padded": _padded,
    "in tiles": _tiled,
    "into local memory": _written_locally,
    "fused": lambda s: s.fuse(*s.get_loops("B")),
    "fused the other way": lambda s: (s.reorder(*s.get_loops("B")[::-1]), s.fuse(*s.get_loops("B"))),
    "fused and split": lambda s: s.split(s.fuse(*s.get_loops("B")), [None, 4]),
    "fused in tiles": _fused_in_tiles,
}


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0), (5, 7)], ids=str)
def test_empty_axes_whose_loops_are_shared(name: str, shape: tuple[int, int]) -> None:
    """Guards results that stayed unwritten where another block, or another axis, has the loop of the reduction."""
    m, n = te.var("m"), te.var("n")
    a, k = te.placeholder((m, n), name="A"), te.reduce_axis((0, n), "k")
    p = te.compute((m, n), lambda i, j: a[i, j] * 2.0, name="P")
    b = te.compute((m,), lambda i: te.sum(p[i, k], k), name="B")
    s = Schedule(te.create_prim_func([a, te.compute((m,), lambda i: b[i] + 1.0, name="C")]))
    SHARED[name](s)
    given = np.random.default_rng(0).random(shape, np.float32)
    for func in (s.func, with_compact_memory(s.func)):
        for run in (lambda *arrays, f=func: run_prim_func(f, arrays), lambda *arrays, f=func: run_native(f, *arrays)):
            c = np.full(shape[0], 7, np.float32)
            assert run(given, c) is None
            np.testing.assert_allclose(c, given.sum(1) * 2 + 1, rtol=1e-6)


def test_reductions_of_nested_blocks() -> None:
    """Guards the init of a block within another that has a part of the reduction: it ran at the start of each part."""
    func = from_source("""
from baton.script import tir as T

@T.prim_func
def main(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4,), "float32")):
    for i, ko in T.grid(4, 4):
        with T.block("outer"):
            vi, vko = T.axis.remap("SR", [i, ko])
            for k1 in range(4):
                with T.block("inner"):
                    vk = T.axis.reduce(16, vko * 4 + k1)
                    with T.init():
                        C[vi] = T.float32(0)
                    C[vi] = C[vi] + A[vi, vk]
""")
    a = np.random.default_rng(0).random((4, 16), np.float32)
    for made in (func, with_compact_memory(func)):
        c = np.full(4, 7, np.float32)
        assert run_native(made, a, c) is None
        np.testing.assert_allclose(c, a.sum(1), rtol=1e-6)


@pytest.mark.parametrize("made", [X.Simplify(), X.RemoveNoOp()])
def test_passes_keep_what_begins_an_empty_reduction(made: Any) -> None:
    """Guards the init in a loop of no iterations, which went with the loop."""
    a, k = te.placeholder((3, 0), name="A"), te.reduce_axis((0, 0), "k")
    func = te.create_prim_func([a, te.compute((3,), lambda i: te.sum(a[i, k], k), name="B")])
    b = np.full(3, 7, np.float32)
    run_native(made(IRModule({"main": func}))["main"], np.zeros((3, 0), np.float32), b)
    np.testing.assert_array_equal(b, 0)


def test_conjuncts() -> None:
    """In order, without those that are true."""
    a, b, c = (te.var(name, "bool") for name in "abc")
    both: Any = ops.logical_and(ops.logical_and(a, b), c)
    assert ops.conjuncts(both) == [a, b, c]
    assert ops.conjuncts(ops.convert(True)) == []
