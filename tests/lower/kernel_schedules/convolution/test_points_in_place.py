"""Convolutions whose points see one pixel each are products of the weights and the input where it lies."""

from __future__ import annotations

import pytest

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.convolution import conv2d
from baton._src.lower.kernel_schedules.convolution.conv_costs import Plan
from baton._src.ops.builders import RELAX as R
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import For
from tests.codegen.native_run import HOST, build
from tests.lower.kernel_schedules.convolution.test_conv_unpacked import Case, convolution_kernel
from tests.lower.kernel_schedules.convolution.test_few_points import check

TARGETS = {"one": HOST, "threads": Target("llvm -num-cores=4"), "sse": Target("llvm -mcpu=x86-64")}
ONE_PIXEL: list[Case] = [
    (R.nn.conv2d, (1, 24, 7, 7), (40, 24, 1, 1), {}),
    (R.nn.conv2d, (2, 17, 5, 9), (13, 17, 1, 1), {}),
    (R.nn.conv2d, (1, 300, 10, 5), (64, 300, 1, 1), {}),
    (R.nn.conv2d, (1, 8, 1, 50), (3, 8, 1, 1), {}),
    (R.nn.conv2d, (1, 24, 5, 5), (40, 24, 1, 1), {"padding": 1}),  # of the input with its border
    (R.nn.conv1d, (1, 33, 100), (16, 33, 1), {}),
    (R.nn.conv3d, (1, 16, 3, 4, 5), (20, 16, 1, 1, 1), {}),
]
OTHERS: list[Case] = [
    (R.nn.conv2d, (1, 24, 15, 15), (40, 24, 1, 1), {"strides": 2}),
    (R.nn.conv2d, (1, 24, 7, 7), (40, 12, 1, 1), {"groups": 2}),
    (R.nn.conv2d, (1, 24, 7, 7), (40, 24, 1, 3), {}),
    (R.nn.conv2d, (1, 2048, 7, 7), (4096, 2048, 1, 1), {}),  # weights that no second-level cache holds
]


def made_for(case: Case, target: Target) -> PrimFunc:
    found = conv2d.plan(convolution_kernel(case)[1], target)
    assert isinstance(found, Plan), found
    return found.make()


def packs_lines(made: PrimFunc) -> bool:
    return any(isinstance(n, For) and n.loop_var.name == "line" for n in post_order(made.body))


@pytest.mark.parametrize("case", ONE_PIXEL)
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_means_the_same(case: Case, target: Target) -> None:
    """Guards batches, any number of axes, panels and last columns, with each access checked; and the mechanism: 512
    channels of 7x7 took 131 us and take 112.
    """
    made = made_for(case, target)
    assert not packs_lines(made)
    check(case, made, build(made, target, checked=True))


@pytest.mark.parametrize("case", OTHERS)
def test_others_are_packed(case: Case) -> None:
    """Guards points that see other pixels, and weights that would be read from afar twice."""
    assert packs_lines(made_for(case, HOST))
