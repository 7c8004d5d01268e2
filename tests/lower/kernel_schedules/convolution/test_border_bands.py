"""Convolutions whose input is copied by bands of lines, and whose channels are added in parts: every access checked."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.convolution.conv_costs import Plan
from baton._src.lower.kernel_schedules.convolution.unpacked import border_bands, conv_unpacked
from baton._src.lower.kernel_schedules.convolution.unpacked import choice as unpacked_choice
from baton._src.ops.builders import RELAX as R
from baton._src.tir.index_dtype import with_index_dtype
from baton._src.tir.stmt import Allocate, For, ForKind
from baton._src.values.dtype import INT64
from tests.codegen.native_run import HOST
from tests.lower.kernel_schedules.convolution.test_conv_unpacked import Case, check, convolution_kernel

BANDS: list[Case] = [
    (R.nn.conv2d, (1, 5, 60, 21), (3, 5, 3, 3), {"padding": 1}),
    (R.nn.conv2d, (1, 3, 75, 43), (6, 1, 4, 3), {"padding": (1, 0, 2, 1), "groups": 3, "strides": (2, 2)}),
    (R.nn.conv2d, (2, 2, 63, 20), (2, 2, 3, 3), {"padding": (0, 2), "dilation": (2, 1)}),
]
PARTS: list[Case] = [
    (R.nn.conv2d, (1, 7, 11, 19), (3, 7, 3, 5), {"padding": (0, 2, 1, 3)}),
    (R.nn.conv2d, (1, 10, 12, 90), (3, 10, 3, 3), {"strides": 2}),
]
SHARED: list[Case] = [
    (R.nn.conv2d, (1, 64, 29, 33), (6, 64, 3, 3), {"padding": 1}),
    (R.nn.conv2d, (1, 64, 14, 20), (16, 64, 3, 3), {"padding": 1}),
    (R.nn.conv2d, (1, 32, 22, 40), (13, 32, 3, 3), {"padding": 2, "dilation": 2}),
]


@pytest.mark.parametrize("target", [HOST, Target("llvm -num-cores=2")])
@pytest.mark.parametrize("case", BANDS)
def test_bands_of_lines(case: Case, target: Target, monkeypatch: Any) -> None:
    """Guards bands that end at no edge, the last one lower, with strides, dilation and several groups."""
    monkeypatch.setattr(unpacked_choice, "SCRATCH", 300)
    monkeypatch.setattr(border_bands, "SHARE_OF_CACHE", target.cpu.l2_bytes // 12000)
    check(case, target)


@pytest.mark.parametrize("case", PARTS)
def test_channels_in_parts(case: Case, monkeypatch: Any) -> None:
    """Guards sums that are kept between parts of the channels, the last part smaller, points that end within a run."""
    monkeypatch.setattr(unpacked_choice, "SHARE_OF_CACHE", HOST.cpu.l1_bytes // 3000)
    monkeypatch.setattr(unpacked_choice, "LEAST_TERMS", 1)
    monkeypatch.setattr(unpacked_choice, "SPARED", 0)
    monkeypatch.setattr(unpacked_choice, "SCRATCH", 600)
    check(case, HOST)


@pytest.mark.parametrize("case", SHARED)
@pytest.mark.parametrize("cpu", ["", " -mcpu=haswell"])
def test_threads_copy_what_they_see(case: Case, cpu: str) -> None:
    """Guards the blocks of lines of two threads: low enough that each thread copies the lines it sees itself (64 to 3
    channels of 56x56 took as long on two threads as on one, 60 us, and takes 34).
    """
    target = Target(f"llvm -num-cores=2{cpu}")
    plan = conv_unpacked.plan(with_index_dtype(convolution_kernel(case)[1], INT64), target)
    assert isinstance(plan, Plan)
    (shared,) = (n for n in post_order(plan.make().body) if isinstance(n, For) and n.kind is ForKind.PARALLEL)
    copies = [n for n in post_order(shared.body) if isinstance(n, Allocate) and n.buffer_var.name == "bordered"]
    assert len(copies) == 1
    check(case, target)
