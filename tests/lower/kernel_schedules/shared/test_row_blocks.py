"""Stages of rows, some rows at a time: every row is computed once, from its own row, in memory that has room for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import decide
from baton._src.lower.kernel_schedules.shared.row_blocks import BESIDE
from baton._src.ops import kernel_words as k
from baton._src.te.computation import compute, placeholder
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.text.printer import script
from tests.codegen.native_run import HOST, build, call
from tests.passes.relax.programs import dim

TARGETS = {"one": HOST, "sse": Target("llvm -mcpu=x86-64"), "threads": Target("llvm -num-cores=4")}


def centred(shape: tuple[Any, ...], dtype: str = "float32") -> PrimFunc:
    """Each row less its greatest element, and times the sum of that: reductions that later stages read."""
    x = placeholder(shape, dtype, "x")

    def along(how: Any, source: Any, name: str) -> Any:
        axis = k.reduce_axis(shape[-1], "k")
        return compute(shape[:-1], lambda *i: how(source[(*i, axis.var)], [axis]), name)

    top = along(k.reduce_max, x, "top")
    below = compute(shape, lambda *i: x[i] - top[i[:-1]], "below")
    total = along(k.reduce_sum, below, "total")
    return create_prim_func([x, compute(shape, lambda *i: below[i] * total[i[:-1]] + x[i], "out")])


def wanted(x: Any) -> Any:
    below = x - x.max(-1, keepdims=True)
    return below * below.sum(-1, keepdims=True) + x


SHAPES = [(1, 5), (4, 16), (5, 1), (7, 10), (9, 17), (6, 65), (2, 3, 33), (3, 1, 20), (6, 1, 1, 12), (2, 5000), (0, 4)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("is_open", [False, True], ids=["known", "open"])
def test_any_number_of_rows(target: str, shape: tuple[int, ...], is_open: bool) -> None:
    """Guards numbers of rows that no block divides, axes of one row, and rows of any length; each access is checked."""
    func = centred(tuple(dim(f"n{axis}") for axis in range(len(shape))) if is_open else shape)
    decision = decide(func, TARGETS[target])
    assert decision.rule == "rows"
    x = np.random.default_rng(len(shape)).integers(-9, 9, shape).astype("float32")
    found = np.empty_like(x)
    assert call(build(decision.func, TARGETS[target], checked=True), decision.func, x, found) is None
    np.testing.assert_array_equal(found, wanted(x))


@pytest.mark.parametrize(("length", "beside"), [(10, BESIDE), (1000, BESIDE), (2000, 2), (5000, 1)])
def test_short_rows_lie_beside_one_another(length: int, beside: int) -> None:
    """Guards that short rows do not wait for one another's stages, and that long ones are alone."""
    text = script(decide(centred((64, length)), HOST).func)
    assert f"in range(T.int64({beside})):" in text or f"T.min(T.int64({beside})" in text
