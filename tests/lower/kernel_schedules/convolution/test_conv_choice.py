"""Which way a convolution is computed: by what each of them takes, not by an order."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.target import Target
from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.convolution.conv_choice import WAYS, choose
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.kernel_schedules.shared.loops import constant
from baton._src.ops.builders import RELAX as R
from baton._src.tir.stmt import For, ForKind
from tests.lower.kernel_schedules.convolution.test_conv_unpacked import convolution_kernel
from tests.lower.kernel_schedules.spills import WIDE

# (input channels, size, output channels, window, stride, groups): the fastest, measured.
MEASURED = [
    ((3, 112, 32, 3, 1, 1), {"line_phases"}),  # 200 us, unpacked 233, panels 223
    ((3, 224, 32, 3, 2, 1), {"line_phases"}),  # 203, 270, 226
    ((3, 224, 64, 7, 2, 1), {"line_phases"}),  # 2306, 2392, 2501
    ((3, 112, 8, 3, 1, 1), {"line_phases", "conv_unpacked"}),  # 56, 59, 75
    ((64, 64, 64, 3, 1, 1), {"conv_unpacked"}),  # 2820, 2778, 3032
    ((64, 56, 3, 3, 1, 1), {"conv_unpacked"}),  # 161, 116, 282
    ((17, 56, 17, 3, 1, 1), {"conv_unpacked"}),  # 172, 152, 182
    ((64, 100, 12, 3, 1, 1), {"conv_unpacked"}),  # 1594, 1397, 2183
    ((256, 14, 256, 3, 1, 1), {"conv2d"}),  # 2311, 2325, 2106
    ((512, 7, 512, 3, 1, 1), {"conv2d"}),  # -, 2643, 2491
    ((48, 40, 96, 3, 2, 1), {"conv2d"}),  # 468, 338, 331
    ((64, 56, 256, 1, 1, 1), {"conv2d"}),  # -, 1030, 973
    ((64, 56, 21, 1, 1, 1), {"conv2d"}),  # in place (Zen 5): unpacked 37, product 31
    ((512, 28, 128, 1, 1, 1), {"conv2d"}),  # 470, 404
    ((960, 7, 160, 1, 1, 1), {"conv2d"}),  # 73, 60
    ((64, 224, 1, 1, 1, 1), {"conv2d"}),  # 145, 120
    ((128, 56, 128, 3, 1, 4), {"conv_unpacked"}),  # 2223, panels 2644
    ((256, 56, 256, 3, 2, 32), {"conv_unpacked"}),  # 405, panels 670
    ((1024, 7, 1024, 3, 1, 32), {"conv_unpacked"}),  # 339, panels 484
    ((512, 14, 512, 3, 1, 8), {"conv_unpacked"}),  # 1147, panels 1240
    ((240, 28, 240, 5, 1, 240), {"depthwise_lines"}),  # 105, unpacked 184, general 582
    ((96, 112, 96, 5, 2, 96), {"depthwise_lines"}),  # 306, unpacked 677
    ((768, 7, 768, 7, 1, 768), {"depthwise_lines"}),  # 52, unpacked 129
    ((32, 112, 32, 3, 1, 32), {"depthwise_lines"}),  # 95, general 107
    ((96, 112, 96, 3, 2, 96), {"rows"}),  # 293, general 171
]


def _kernel(shape: tuple[int, ...]) -> Any:
    inner, size, outer, window, stride, groups = shape
    attrs = {"padding": window // 2, "strides": stride, "groups": groups}
    return convolution_kernel((R.nn.conv2d, (1, inner, size, size), (outer, inner // groups, window, window), attrs))[1]


@pytest.mark.parametrize(("shape", "fastest"), MEASURED)
def test_the_fastest_way(shape: tuple[int, ...], fastest: set[str]) -> None:
    """Guards the costs against measurements; the order in which ways are named does not matter."""
    func = _kernel(shape)
    best, declined = choose(func, WIDE)
    assert best is not None
    assert best[0] in fastest, declined
    again, _ = choose(func, WIDE, WAYS[::-1])
    assert again is not None
    assert again[0] == best[0]


def test_a_thread_packs_once() -> None:
    """Guards the few panels of small maps: threads share their rows, each packs for itself, so it gets one block."""
    func = decide(_kernel((512, 7, 512, 3, 1, 1)), Target("llvm -mcpu=znver4 -num-cores=2")).func
    shared = [n for n in post_order(func.body) if isinstance(n, For) and n.kind is ForKind.PARALLEL]
    assert constant(shared[-1].extent) == 2


def test_reasons_are_told() -> None:
    """Guards the answer to "why not this way": how much longer it would take, or what it cannot do."""
    decision = decide(_kernel((64, 56, 3, 3, 1, 1)), WIDE)
    reasons = dict(decision.declined)
    assert decision.rule == "conv_unpacked"
    assert reasons["conv2d"].endswith("times as long as conv_unpacked")
    assert "depthwise" in reasons["depthwise_lines"]
