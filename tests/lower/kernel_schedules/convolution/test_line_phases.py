"""Convolutions that take lines apart into phases: against the operators' meaning, with every access checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.jit import Machine, assembly
from baton._src.codegen.llvm.module import module_texts
from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.convolution.lines import line_phases
from baton._src.lower.kernel_schedules.shared.loops import constant
from baton._src.lower.kernel_schedules.shared.stages import Declined
from baton._src.ops.builders import RELAX as R
from baton._src.te.prim_func import PrimFunc
from baton._src.tir.expr import Var
from baton._src.tir.stmt import For, ForKind
from tests.codegen.native_run import HOST, build, call
from tests.lower.kernel_schedules.only_kernel import only_kernel
from tests.lower.kernel_schedules.spills import SPILL, WIDE
from tests.passes.relax.evaluate import evaluate
from tests.passes.relax.programs import program, tensor

OLD, MIDDLE, THREADS = Target("llvm -mcpu=x86-64"), Target("llvm -mcpu=x86-64-v3"), Target("llvm -num-cores=4")
Case = tuple[Any, tuple[int, ...], tuple[int, ...], dict[str, Any]]

LINES: list[Case] = [
    # One piece, both borders; stride 1, 2, 3, 4 (phases that no tap sees, overlapping last blocks).
    (R.nn.conv2d, (1, 3, 9, 64), (8, 3, 3, 3), {"strides": 2, "padding": 1}),
    (R.nn.conv2d, (2, 2, 6, 48), (5, 2, 3, 3), {"padding": (0, 2, 1, 0)}),
    (R.nn.conv2d, (1, 3, 8, 96), (4, 3, 3, 2), {"strides": (2, 3)}),
    (R.nn.conv2d, (1, 1, 9, 128), (7, 1, 4, 4), {"strides": 4}),
    (R.nn.conv2d, (1, 2, 5, 129), (4, 2, 3, 2), {"strides": (1, 4), "padding": (1, 3, 1, 2)}),
    # Several pieces: left, a few alike between, right; the last one short, down to a single point.
    (R.nn.conv2d, (1, 2, 3, 400), (3, 2, 3, 3), {"padding": 1}),
    (R.nn.conv2d, (1, 1, 3, 289), (2, 1, 1, 5), {"padding": (0, 2, 0, 2)}),
    (R.nn.conv2d, (1, 2, 4, 650), (3, 2, 2, 5), {"strides": 2, "padding": 2}),
    # Dilation, more border than window, lines that no tap sees.
    (R.nn.conv2d, (1, 3, 7, 70), (4, 3, 2, 3), {"dilation": 3, "strides": 2, "padding": 4}),
    (R.nn.conv2d, (1, 1, 3, 40), (2, 1, 2, 2), {"padding": 25}),
    # Lines shorter than the vectors that take them apart.
    (R.nn.conv2d, (1, 2, 5, 9), (5, 2, 3, 3), {"padding": 1}),
    (R.nn.conv2d, (1, 2, 6, 21), (4, 2, 3, 5), {"strides": 2, "padding": 2}),
    # Other numbers of axes.
    (R.nn.conv1d, (2, 3, 200), (6, 3, 5), {"strides": 2, "padding": 2}),
    (R.nn.conv3d, (1, 2, 3, 4, 60), (3, 2, 2, 2, 3), {"padding": 1}),
]


def kernel_of(case: Case, batch: Any = None) -> tuple[Any, PrimFunc]:
    """A convolution with bias and ReLU, and its kernel; `batch` instead of the batch's size."""
    op, data, kernel, attrs = case
    wide = (kernel[0], *(1,) * (len(data) - 2))

    def convolved(bb: Any, x: Any, w: Any, b: Any) -> Any:
        return R.nn.relu(bb.emit(R.add(bb.emit(op(x, w, **attrs)), b)))

    shape = data if batch is None else (batch, *data[1:])
    module = program([tensor("x", *shape), tensor("w", *kernel), tensor("b", *wide)], convolved)
    return module, only_kernel(module)


def check(case: Case, target: Target, batch: Any = None) -> None:
    """Run what the rule makes against the meaning of the operators."""
    module, func = kernel_of(case, batch)
    scheduled = line_phases.apply(func, target)
    assert not isinstance(scheduled, Declined), scheduled.reason
    rng = np.random.default_rng(0)
    shapes = (case[1], case[2], (case[2][0], *(1,) * (len(case[1]) - 2)))
    arrays = [rng.uniform(-1, 1, s).astype("float32") for s in shapes]
    expected = evaluate(module, "main", *arrays)
    found = np.full_like(expected, np.nan)
    assert call(build(scheduled, target, checked=True), scheduled, *arrays, found) is None
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", LINES)
def test_lines(case: Case) -> None:
    """Guards phases, pieces and borders."""
    check(case, HOST)


@pytest.mark.parametrize("target", [OLD, MIDDLE, THREADS], ids=["sse", "avx2", "threads"])
def test_other_processors(target: Target) -> None:
    """Guards narrower vectors and fewer registers, and lines shared between threads."""
    for case in (LINES[0], LINES[7]):
        check(case, target)


@pytest.mark.parametrize("channels", [3, 13, 130])
def test_channels_are_shared_where_lines_are_few(channels: int) -> None:
    """Guards channels that neither tiles nor threads share evenly."""
    check((R.nn.conv1d, (1, 6, 100), (channels, 6, 3), {"padding": 2, "dilation": 2}), THREADS)


def test_one_line_keeps_all_threads_busy() -> None:
    scheduled = line_phases.apply(kernel_of((R.nn.conv1d, (1, 64, 400), (128, 64, 3), {"padding": 1}))[1], THREADS)
    assert not isinstance(scheduled, Declined), scheduled.reason
    loops = [n for n in post_order(scheduled.body) if isinstance(n, For) and n.kind is ForKind.PARALLEL]
    assert [constant(loop.extent) for loop in loops] == [THREADS.num_cores]


def test_symbolic_batch() -> None:
    check(LINES[0], HOST, Var("n", "int64"))


@pytest.mark.parametrize(
    ("data", "kernel", "attrs", "why"),
    [
        ((1, 3, 9, 64), (8, 3, 1, 1), {"strides": 2}, "share nothing"),
        ((1, 3, 16, 128), (8, 3, 5, 5), {"strides": 5}, "too many"),
        ((1, 2000, 4, 66), (8, 2000, 3, 3), {}, "too many channels"),
    ],
)
def test_left_to_others(data: Any, kernel: Any, attrs: dict[str, Any], why: str) -> None:
    """Guards that what lines cannot share is left to others, and that the reason is told."""
    _, func = kernel_of((R.nn.conv2d, data, kernel, attrs))
    found = line_phases.apply(func, WIDE)
    assert isinstance(found, Declined)
    assert why in found.reason


@pytest.mark.parametrize("target", [WIDE, MIDDLE], ids=["avx512", "avx2"])
@pytest.mark.parametrize("stride", [1, 2])
def test_sums_stay_in_registers(stride: int, target: Target) -> None:
    """Guards the tiles: 32 channels over seven vectors, or over fourteen half as wide."""
    case = (R.nn.conv2d, (1, 3, 20, 112 * stride), (32, 3, 3, 3), {"strides": stride, "padding": 1})
    _, func = kernel_of(case)
    scheduled = line_phases.apply(func, target)
    assert not isinstance(scheduled, Declined)
    texts, _ = module_texts({"f": scheduled}, target)
    assert SPILL.findall(assembly(texts["f"], Machine.of(target))) == []
