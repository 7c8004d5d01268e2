"""Inlining of elementwise stages: what disappears, what stays, and that long chains take time in proportion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from baton._src.ir.traverse import post_order
from baton._src.passes.shared.inline_elementwise import inline_elementwise
from baton._src.passes.shared.kernel_stages import root_block
from baton._src.te import reduction
from baton._src.te.computation import compute, placeholder, reduce_axis
from baton._src.te.prim_func import create_prim_func
from baton._src.tir.builders.scalar_functions import exp
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton._src.tir.operators import max as maximum
from baton._src.tir.operators import min as minimum
from baton._src.tir.prim_func import PrimFunc
from baton._src.tir.stmt import stmt_list

N = 8
A = placeholder((N,), "float32", "A")
X = np.linspace(-1, 1, N, dtype="float32")


def stage(value: Callable[[Any], Any], name: str = "T") -> Any:
    return compute((N,), value, name)


def count(function: PrimFunc) -> int:
    root = root_block(function)
    assert root is not None
    return len(stmt_list(root.body))


def results(function: PrimFunc) -> np.ndarray[Any, Any]:
    out = np.zeros(function.buffer_map[function.params[1]].shape[0].value, "float32")
    run_prim_func(function, [X.copy(), out])
    return out


def chain(length: int) -> PrimFunc:
    last: Any = A
    for _ in range(length):
        last = stage(lambda i, x=last: x[i] * 0.5 + 1.0)
    return create_prim_func([A, last])


def test_a_chain_becomes_one_statement() -> None:
    """Guards long groups: neither the Python stack nor quadratic work."""
    found = inline_elementwise(chain(3000))
    assert count(found) == 1


def moved() -> Any:
    turned = stage(lambda i: A[N - 1 - i])
    twice = stage(lambda i: turned[i] + turned[N - 1 - i])
    return stage(lambda i: twice[i] * turned[i])


def costly_twice() -> Any:
    e = stage(lambda i: exp(A[i]))
    return stage(lambda i: e[i] * e[i])


def cheap_twice() -> Any:
    e = stage(lambda i: A[i] + 1.0)
    return stage(lambda i: e[i] * e[i])


def grown() -> Any:
    last = A
    for _ in range(6):
        last = stage(lambda i, x=last: x[i] * x[i] + 1.0)
    return last


def into_reduction() -> Any:
    e = stage(lambda i: exp(A[i]))
    k = reduce_axis((0, N), "k")
    return compute((1,), lambda i: reduction.sum(e[k], axis=k), "S")


def again_in_reduction() -> Any:
    e = stage(lambda i: exp(A[i]))
    k = reduce_axis((0, N), "k")
    return compute((N,), lambda i: reduction.sum(e[k], axis=k), "S")


@pytest.mark.parametrize(
    ("make", "left"),
    [(moved, 1), (costly_twice, 2), (cheap_twice, 1), (grown, 2), (into_reduction, 1), (again_in_reduction, 2)],
)
def test_what_is_inlined(make: Callable[[], Any], left: int) -> None:
    """Guards the rule (moves, single uses and cheap values; nothing is done again that costs) and the values."""
    before = create_prim_func([A, make()])
    after = inline_elementwise(before)
    assert count(after) == left
    np.testing.assert_array_equal(results(after), results(before))


def test_places_that_are_computed_from_data_are_not_found_again() -> None:
    """Guards a way through a tree, each place of which is used thrice to find the next: all of it was written into its
    last reader, three times as long for each link."""
    table = placeholder((N,), "int32", "table")
    at = table
    for _ in range(20):
        place = compute((N,), lambda i, at=at: at[i] * 2 + at[i] * at[i])
        at = compute((N,), lambda i, place=place: table[maximum(minimum(place[i], N - 1), 0)])
    found = inline_elementwise(create_prim_func([table, at]))
    assert len(post_order(found.body)) < 20 * 100
