"""Operators by numbers that tensors hold become Relax's own, with sizes read at run time: results, and that nothing is
left to NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton
from baton import relax, relay

X = relay.var("x", shape=(relay.Any(), 6))
IMAGE = relay.var("image", shape=(1, 2, relay.Any(), 5))
NUMBERS = {
    (count, dtype): relay.var("numbers", shape=(count,), dtype=dtype)
    for count in (1, 2)
    for dtype in ("int32", "int64")
}
NUMBER = relay.var("number", shape=(), dtype="int32")
FACTOR = relay.var("factor", shape=())
PAIR, ONE = NUMBERS[2, "int64"], NUMBERS[1, "int32"]
DATA = np.random.default_rng(0).uniform(-1, 1, (5, 6)).astype("float32")
PHOTO = np.random.default_rng(1).uniform(-1, 1, (1, 2, 4, 5)).astype("float32")


def one(values: Any, dtype: str = "int64") -> Any:
    return relay.const(np.array(values, dtype), dtype)


def numbers(*values: int) -> Any:
    return np.array(values, "int64")


def halves(x: Any) -> Any:
    """(n, 6) as (n, 2, 3), by sizes of what was computed before."""
    count = relay.take(relay.shape_of(relay.exp(x), "int64"), one([0]))
    return relay.reshape(relay.tanh(x), relay.concatenate([count, one([2, -1])], 0))


CASES: dict[str, tuple[Any, list[Any], list[list[Any]]]] = {
    "topk": (
        relay.topk(X, NUMBER, axis=1, ret_type="values", is_ascend=True),
        [X, NUMBER],
        [[DATA, np.int32(k)] for k in (2, 6, 9, 0, -3)],
    ),
    "topk, both": (relay.topk(X, ONE, axis=0, dtype="int64").astuple(), [X, ONE], [[DATA, np.array([3], "int32")]]),
    "reshape": (
        relay.nn.relu(relay.reshape(X, PAIR)),
        [X, PAIR],
        [[DATA, numbers(*shape)] for shape in ((3, 10), (-1, 15), (0, -1), (2, -1), (0, 6))],
    ),
    "reshape to a size of the operand": (
        relay.reshape(X, relay.concatenate([one([-1]), relay.take(relay.shape_of(X, "int64"), one([0]))], 0)),
        [X],
        [[DATA], [DATA[:1]]],
    ),
    "sizes of computed tensors, that agree": (
        halves(X) + halves(relay.nn.relu(X)) * relay.reshape(halves(X), relay.shape_of(halves(X), "int64")),
        [X],
        [[DATA], [DATA[:1]]],
    ),
    "broadcast_to": (
        relay.broadcast_to(X, PAIR),
        [X, PAIR],
        [[DATA, numbers(5, 6)], [DATA[:1], numbers(4, 6)]],
    ),
    "tile": (relay.tile(X, PAIR), [X, PAIR], [[DATA, numbers(2, 3)], [DATA, numbers(1, 0)]]),
    "zeros, ones, full": (
        relay.zeros(PAIR, "float32") + relay.ones(PAIR, "float32") * relay.full(relay.const(2.0), PAIR),
        [PAIR],
        [[numbers(2, 3)], [numbers(0, 3)]],
    ),
    "strided_slice": (
        relay.strided_slice(X, PAIR, PAIR + one([3, 4]), one([2, 1])),
        [X, PAIR],
        [[DATA, numbers(*begin)] for begin in ((0, 1), (-2, -5), (4, -9), (9, 3))],
    ),
    "strided_slice of an axis": (
        relay.strided_slice(X, relay.reshape(NUMBER, (1,)), one([5], "int32"), axes=[-1]),
        [X, NUMBER],
        [[DATA, np.int32(2)], [DATA, np.int32(5)]],
    ),
    "one_hot": (
        relay.one_hot(PAIR, relay.const(2.0), relay.const(-1.0), NUMBER, 0, "float32"),
        [PAIR, NUMBER],
        [[numbers(0, 2), np.int32(3)], [numbers(-1, 7), np.int32(2)]],
    ),
    "arange": (
        relay.arange(NUMBER, one(9, "int32"), one(2, "int32"), dtype="int32"),
        [NUMBER],
        [[np.int32(3)], [np.int32(-4)], [np.int32(12)]],
    ),
    "arange, downwards": (
        relay.arange(one(0, "int32"), NUMBER, one(-3, "int32"), dtype="int32"),
        [NUMBER],
        [[np.int32(-7)], [np.int32(2)]],
    ),
    "resize2d": (
        relay.image.resize2d(IMAGE, PAIR, method="cubic"),
        [IMAGE, PAIR],
        [[PHOTO, numbers(7, 3)], [PHOTO, numbers(1, 9)]],
    ),
    "upsampling": (
        relay.nn.upsampling(IMAGE, FACTOR, relay.const(1.5), method="bilinear"),
        [IMAGE, FACTOR],
        [[PHOTO, np.float32(2)], [PHOTO, np.float32(0.6)]],
    ),
    "in a branch": (
        relay.If(
            relay.less(NUMBER, one(0, "int32")), relay.sum(X), relay.sum(relay.topk(X, NUMBER, ret_type="values"))
        ),
        [X, NUMBER],
        [[DATA, np.int32(-1)], [DATA, np.int32(2)]],
    ),
}


def run(kind: str, module: Any, args: list[Any]) -> list[Any]:
    found = relay.create_executor(kind, module).evaluate()(*args)
    return [v.numpy() for v in (found if isinstance(found, (list, tuple)) or not hasattr(found, "numpy") else [found])]


@pytest.mark.parametrize("name", CASES)
def test_results_are_the_interpreters(name: str) -> None:
    body, params, calls = CASES[name]
    module = baton.IRModule.from_expr(relay.Function(params, body))
    for args in calls:
        for found, wanted in zip(run("vm", module, args), run("debug", module, args), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_nothing_waits_for_a_run(name: str) -> None:
    """Guards the rules: an operator without one is computed by `call_operator`."""
    body, params, _ = CASES[name]
    module = baton.IRModule.from_expr(relay.Function(params, body))
    assert "call_operator" not in relay.vm.compile(module, "llvm").bytecode


REFUSED: dict[str, Callable[[], tuple[Any, list[Any], list[Any]]]] = {
    "elements": lambda: (relay.reshape(X, PAIR), [X, PAIR], [DATA, numbers(4, 8)]),
    "negative": lambda: (relay.zeros(PAIR, "float32"), [PAIR], [numbers(2, -2)]),
    "other sizes": lambda: (relay.broadcast_to(X, PAIR), [X, PAIR], [DATA, numbers(5, 7)]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_impossible_sizes_are_errors(name: str) -> None:
    body, params, args = REFUSED[name]()
    with pytest.raises(baton.error.DiagnosticError):
        run("vm", baton.IRModule.from_expr(relay.Function(params, body)), args)


def test_sizes_that_a_run_compares() -> None:
    """Guards embeddings of words and their positions: a kernel of unknown dims was made of the sum."""
    words = relay.var("words", shape=(relay.Any(), relay.Any()), dtype="int64")
    first, second = (np.random.default_rng(n).uniform(-1, 1, (9, 4)).astype("float32") for n in range(2))
    count = relay.take(relay.shape_of(words, "int64"), relay.const(1))
    positions = relay.arange(relay.const(0, "int64"), count, relay.const(1, "int64"), dtype="int64")
    total = relay.take(relay.const(first), words, axis=0) + relay.take(relay.const(second), positions, axis=0)
    given = np.array([[3, 1, 4], [1, 5, 8]])
    (found,) = run("vm", baton.IRModule.from_expr(relay.Function([words], relay.exp(total))), [given])
    np.testing.assert_allclose(found, np.exp(first[given] + second[:3]), rtol=1e-5)


def test_sums_of_sums_are_looked_at_once() -> None:
    """Each names its operand twice: looked at anew, that doubles with every step."""
    count = relay.take(relay.shape_of(X, "int64"), one([0]))
    for _ in range(30):
        count = count + count
    body = relay.reshape(X, relay.concatenate([count - count + one([-1]), one([2])], 0))
    found = run("vm", baton.IRModule.from_expr(relay.Function([X], body)), [DATA])
    assert found[0].shape == (15, 2)


def test_the_number_of_elements_is_read_as_a_size() -> None:
    lowered = relax.from_relay(baton.IRModule.from_expr(relay.Function([X, ONE], CASES["topk, both"][0])))
    text = lowered.script()
    assert "R.tensor_to_shape" in text
    assert "R.dynamic_topk" in text
