"""Depthwise convolutions over lines: against the operators' meaning, with every access checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.jit import Machine, assembly
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.lines import depthwise_lines
from baton._src.lower.kernel_schedules.shared.stages import Declined
from baton._src.ops.builders import RELAX as R
from baton._src.tir.expr import Var as TirVar
from tests.codegen.native_run import HOST, build, call
from tests.lower.kernel_schedules.convolution.test_conv_unpacked import Case, convolution_kernel
from tests.lower.kernel_schedules.spills import SPILL, WIDE
from tests.passes.relax.evaluate import evaluate

OLD, MIDDLE, THREADS = Target("llvm -mcpu=x86-64"), Target("llvm -mcpu=x86-64-v3"), Target("llvm -num-cores=4")


def check(case: Case, target: Target, **options: Any) -> None:
    """Run what the rule makes against the meaning of the operators."""
    module, func = convolution_kernel(case, **options)
    scheduled = depthwise_lines.apply(func, target)
    assert not isinstance(scheduled, Declined), scheduled.reason
    _, data, kernel, _ = case
    rng = np.random.default_rng(0)
    shapes = (data, kernel, (kernel[0], *(1,) * (len(data) - 2)))
    arrays = [rng.uniform(-1, 1, s).astype(options.get("dtype", "float32")) for s in shapes]
    expected = evaluate(module, "main", *arrays)
    found = np.full_like(expected, np.nan)
    assert call(build(scheduled, target, checked=True), scheduled, *arrays, found) is None
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


CASES: list[Case] = [
    # Maps lower than a tile, with half vectors; several tiles with and without lines outside.
    (R.nn.conv2d, (2, 5, 7, 7), (5, 1, 7, 7), {"padding": 3, "groups": 5}),
    (R.nn.conv2d, (1, 3, 30, 28), (3, 1, 5, 5), {"padding": 2, "groups": 3}),
    (R.nn.conv2d, (1, 2, 9, 56), (2, 1, 7, 7), {"padding": 3, "groups": 2}),
    (R.nn.conv2d, (1, 2, 12, 20), (2, 1, 3, 3), {"groups": 2}),
    # Strides: phases that no tap sees, lines that no tap sees, of both axes.
    (R.nn.conv2d, (1, 3, 28, 28), (3, 1, 5, 5), {"padding": 2, "groups": 3, "strides": 2}),
    (R.nn.conv2d, (1, 2, 17, 61), (2, 1, 3, 3), {"padding": 1, "groups": 2, "strides": (3, 2)}),
    (R.nn.conv2d, (1, 2, 9, 70), (2, 1, 3, 2), {"groups": 2, "strides": (1, 4)}),
    # Dilation, more border on one side than the window reaches, windows of one axis only wide.
    (R.nn.conv2d, (1, 2, 15, 23), (2, 1, 3, 3), {"padding": 4, "groups": 2, "dilation": (2, 3)}),
    (R.nn.conv2d, (1, 2, 6, 18), (2, 1, 5, 3), {"padding": (0, 5, 9, 1), "groups": 2}),
    (
        R.nn.conv2d,
        (1, 2, 5, 33),
        (2, 1, 2, 11),
        {"padding": (0, 5), "groups": 2, "dilation": (2, 1), "strides": (2, 1)},
    ),
    # Bands of lines, and more columns than a piece has; two results a channel; an axis more.
    (R.nn.conv2d, (1, 1, 40, 300), (1, 1, 3, 3), {"padding": 1}),
    (R.nn.conv2d, (1, 3, 8, 9), (6, 1, 5, 5), {"padding": 2, "groups": 3}),
    # More taps than registers.
    (R.nn.conv2d, (1, 2, 14, 14), (2, 1, 13, 13), {"padding": 6, "groups": 2}),
    (R.nn.conv2d, (1, 2, 9, 20), (2, 1, 37, 3), {"padding": (18, 1), "groups": 2}),
]


@pytest.mark.parametrize("case", CASES)
def test_means_the_same(case: Case) -> None:
    check(case, HOST)


@pytest.mark.parametrize("target", [OLD, MIDDLE, THREADS], ids=["sse", "avx2", "threads"])
def test_other_processors(target: Target) -> None:
    """Guards narrower vectors and fewer registers, and bands shared between threads."""
    for case in (CASES[1], CASES[5]):
        check(case, target)


def test_symbolic_batch() -> None:
    check(CASES[0], HOST, batch=TirVar("n", "int64"))


def test_float64() -> None:
    """Half as many lanes."""
    check(CASES[4], HOST, dtype="float64")


@pytest.mark.parametrize(
    ("case", "why"),
    [
        ((R.nn.conv2d, (1, 4, 9, 40), (4, 4, 3, 3), {}), "dense"),
        ((R.nn.conv2d, (1, 1, 9, 40), (8, 1, 3, 3), {}), "many results of one channel"),
        ((R.nn.conv2d, (1, 4, 70, 40), (4, 1, 65, 3), {"groups": 4}), "many taps"),
        ((R.nn.conv1d, (1, 4, 40), (4, 1, 13), {"groups": 4}), "one line"),
    ],
)
def test_left_to_others(case: Case, why: str) -> None:
    assert isinstance(depthwise_lines.apply(convolution_kernel(case)[1], HOST), Declined), why


@pytest.mark.parametrize(
    ("case", "target"), [(CASES[0], WIDE), (CASES[1], WIDE), (CASES[4], WIDE), (CASES[0], MIDDLE), (CASES[4], MIDDLE)]
)
def test_sums_stay_in_registers(case: Case, target: Target) -> None:
    """Guards the tiles: sums and a column of weights."""
    scheduled = depthwise_lines.apply(convolution_kernel(case)[1], target)
    assert not isinstance(scheduled, Declined)
    texts, _ = module_texts({"f": scheduled}, target)
    assert SPILL.findall(assembly(texts["f"], Machine.of(target))) == []
