"""Convolutions of few output points as dot products: every access checked, known and unknown numbers of points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.convolution import conv2d
from baton._src.lower.kernel_schedules.convolution.conv_costs import Plan
from baton._src.ops.builders import RELAX as R
from baton._src.tir.expr import Var as TirVar
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import Allocate
from tests.codegen.native_run import HOST, build, call
from tests.lower.kernel_schedules.convolution.test_conv_unpacked import Case, convolution_kernel
from tests.passes.relax.evaluate import evaluate

THREADS, OLD = Target("llvm -num-cores=4"), Target("llvm -mcpu=x86-64")
KNOWN: list[Case] = [
    (R.nn.conv1d, (1, 16, 4), (9, 16, 3), {"padding": 1}),
    (R.nn.conv1d, (2, 1, 640), (18, 1, 256), {"strides": 128}),
    (R.nn.conv2d, (1, 64, 3, 3), (8, 64, 3, 3), {"padding": 0}),
    (R.nn.conv2d, (2, 24, 3, 3), (11, 24, 3, 3), {"padding": 1}),
    (R.nn.conv2d, (1, 64, 2, 3), (5, 64, 1, 1), {}),
    (R.nn.conv2d, (1, 32, 6, 6), (7, 32, 3, 3), {"strides": 2, "padding": 1, "dilation": 2}),
    (R.nn.conv2d, (1, 64, 2, 2), (8, 32, 2, 2), {"groups": 2}),
]
SEEN = "seen"


def scheduled(func: PrimFunc, target: Target) -> PrimFunc:
    """The kernel, if its points are few enough or may be."""
    found = conv2d.plan(func, target)
    assert isinstance(found, Plan), found
    made = found.make()
    assert any(isinstance(n, Allocate) and n.buffer_var.name == SEEN for n in post_order(made.body))
    return made


def check(case: Case, made: PrimFunc, library: Any, seed: int = 0) -> None:
    """A kernel against the operators' meaning."""
    module, _ = convolution_kernel(case)
    _, data, kernel, _ = case
    rng = np.random.default_rng(seed)
    shapes = (data, kernel, (kernel[0], *(1,) * (len(data) - 2)))
    arrays = [rng.uniform(-1, 1, s).astype("float32") for s in shapes]
    expected = evaluate(module, "main", *arrays)
    found = np.full_like(expected, np.nan)
    assert call(library, made, *arrays, found) is None
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def check_alone(case: Case, target: Target) -> None:
    """The kernel of known sizes."""
    made = scheduled(convolution_kernel(case)[1], target)
    check(case, made, build(made, target, checked=True))


@pytest.mark.parametrize("case", KNOWN)
def test_means_the_same(case: Case) -> None:
    """Borders, strides, dilation, several images, groups, 1 to 9 points, channels that divide into no tile."""
    check_alone(case, HOST)


@pytest.mark.parametrize("target", [THREADS, OLD])
def test_targets(target: Target) -> None:
    check_alone((R.nn.conv1d, (1, 32, 4), (64, 32, 4), {"padding": 1}), target)


def test_unknown_number() -> None:
    """Guards that one kernel serves all sizes: tiles of 1, 2, 4 and 8 points with and without points beyond the last
    one, two tiles, and panels from one point more on.
    """
    sizes: tuple[Any, ...] = (1, 12, TirVar("n", "int64"))
    made = scheduled(convolution_kernel((R.nn.conv1d, sizes, (9, 12, 3), {"padding": 1}))[1], HOST)
    library = build(made, HOST, checked=True)
    for length in (1, 2, 3, 5, 8, 9, 16, 17, 50):
        check((R.nn.conv1d, (1, 12, length), (9, 12, 3), {"padding": 1}), made, library, seed=length)


def test_left_to_panels() -> None:
    """Guards the choice: points that fill a vector, sums that are too short for one."""
    for case in (
        (R.nn.conv1d, (1, 64, 30), (64, 64, 3), {"padding": 1}),
        (R.nn.conv2d, (1, 1, 4, 4), (64, 1, 2, 2), {}),
    ):
        found = conv2d.plan(convolution_kernel(case)[1], HOST)
        assert isinstance(found, Plan)
        assert not any(isinstance(n, Allocate) and n.buffer_var.name == SEEN for n in post_order(found.make().body))
