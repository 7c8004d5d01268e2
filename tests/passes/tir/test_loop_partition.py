"""LoopPartition: what goes from the parts of a loop, loops with a hint, and that nothing else changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.ir.module import IRModule
from baton._src.ir.traverse import post_order
from baton._src.passes.tir.loop_partition import LoopPartition
from baton._src.tir import stmt as st
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.text.parser import parse_text
from baton._src.tir.text.printer import node_text
from baton.transform import PassContext

OPTIONS: list[dict[str, bool]] = [{}, {"partition_const_loop": True}]


def partitioned(func: Any, **options: bool) -> Any:
    with PassContext(config={"tir.LoopPartition": options}):
        return LoopPartition()(IRModule({"main": func}))["main"]


def of(kind: type, func: Any) -> list[Any]:
    return [n for n in post_order(func.body) if isinstance(n, kind)]


TAIL = """
def main(A: T.Buffer((64,), "float32"), n: T.int32, m: T.int32):
    for i in range((n + 3) // 4):
        for j in range(4):
            if T.likely(i * 4 + j < n):
                A[i * 4 + j] = T.float32(m)
"""
HINTED = """
def main(A: T.Buffer((160,), "float32"), n: T.int32, m: T.int32):
    T.attr(i, "pragma_loop_partition_hint", 1)
    for i in range(16):
        for j in range(10):
            if 2 < i and i < 14 and j + i > 3 and i <= n:
                A[i * 10 + j] = T.float32(1)
            else:
                A[i * 10 + j] = T.float32(m)
"""
NAMED = """
def main(A: T.Buffer((160,), "float32"), n: T.int32, m: T.int32):
    for i in range(n):
        x: T.int32 = i * 2
        for j in range(3):
            for k in range(j, 5):
                if T.likely(x + i < m) and T.likely(i + j * 2 + k < m) and T.likely(i >= m - 7):
                    A[i * 10 + j + k] = A[i * 10 + j + k] * T.float32(3) + T.float32(1)
"""


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("text", [TAIL, HINTED, NAMED])
def test_parts_do_what_the_loop_did(text: str, options: dict[str, bool]) -> None:
    """Guards parts that are empty, in any order of their ends, and names defined inside of the loop."""
    func = parse_text(text)
    made = partitioned(func, **options)
    size = int(func.buffer_map[func.params[0]].shape[0])
    for n in (-3, 0, 1, 5, 14):
        for m in (-4, 3, 9, 20):
            expected, found = np.arange(size, dtype="float32"), np.arange(size, dtype="float32")
            run_prim_func(func, [expected, n, m])
            run_prim_func(made, [found, n, m])
            np.testing.assert_array_equal(found, expected)


def test_conditions_go_where_they_certainly_hold() -> None:
    """Guards the part before the tail, whose sizes nothing else tells: n may be anything."""
    made = partitioned(parse_text(TAIL))
    assert len(of(st.IfThenElse, made)) == 1
    assert len(of(st.For, made)) == 4


def test_loops_with_a_hint_count_all_comparisons() -> None:
    """Guards the pragma: without it only likely conditions split; it is gone when it has been obeyed."""
    func = parse_text(HINTED)
    assert partitioned(func) is func
    made = partitioned(func, partition_const_loop=True)
    assert sorted({int(loop.extent) for loop in of(st.For, made)}) == [2, 3, 10, 11]
    assert not of(st.AttrStmt, made)
    without = func.with_fields(body=func.body.body)
    assert partitioned(without, partition_const_loop=True) is without


@pytest.mark.parametrize(
    ("text", "condition"), [(TAIL, "i * 4 + j < n"), (HINTED, "2 < i and i < 14 and j + i > 3 and i <= n")]
)
def test_conditions_are_left_out_on_demand(text: str, condition: str) -> None:
    """Guards ignore_loop_partition, which was missing: what it marks splits no loop, and the text reads back."""
    marked = parse_text(text.replace(condition, f"T.ignore_loop_partition({condition})"))
    assert len(of(st.For, partitioned(parse_text(text), partition_const_loop=True))) > len(of(st.For, marked))
    assert partitioned(marked, partition_const_loop=True) is marked
    assert node_text(parse_text(node_text(marked))) == node_text(marked)


def test_loops_with_a_hint_that_nothing_splits_are_unrolled_on_demand() -> None:
    """Guards the option unroll_loop_with_partition_hint_no_interval."""
    func = parse_text(
        'def main(A: T.Buffer((4,), "float32")):\n'
        '    T.attr(i, "pragma_loop_partition_hint", 1)\n'
        "    for i in range(4):\n"
        "        A[i] = T.float32(1)"
    )
    options = {"partition_const_loop": True, "unroll_loop_with_partition_hint_no_interval": True}
    assert [loop.kind for loop in of(st.For, partitioned(func, **options))] == [st.ForKind.UNROLLED]
    assert partitioned(func, partition_const_loop=True) is func
