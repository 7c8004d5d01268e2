"""Functions of Python that a kernel calls while it is read: what they build with `T`'s words is part of the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import baton
from baton.script import tir as T


def local(dtype: str) -> Any:
    return T.alloc_buffer((1,), dtype, scope="local")


def clear(values: Any, places: Any, count: int) -> None:
    for place in range(count):
        T.buffer_store(values, T.min_value("float32"), indices=[place])
    with T.serial(count) as place:
        T.buffer_store(places, -1, indices=[place])


def insert(values: Any, places: Any, value: Any, index: Any, count: int) -> None:
    """The value among the `count` largest, in order: branches of branches, opened and closed by hand."""
    tests = [T.If(value > values[place]) for place in range(count)]
    otherwise = [T.Else() for _ in range(count - 1)]
    for place in range(count):
        tests[place].__enter__()
        with T.Then():
            for moved in range(count - 1, place, -1):
                T.buffer_store(values, values[moved - 1], indices=[moved])
                T.buffer_store(places, places[moved - 1], indices=[moved])
            T.buffer_store(values, value, indices=[place])
            T.buffer_store(places, index, indices=[place])
        if place < count - 1:
            otherwise[place].__enter__()
    for place in reversed(range(count)):
        if place < count - 1:
            otherwise[place].__exit__(None, None, None)
        tests[place].__exit__(None, None, None)


def test_branches_loops_and_memory() -> None:
    @T.prim_func
    def largest(x: T.Buffer((5, 9), "float32"), out: T.Buffer((5, 3), "int32"), total: T.Buffer((5,), "float32")):
        values = T.alloc_buffer((3,), "float32", scope="local")
        places = T.alloc_buffer((3,), "int32", scope="local")
        for i in range(5):
            with T.block("row"):
                v = T.axis.spatial(5, i)
                clear(values, places, 3)
                summed = local("float32")
                summed[0] = T.float32(0)
                for j in range(9):
                    insert(values, places, x[v, j], j, 3)
                    summed[0] += x[v, j]
                for j in range(3):
                    out[v, j] = places[j]
                total[v] = summed[0]

    data = np.random.default_rng(0).permutation(45).reshape(5, 9).astype("float32")
    found, total = baton.nd.empty((5, 3), "int32"), baton.nd.empty((5,))
    baton.build(largest, target="llvm")(baton.nd.array(data), found, total)
    np.testing.assert_array_equal(found.numpy(), np.argsort(-data, axis=1)[:, :3])
    np.testing.assert_allclose(total.numpy(), data.sum(axis=1))


def doubled(a: Any) -> Any:
    T.buffer_store(a, T.float32(1), indices=[0])
    return a[0] * T.float32(2)


def test_what_is_built_within_an_expression_is_refused() -> None:
    """Its place among the statements would be a guess."""
    with pytest.raises(baton.error.TVMError, match="a function that builds statements is called within another one"):

        @T.prim_func
        def kernel(a: T.Buffer((4,), "float32")):
            a[1] = doubled(a)


def test_errors_of_functions_are_told_where_they_are_called() -> None:
    def wrong(a: Any) -> None:
        T.buffer_store(a, T.float32(1), indices=[0, 1])

    with pytest.raises(baton.error.TVMError, match="wrong fails") as raised:

        @T.prim_func
        def kernel(a: T.Buffer((4,), "float32")):
            wrong(a)

    assert "wrong(a)" in str(raised.value)


def test_statements_belong_in_kernels() -> None:
    with pytest.raises(baton.error.TVMError, match="buffer_store stands in the body"):
        T.buffer_store(None, 0, [0])
