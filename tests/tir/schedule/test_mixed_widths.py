"""Blocks whose axes have different widths: int64 where sizes come from operators, int32 where scripts wrote them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from baton import te
from baton._src.tir.analysis.check import verify_well_formed
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.expr import IntImm
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.schedule.schedule import Schedule


def widths() -> PrimFunc:
    """B and D have int64 axes, C between them int32 ones."""
    rows, columns = IntImm("int64", 16), IntImm("int64", 8)
    a = te.placeholder((rows, columns), name="A")
    b = te.compute((rows, columns), lambda i, j: a[i, j] * 2, name="B")
    c = te.compute((16, 8), lambda i, j: b[i, j] + 1, name="C")
    d = te.compute((rows, columns), lambda i, j: c[i, j] * c[i, j], name="D")
    return te.create_prim_func([a, d])


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.compute_at("B", s.get_loops("C")[0]),
        lambda s: s.compute_at("C", s.get_loops("D")[1]),
        lambda s: s.reverse_compute_at("C", s.get_loops("B")[0]),
        lambda s: s.compute_at("C", s.split(s.get_loops("D")[0], [None, 5])[0]),
        lambda s: s.compute_inline("B"),
        lambda s: s.reverse_compute_inline("D"),
        lambda s: s.cache_read("C", 0, "local"),
    ],
)
def test_blocks_of_other_widths_are_moved(change: Callable[[Schedule], object]) -> None:
    """Guards compute_at: loops had variables of one width and bounds of the other."""
    schedule = Schedule(widths())
    change(schedule)
    verify_well_formed(schedule.func)
    x = np.arange(128, dtype="float32").reshape(16, 8)
    out = np.zeros_like(x)
    run_prim_func(schedule.func, [x, out])
    np.testing.assert_array_equal(out, (x * 2 + 1) ** 2)
