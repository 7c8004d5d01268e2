"""No kernel computes on lanes of its work memory that nobody wrote: their old content may be numbers that are slow."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.convolution.conv_choice import WAYS
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.kernel_schedules.shared.stages import Declined
from baton._src.tir.prim_func import PrimFunc
from baton._src.values.dtype import DataType
from baton.script import from_source
from bench.kernels.cases import HALVES, Case, attention, blocked_convolution, layer, matmul, narrow_matmul, packed
from tests.codegen.native_run import build
from tests.codegen.subnormal_memory import computes_on_subnormals, x86
from tests.grids import every_value
from tests.lower.kernel_schedules.convolution import test_depthwise_lines, test_line_phases

pytestmark = x86
ONE, MIDDLE = Target("llvm -num-cores=1"), Target("llvm -mcpu=x86-64-v3 -num-cores=1")


def subnormal_operands(func: PrimFunc, shapes: Any, dtypes: Any, target: Target) -> bool:
    """Whether the kernel computes on such numbers, given arguments between 0.5 and 1.5."""
    rng, library = np.random.default_rng(0), build(func, target)
    arrays = [(rng.random(s, np.float32) + 0.5).astype(DataType(d).numpy) for s, d in zip(shapes, dtypes, strict=True)]
    entry = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))(library.address("f"))
    return computes_on_subnormals(partial(entry, *(a.ctypes.data for a in arrays)))


def ways(func: PrimFunc, target: Target) -> Iterator[tuple[str, PrimFunc]]:
    """The kernel as the rules schedule it, and as a convolution in every other way that applies."""
    decision = decide(func, target)
    yield decision.rule, decision.func
    for name, planner in WAYS:
        plan = planner(func, target)
        if name != decision.rule and not isinstance(plan, Declined):
            yield name, plan.make()


ODD: list[Case] = [
    layer("conv1d", (2, 5, 77), (7, 5, 3), padding=1),
    layer("conv1d, many taps", (1, 9, 150), (9, 1, 31), padding=15, groups=9),
    layer("conv2d", (1, 17, 23, 29), (19, 17, 3, 3), padding=1),
    layer("conv2d/2", (2, 6, 30, 27), (11, 6, 5, 3), padding=(2, 1), strides=2),
    layer("dilated", (1, 4, 25, 33), (6, 4, 3, 3), padding=2, dilation=2),
    layer("groups", (1, 15, 14, 14), (12, 5, 3, 3), padding=1, groups=3),
    layer("depthwise", (1, 6, 28, 28), (6, 1, 5, 5), padding=2, groups=6),
    layer("conv3d", (1, 3, 5, 9, 14), (5, 3, 3, 3, 3), padding=1),
    layer("transposed", (1, 7, 9, 11), (7, 5, 4, 4), strides=2, padding=1),
    layer("winograd", (1, 40, 30, 30), (40, 40, 3, 3), padding=1),
    blocked_convolution(16, 13, 32, 3),
    blocked_convolution(32, 14, 16, 1, stride=2),
    blocked_convolution(0, 13, 32, 5),
    matmul(13, 37, 51),
    matmul(5, 70, 33, transposed=True),
    packed(9, 37, 51),
    narrow_matmul(7, 19, 21, HALVES),
    attention(77, 2, 20),
]


@pytest.mark.parametrize(
    ("case", "target"), every_value({case.name: case for case in ODD}, {"host": ONE, "avx2": MIDDLE})
)
def test_kernels_of_odd_sizes(case: Case, target: Target) -> None:
    """Guards the lanes behind the last element, in every schedule that applies."""
    dtypes = case.dtypes or ("float32",) * len(case.shapes)
    every = ways(case.func, target)
    assert [name for name, func in every if subnormal_operands(func, case.shapes, dtypes, target)] == []


@pytest.mark.parametrize("sizes", [*test_depthwise_lines.CASES, *test_line_phases.LINES], ids=lambda s: str(s[1:]))
def test_packed_lines(sizes: Any) -> None:
    """Guards the ends of lines packed on the stack, which made convolutions fifty times slower whenever that memory
    held subnormal numbers.
    """
    _, data, kernel, attrs = sizes
    case = layer("lines", data, kernel, **attrs)
    for name, planner in WAYS[:2]:
        plan = planner(case.func, ONE)
        if not isinstance(plan, Declined):
            assert not subnormal_operands(plan.make(), case.shapes, ("float32",) * 3, ONE), name


READS = """
@T.prim_func
def f(x: T.Buffer((16,), "float32"), y: T.Buffer((16,), "float32")):
    T.func_attr({"tir.is_scheduled": True})
    held = T.alloc_buffer((SIZE,), "float32")
    for k in range(8):
        held[k] = x[k]
    for k in range(8):
        y[k] = held[k + AT] * T.float32(2)
"""


@pytest.mark.parametrize("size", [16, 1 << 16], ids=["stack", "workspace"])
@pytest.mark.parametrize("at", [0, 8])
def test_reads_of_unwritten_elements_are_seen(size: int, at: int) -> None:
    """Guards what the tests above rely on."""
    source = READS.replace("SIZE", str(size)).replace("AT", f"T.Cast('int32', x[8]) * {at}")
    func = from_source(source)
    x, y = np.ones(16, np.float32), np.ones(16, np.float32)
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)((library := build(func, ONE)).address("f"))
    assert computes_on_subnormals(lambda: entry(x.ctypes.data, y.ctypes.data)) is (at > 0), library
