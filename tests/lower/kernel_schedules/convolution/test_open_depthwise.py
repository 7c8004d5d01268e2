"""Depthwise convolutions over maps of open sizes, from a copy with the border: one kernel for many sizes, against the
operators' meaning, with every access checked. Guards that the border is not asked for at each tap (a convolution of 31
taps over 300 points took three times as long).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution import open_depthwise
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.kernel_schedules.shared.stages import Declined
from baton._src.ops.builders import RELAX as R
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc
from tests.codegen.native_run import HOST, build, call
from tests.lower.kernel_schedules.only_kernel import only_kernel
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import program, tensor

THREADS = Target("llvm -num-cores=4")
CASES: list[tuple[Any, tuple[int, ...], dict[str, Any], list[tuple[int, ...]]]] = [
    (R.nn.conv1d, (6, 1, 31), {"padding": 15, "groups": 6}, [(1,), (16,), (50,)]),
    (R.nn.conv1d, (3, 1, 4), {"padding": (3, 0), "groups": 3}, [(2,), (33,)]),
    (R.nn.conv2d, (5, 1, 3, 3), {"padding": 1, "groups": 5}, [(1, 1), (7, 20)]),
    (R.nn.conv2d, (6, 1, 3, 5), {"padding": (1, 4), "groups": 3, "strides": 2, "dilation": (1, 2)}, [(5, 6), (8, 40)]),
    (R.nn.conv3d, (2, 1, 3, 3, 3), {"padding": 1, "groups": 2}, [(2, 3, 4)]),
]


def _kernel(op: Any, weight: tuple[int, ...], attrs: dict[str, Any], sizes: list[Any]) -> tuple[IRModule, PrimFunc]:
    bias = tensor("b", weight[0], *(1,) * len(sizes))

    def convolved(bb: Any, x: Any, w: Any, b: Any) -> Any:
        return R.nn.relu(bb.emit(R.add(bb.emit(op(x, w, **attrs)), b)))

    shape = (1, weight[1] * attrs.get("groups", 1), *sizes)
    module = program([tensor("x", *shape), tensor("w", *weight), bias], convolved)
    return module, only_kernel(module)


def _open(count: int) -> list[Any]:
    return [TirVar(f"d{n}", "int64") for n in range(count)]


@pytest.mark.parametrize("target", [HOST, THREADS], ids=["one", "threads"])
@pytest.mark.parametrize(("op", "weight", "attrs", "every"), CASES)
def test_any_size(
    op: Any, weight: tuple[int, ...], attrs: dict[str, Any], every: list[tuple[int, ...]], target: Target
) -> None:
    module, func = _kernel(op, weight, attrs, _open(len(every[0])))
    decision = decide(func, target)
    assert decision.rule == "open_depthwise", decision.declined
    library, rng = build(decision.func, target, checked=True), np.random.default_rng(0)
    for sizes in every:
        shapes = ((1, attrs["groups"], *sizes), weight, (weight[0], *(1,) * len(sizes)))
        arrays = [rng.uniform(-1, 1, s).astype("float32") for s in shapes]
        expected = evaluate(module, "main", *arrays)
        found = np.full_like(expected, np.nan)
        assert call(library, decision.func, *arrays, found) is None
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("weight", "attrs", "sizes", "why"),
    [
        ((4, 1, 3), {"padding": 1, "groups": 4}, [20], "known sizes"),
        ((4, 1, 3), {"groups": 4}, _open(1), "no border"),
        ((4, 2, 3), {"padding": 1, "groups": 2}, _open(1), "several channels in a group"),
        ((4, 3, 3), {"padding": 1}, _open(1), "dense"),
    ],
)
def test_left_to_others(weight: tuple[int, ...], attrs: dict[str, Any], sizes: list[Any], why: str) -> None:
    assert isinstance(open_depthwise.plan(_kernel(R.nn.conv1d, weight, attrs, sizes)[1], HOST), Declined), why


def test_a_sum_of_squares_is_left_to_others() -> None:
    """It has no axis of points to look at: R.std of open sizes was an IndexError."""
    module = program([tensor("x", *_open(1), 3)], lambda b, x: R.sum(b.emit(R.multiply(x, x))))
    func = only_kernel(module)
    assert isinstance(open_depthwise.plan(func, HOST), Declined)
