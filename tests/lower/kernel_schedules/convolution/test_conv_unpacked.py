"""Convolutions that read their input where it lies: against the operators' meaning, every access checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.unpacked import conv_unpacked
from baton._src.lower.kernel_schedules.shared.stages import Declined
from baton._src.ops.builders import RELAX as R
from baton._src.passes.pipelines import kernels
from baton._src.te.prim_func import PrimFunc
from baton._src.tir.expr import Var as TirVar
from tests.codegen.native_run import HOST, build, call
from tests.grids import every_value
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import program, tensor

THREADS, OLD = Target("llvm -num-cores=4"), Target("llvm -mcpu=x86-64")
Case = tuple[Any, tuple[int, ...], tuple[int, ...], dict[str, Any]]


def convolution_kernel(case: Case, *, batch: Any = None, dtype: str = "float32") -> tuple[Any, PrimFunc]:
    """A program of the convolution, bias and ReLU, and its one kernel."""
    op, data, kernel, attrs = case
    bias = tensor("b", kernel[0], *(1,) * (len(data) - 2), dtype=dtype)

    def convolved(bb: Any, x: Any, w: Any, b: Any) -> Any:
        return R.nn.relu(bb.emit(R.add(bb.emit(op(x, w, **attrs)), b)))

    x = tensor("x", data[0] if batch is None else batch, *data[1:], dtype=dtype)
    module = program([x, tensor("w", *kernel, dtype=dtype), bias], convolved)
    done = module
    for step in kernels():
        done = step(done)
    (func,) = [f for f in done.functions.values() if isinstance(f, PrimFunc)]
    return module, func


def check(case: Case, target: Target, **options: Any) -> None:
    module, func = convolution_kernel(case, **options)
    scheduled = conv_unpacked.apply(func, target)
    assert isinstance(scheduled, PrimFunc), scheduled
    _, data, kernel, _ = case
    rng = np.random.default_rng(0)
    shapes = (data, kernel, (kernel[0], *(1,) * (len(data) - 2)))
    arrays = [rng.uniform(-1, 1, s).astype(options.get("dtype", "float32")) for s in shapes]
    expected = evaluate(module, "main", *arrays)
    found = np.full_like(expected, np.nan)
    assert call(build(scheduled, target, checked=True), scheduled, *arrays, found) is None
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


CASES: list[Case] = [
    (R.nn.conv2d, (2, 5, 9, 21), (3, 5, 3, 3), {"padding": 1}),
    (R.nn.conv2d, (1, 7, 11, 19), (17, 7, 3, 5), {"padding": (0, 2, 1, 3)}),
    (R.nn.conv2d, (1, 4, 13, 40), (2, 4, 3, 3), {"padding": 4, "dilation": (2, 3)}),
    (R.nn.conv2d, (1, 8, 7, 7), (8, 4, 3, 3), {"padding": 1, "groups": 2}),
    (R.nn.conv2d, (2, 12, 14, 14), (30, 4, 3, 3), {"groups": 3}),
    (R.nn.conv2d, (1, 6, 10, 18), (6, 1, 5, 5), {"padding": 2, "groups": 6}),
    (R.nn.conv2d, (1, 3, 10, 18), (6, 1, 5, 5), {"padding": 2, "groups": 3}),
    (R.nn.conv2d, (1, 20, 9, 17), (5, 20, 1, 1), {}),
    (R.nn.conv2d, (1, 6, 4, 33), (14, 6, 4, 2), {}),
    (R.nn.conv1d, (2, 6, 83), (9, 2, 5), {"groups": 3, "padding": 2}),
    (R.nn.conv1d, (1, 5, 150), (5, 1, 31), {"groups": 5, "padding": (30, 0)}),
    (R.nn.conv3d, (1, 4, 4, 5, 18), (4, 2, 3, 3, 3), {"groups": 2, "padding": 1}),
    (R.nn.conv3d, (2, 3, 3, 7, 9), (13, 3, 2, 3, 3), {"padding": (1, 0, 1)}),
    (R.nn.conv2d, (1, 6, 11, 43), (6, 1, 5, 5), {"padding": 2, "groups": 6, "strides": 2}),
    (R.nn.conv2d, (1, 3, 13, 40), (6, 1, 4, 3), {"padding": (1, 0, 2, 1), "groups": 3, "strides": (3, 2)}),
    (R.nn.conv2d, (2, 8, 9, 47), (12, 2, 3, 3), {"groups": 4, "strides": (1, 3), "dilation": (2, 2), "padding": 1}),
    (R.nn.conv1d, (1, 5, 150), (5, 1, 31), {"groups": 5, "padding": (30, 0), "strides": 4}),
    (R.nn.conv2d, (1, 4, 12, 50), (3, 4, 2, 2), {"strides": 2}),
]
LONG: list[Case] = [
    (R.nn.conv1d, (2, 3, 90), (3, 1, 17), {"groups": 3, "padding": 8}),
    (R.nn.conv1d, (1, 2, 140), (2, 1, 32), {"groups": 2}),
    (R.nn.conv1d, (1, 2, 151), (2, 1, 70), {"groups": 2, "padding": 20}),
    (R.nn.conv1d, (1, 3, 100), (1, 3, 33), {"padding": 16}),
    (R.nn.conv2d, (1, 2, 5, 60), (2, 1, 2, 20), {"groups": 2, "padding": 3}),
]


@pytest.mark.parametrize("case", CASES)
def test_means_the_same(case: Case) -> None:
    """Borders, strides, dilation, groups, depthwise with and without multiplier, numbers of channels and points that
    divide into no tile, blocks of lines of different heights, 1 to 3 axes, with bias and ReLU.
    """
    check(case, HOST)


@pytest.mark.parametrize(("case", "target"), every_value(LONG, {"host": HOST, "sse": OLD}))
def test_long_windows(case: Case, target: Target) -> None:
    """Windows along the line longer than a vector, where taps a vector apart share loads: one tap more than a vector,
    whole vectors, more than share at a time, one output channel, several lines; vectors of every width.
    """
    check(case, target)


@pytest.mark.parametrize("case", [CASES[0], CASES[4], CASES[9]])
def test_threads(case: Case) -> None:
    check(case, THREADS)


def test_symbolic_batch() -> None:
    check(CASES[0], HOST, batch=TirVar("n", "int64"))


def test_float64() -> None:
    """Half as many lanes."""
    check(CASES[1], HOST, dtype="float64")


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ((R.nn.conv2d, (1, 4, 9, 99), (4, 4, 3, 5), {"strides": (1, 5)}), "long steps"),
        ((R.nn.conv2d, (1, 8, 20, 20), (8, 1, 3, 3), {"groups": 8, "padding": 1}), "few terms"),
        ((R.nn.conv2d, (1, 64, 3, 3), (8, 64, 3, 3), {"padding": 0}), "less than a vector of points"),
    ],
)
def test_left_to_others(case: Case, why: str) -> None:
    assert isinstance(conv_unpacked.apply(convolution_kernel(case)[1], HOST), Declined), why
