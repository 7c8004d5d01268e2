"""Reductions of everything to a few numbers, in parts that threads take: against NumPy, accesses checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.kernel_schedules.shared.loops import constant
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir import operators as ops
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import For, ForKind
from tests.codegen.native_run import build, call, random_array

TARGETS = [Target("llvm -num-cores=2"), Target("llvm -num-cores=16"), Target("llvm -mcpu=haswell -num-cores=3")]
ROWS, COLUMNS = 96, 1500


def loops(func: PrimFunc) -> int:
    """Of those that threads share, how many have several iterations."""
    found = (n for n in post_order(func.body) if isinstance(n, For) and n.kind is ForKind.PARALLEL)
    return sum(constant(n.extent) != 1 for n in found)


def reduced(combine: Any, value: Any, shape: tuple[int, ...]) -> PrimFunc:
    """`combine` of all values of a matrix, with one more number added."""
    a = placeholder(shape, "float32", "a")
    r, k = reduce_axis((0, shape[0]), "r"), reduce_axis((0, shape[1]), "k")
    s = compute((1,), lambda i: combine(value(a[r, k]), [r, k]), "s")
    return create_prim_func([a, compute((1,), lambda i: s[i] + 1.0, "t")])


@pytest.mark.parametrize("target", TARGETS, ids=["two", "many", "three"])
@pytest.mark.parametrize("kind", ["sum", "max", "min", "of squares"])
def test_one_number(kind: str, target: Target) -> None:
    """Guards where parts begin and end, and what each of them begins with."""
    combine, wanted = {
        "sum": (reduction.sum, lambda x: x.sum(dtype="float64")),
        "max": (reduction.max, np.max),
        "min": (reduction.min, np.min),
        "of squares": (reduction.sum, lambda x: (x.astype("float64") ** 2).sum()),
    }[kind]
    func = reduced(combine, (lambda x: x * x) if kind == "of squares" else (lambda x: x), (ROWS, COLUMNS))
    decision = decide(func, target)
    assert (decision.rule, loops(decision.func)) == ("rows", 1)
    x, out = random_array((ROWS, COLUMNS), "float32", 1), np.zeros(1, "float32")
    assert call(build(decision.func, target, checked=True), decision.func, x, out) is None
    np.testing.assert_allclose(out[0], wanted(x) + 1, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("shape", [(1, 5), (7, 64), (1, 131101)])
def test_left_whole(shape: tuple[int, int]) -> None:
    """Guards short reductions, and those that no number of parts divides."""
    func = decide(reduced(reduction.sum, lambda x: ops.max(x, 0.0), shape), TARGETS[0]).func
    assert loops(func) == 0
    x, out = random_array(shape, "float32", 1), np.zeros(1, "float32")
    assert call(build(func, TARGETS[0], checked=True), func, x, out) is None
    np.testing.assert_allclose(out[0], np.maximum(x, 0).sum(dtype="float64") + 1, rtol=1e-4)
