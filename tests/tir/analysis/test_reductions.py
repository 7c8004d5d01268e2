"""Reductions over an axis that is empty at run time: their result is the identity, natively and interpreted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton import te, tir
from baton._src.ir.module import IRModule
from baton._src.tir import operators as ops
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule
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
