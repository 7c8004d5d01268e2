"""A call with one wrong argument is refused in every machine, naming what is expected and what was given."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.shape import ShapeTuple
from tests.relax.machines import MODES, machine

PROGRAM = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", "m"), "float32"), i: R.Tensor((), "int64"),
         s: R.Shape(["m", 2]), p: R.Prim("int64"), t: R.Tuple(R.Tensor((3,), "bool"), R.Tensor("float16", ndim=2)),
         f: R.Tensor((2,), "int8")) -> R.Tensor(("n", 4), "float32"):
    n = T.int64()
    m = T.int64()
    with R.dataflow():
        z = R.add(x, x)
        R.output(z)
    return z
"""


def right(n: int, m: int) -> list[Any]:
    """Arguments that fit."""
    pair = (np.zeros(3, bool), np.zeros((m, n), np.float16))
    x, y = np.ones((n, 4), np.float32), np.ones((n, m), np.float32)
    return [x, y, np.int64(1), ShapeTuple((m, 2)), 5, pair, np.zeros(2, np.int8)]


@cache
def machines() -> dict[str, Any]:
    return {mode: machine(PROGRAM, mode)["main"] for mode in MODES}


def wrong(n: int, m: int) -> dict[str, tuple[int, Any, list[str]]]:
    """By name: which argument, what is given instead, and words that the message has."""
    x, y, *_ = right(n, m)
    return {
        "dtype": (0, x.astype(np.float64), ["float64", "float32"]),
        "int for float": (1, y.astype(np.int32), ["int32", "float32"]),
        "rank": (0, np.ones(4, np.float32), ["1", "2"]),
        "rank of a scalar": (2, np.zeros(1, np.int64), ["1", "0"]),
        "static dim": (0, np.ones((n, 5), np.float32), ["5", "4"]),
        "symbolic dim": (1, np.ones((n + 1, m), np.float32), [str(n + 1), str(n)]),
        "shape's dim": (3, ShapeTuple((m + 1, 2)), [str(m + 1), str(m)]),
        "shape's rank": (3, ShapeTuple((m, 2, 1)), ["3", "2"]),
        "shape for a tensor": (0, ShapeTuple((n, 4)), ["shape", "tensor"]),
        "tensor for a shape": (3, x, ["tensor", "shape"]),
        "text for a tensor": (0, "x", ["string", "tensor"]),
        "nothing for a tensor": (1, None, ["null", "tensor"]),
        "tuple for a tensor": (1, (y, y), ["tuple", "tensor"]),
        "short tuple": (5, (np.zeros(3, bool),), ["1", "2"]),
        "dtype in a tuple": (5, (np.zeros(3, np.int8), np.zeros((1, 1), np.float16)), ["int8", "bool"]),
        "dim in a tuple": (5, (np.zeros(4, bool), np.zeros((1, 1), np.float16)), ["4", "3"]),
        "rank in a tuple": (5, (np.zeros(3, bool), np.zeros(1, np.float16)), ["1", "2"]),
        "tensor for a prim value": (4, x, ["tensor", "prim"]),
        "float for an int": (4, 1.5, ["float64", "int64"]),
        "object": (6, object(), ["object", "tensor"]),
    }


@contextlib.contextmanager
def refused(words: list[str], mode: str) -> Iterator[None]:
    with pytest.raises(DiagnosticError) as caught:
        yield
    text = str(caught.value).lower()
    missing = [word for word in words if word not in text]
    assert not missing, f"{mode}: the message does not say {missing}: {text}"


@pytest.mark.parametrize("mode", MODES)
def test_right_arguments_are_taken(mode: str) -> None:
    """A guard on the tests below."""
    assert machines()[mode](*right(2, 3)).numpy().tolist() == [[2.0] * 4] * 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", wrong(2, 3))
def test_a_wrong_argument_is_refused(mode: str, name: str) -> None:
    """Guards category, dtype, rank, dims and parts; the machine works on afterwards."""
    place, value, words = wrong(2, 3)[name]
    args = right(2, 3)
    args[place] = value
    with refused(words, mode):
        machines()[mode](*args)
    machines()[mode](*right(2, 3))


@pytest.mark.parametrize("mode", MODES)
@given(n=st.integers(0, 6), m=st.integers(0, 6), data=st.data())
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
def test_any_one_wrong_argument_is_refused(mode: str, n: int, m: int, data: st.DataObject) -> None:
    """The same for any sizes, and for every number of arguments."""
    machines()[mode](*right(n, m))
    name = data.draw(st.sampled_from(sorted(wrong(n, m))))
    place, value, words = wrong(n, m)[name]
    args = right(n, m)
    args[place] = value
    with refused(words, mode):
        machines()[mode](*args)
    count = data.draw(st.integers(0, 9).filter(lambda c: c != 7))
    few = (right(n, m) * 2)[:count]
    with refused(["7", str(count)], mode):
        machines()[mode](*few)
