"""Golden texts of TIR: a kernel as an operator makes it, and as its schedule leaves it."""

from __future__ import annotations

from typing import Any

from baton import te, tir, topi
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.schedule import schedule


def _softmax() -> tir.PrimFunc:
    n = te.size_var("n", "int64")
    x = te.placeholder((n, 64), "float32", "x")
    return te.create_prim_func([x, topi.nn.softmax(x, axis=-1)])


def test_printed(golden: Any) -> None:
    golden.check(_softmax().script())


def test_scheduled_for_a_named_processor(golden: Any) -> None:
    """One pass over each row, in vectors; the target is named, so that the text is the same on every machine."""
    golden.check(schedule(_softmax(), Target("llvm -mcpu=haswell")).script())
