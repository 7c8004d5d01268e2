"""Sets of values: bounds of quotients, remainders and extrema whose operands have bounds that are no numbers."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.ir.expr import Range
from baton._src.tir import operators as ops
from baton._src.tir.arith.int_set import eval_set
from baton._src.tir.expr import Var, literal
from baton._src.tir.text.printer import node_text

AT, N, P = (Var(name, "int32") for name in "inp")
TILE = {P: Range(ops.convert(AT * 8), literal(8))}


@pytest.mark.parametrize(
    ("expr", "ends"),
    [
        (P // 8, ["i", "i"]),
        (P // 4 + 1, ["i * 2 + 1", "i * 2 + 2"]),
        (P % 8, ["0", "7"]),
        ((P - AT * 8) % 16 + 3, ["3", "10"]),
        (ops.max(P, N), ["T.max(n, i * 8)", "T.max(i * 8 + 7, n)"]),
        (ops.min(P // 8, N) * 2, ["T.min(n, i) * 2", "T.min(n, i) * 2"]),
    ],
)
def test_bounds_of_operations(expr: Any, ends: list[str]) -> None:
    """Guards that operands' bounds are the operation's."""
    found = eval_set(expr, TILE)
    assert [node_text(found.min), node_text(found.max)] == ends
