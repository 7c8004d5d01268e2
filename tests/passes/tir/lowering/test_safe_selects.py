"""A `Select` that would read outside of a buffer becomes a choice; all others stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.tir.build import build
from baton._src.ir.traverse import post_order
from baton._src.passes.tir.lowering.safe_selects import with_safe_selects
from baton._src.tir import expr as tir
from baton._src.tir.text.parser import parse_text
from baton._src.values.tensor import array

HEAD = "def f(A: T.Buffer((4,), 'float32'), I: T.Buffer((8,), 'int32'), B: T.Buffer((8,), 'float32')):\n"


def selects(body: str) -> int:
    """How many are left in a loop over i."""
    func = with_safe_selects(parse_text(f"{HEAD}    for i in range(8):\n        {body}"))
    return sum(isinstance(n, tir.Select) for n in post_order(func.body))


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("B[i] = T.Select(i >= 4, A[i - 4], T.float32(0))", 0),
        ("B[i] = T.Select(I[i] < 4, A[I[i]], T.float32(0))", 0),
        ("B[i] = T.Select(i < 4, T.Select(i < 3, A[i], T.float32(1)), T.float32(0))", 0),
        ("B[i] = T.Select(B[i] > T.float32(0), B[i], A[i // 2])", 1),
        ("if i < 4:\n            B[i] = T.Select(B[i] > T.float32(0), A[i], T.float32(0))", 1),
        ("B[i] = T.Select(i >= 4, T.float32(1), T.float32(0))", 1),
    ],
)
def test_which_become_choices(body: str, left: int) -> None:
    """Guards that what the loops and conditions around show to be in range stays a select."""
    assert selects(body) == left


def test_far_outside() -> None:
    """Guards that the value which is not chosen is not read: this ended the process."""
    far = 1 << 28
    text = f"{HEAD}    for i in range(8):\n        B[i] = T.Select(i < 4, A[i - (i // 4) * {far}], T.float32(7))"
    a, at, found = (array(v) for v in (np.arange(4, dtype="float32"), np.zeros(8, "int32"), np.zeros(8, "float32")))
    module: Any = build(parse_text(text), target="llvm")
    module(a, at, found)
    assert found.numpy().tolist() == [0, 1, 2, 3, 7, 7, 7, 7]
