"""Convolutions of few output channels whose runs have several lines: every access checked, sums in registers."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.lower.kernel_schedules.convolution.transposed import conv_phases
from baton._src.lower.kernel_schedules.convolution.unpacked import choice as unpacked_choice
from baton._src.lower.kernel_schedules.convolution.unpacked import conv_unpacked
from baton._src.lower.kernel_schedules.convolution.unpacked.choice import choose_task
from baton._src.ops.builders import RELAX as R
from tests.codegen.native_run import HOST
from tests.lower.kernel_schedules.convolution import test_conv_phases
from tests.lower.kernel_schedules.convolution.test_conv_unpacked import Case, check, convolution_kernel
from tests.lower.kernel_schedules.spills import WIDE, spills_of_sums

CASES: list[Case] = [
    (R.nn.conv2d, (1, 5, 11, 37), (2, 5, 3, 3), {"padding": 1}),
    (R.nn.conv2d, (2, 4, 13, 40), (4, 2, 2, 4), {"padding": 2, "groups": 2, "dilation": (3, 2)}),
    (R.nn.conv2d, (1, 6, 9, 17), (1, 6, 5, 1), {}),
]
FEW: Case = (R.nn.conv2d, (1, 16, 56, 56), (3, 16, 3, 3), {"padding": 1})
TRANSPOSED: Case = (R.nn.conv2d_transpose, (1, 6, 9, 19), (6, 3, 4, 4), {"strides": 2, "padding": 1})


@pytest.fixture
def heights(monkeypatch: Any) -> list[int]:
    """Those that are chosen, whatever they cost."""
    found: list[int] = []

    def noted(*args: Any) -> Any:
        task = choose_task(*args)
        found.append(0 if task is None else task.tall)
        return task

    monkeypatch.setattr(unpacked_choice, "WORTH", 100.0)
    monkeypatch.setattr(unpacked_choice, "FEWER", 100.0)
    for rule in (conv_unpacked, conv_phases):
        monkeypatch.setattr(rule, "choose_task", noted)
    return found


@pytest.mark.parametrize("case", CASES)
def test_means_the_same(case: Case, heights: list[int]) -> None:
    """Guards lines and columns that divide into no run, windows with gaps, groups, one output channel."""
    check(case, HOST)
    assert heights[-1] > 1


def test_phases(heights: list[int]) -> None:
    """Guards transposed convolutions, whose weights lie in reverse."""
    test_conv_phases.check(TRANSPOSED, HOST)
    assert heights[-1] > 1


def test_sums_stay_in_registers() -> None:
    """Guards the sums and weights of a run, in a kernel for which such runs are chosen."""
    assert spills_of_sums(convolution_kernel(FEW)[1], WIDE) == []
