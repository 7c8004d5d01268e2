"""Tiles of a blocked convolution prefetch what they write and the residual they add, where no cache holds these."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.traverse import post_order
from baton._src.lower.kernel_schedules.convolution.blocked import results_ahead
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st
from baton._src.tir.intrinsics import intrinsic
from tests.codegen.native_run import HOST
from tests.lower.kernel_schedules.convolution.test_conv_blocked import BLOCKED, DEPTHWISE, check, convolution


@pytest.fixture
def every_result_is_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results_ahead, "CACHES", 0)


def prefetched_for_writing_or_adding() -> set[str]:
    """The names of the maps, other than weights, that the kernel of one convolution prefetches."""
    _, func = convolution((1, 2, 6, 17, 16), (3, 2, 3, 3, 16, 16), padding=1, **BLOCKED)
    found = set()
    for node in post_order(decide(func, HOST).func.body):
        if (
            isinstance(node, st.Evaluate)
            and isinstance(node.value, tir.Call)
            and node.value.op is intrinsic("prefetch")
        ):
            (load,) = [n for n in post_order(node) if isinstance(n, tir.BufferLoad)]
            found.add(load.buffer.name)
    names = {b.name for p in (func.params[3], func.params[-1]) for b in [func.buffer_map[p]]}
    return found & names


@pytest.mark.usefixtures("every_result_is_far")
def test_the_result_and_the_residual_are_prefetched() -> None:
    assert len(prefetched_for_writing_or_adding()) == 2


def test_what_a_cache_holds_is_not() -> None:
    assert prefetched_for_writing_or_adding() == set()


@pytest.mark.usefixtures("every_result_is_far")
@pytest.mark.parametrize(
    ("data", "kernel", "attrs"),
    [
        ((2, 2, 9, 17, 16), (3, 2, 3, 3, 16, 16), {"padding": 1, **BLOCKED}),
        ((1, 2, 9, 17, 16), (4, 2, 1, 1, 16, 16), {"strides": 2, **BLOCKED}),
        ((1, 1, 7, 7, 16), (2, 1, 3, 3, 16, 16), {"padding": 1, **BLOCKED}),
        ((1, 3, 8, 21, 16), (3, 1, 5, 5, 16), {"padding": 2, **DEPTHWISE}),
    ],
)
def test_results_are_the_same(data: Any, kernel: Any, attrs: dict[str, Any]) -> None:
    check(data, kernel, **attrs)
