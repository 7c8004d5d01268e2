"""Builders that take numbers or tensors of them: constants give the static operator, computed ones its `dyn` form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.support.diagnostics import DiagnosticError

DATA = np.random.default_rng(4).standard_normal((3, 4, 1)).astype("float32")
PLACES, VALUES = relay.const([1, 3]), relay.const(np.array([2, 4], "float32"))
ONE, NIL = relay.const(1.0), relay.const(0.0)
DENSE = np.array([0, 2, 0, 4, 0], "float32")

CASES: dict[str, tuple[Callable[[Any, Any], Any], Any, Any]] = {
    "topk": (lambda x, n: relay.topk(x, n, 1, "values"), 2, -np.sort(-DATA, 1)[:, :2]),
    "expand_dims": (lambda x, n: relay.expand_dims(x, n, 2), -1, DATA.reshape(3, 4, 1, 1, 1)),
    "squeeze": (relay.squeeze, [2], DATA[..., 0]),
    "reshape": (relay.reshape, [2, -1], DATA.reshape(2, 6)),
    "tile": (relay.tile, [1, 2, 1], np.tile(DATA, (1, 2, 1))),
    "broadcast_to": (relay.broadcast_to, [2, 3, 4, 5], np.broadcast_to(DATA, (2, 3, 4, 5))),
    "zeros": (lambda x, n: relay.zeros(n, "int32"), [2, 0], np.zeros((2, 0), "int32")),
    "full": (lambda x, n: relay.full(ONE, n), [2, 3], np.ones((2, 3), "float32")),
    "one_hot": (lambda x, n: relay.one_hot(PLACES, ONE, NIL, n, 0), 4, np.eye(4, dtype="float32")[:, [1, 3]]),
    "strided_slice": (lambda x, n: relay.strided_slice(x, n, [3, 3, 1]), [1, -2, 0], DATA[1:3, -2:3]),
    "sparse_to_dense": (lambda x, n: relay.sparse_to_dense(PLACES, n, VALUES), [5], DENSE),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    """Guards that tensors in the place of attributes are heeded; topk, expand_dims, squeeze refused them."""
    build, numbers, wanted = CASES[name]
    x, given = relay.var("x", shape=DATA.shape), np.array(numbers, "int64")
    n = relay.var("n", shape=given.shape, dtype="int64")
    static, dynamic = build(x, relay.const(given)), build(x, n)
    assert (static.op.name, dynamic.op.name) == (name, f"dyn.{name}")
    for params, body in (([x], static), ([x, n], dynamic)):
        module = baton.IRModule.from_expr(relay.Function(params, body))
        for kind in ("debug", "vm"):
            found = relay.create_executor(kind, module).evaluate()(*(DATA, given)[: len(params)]).numpy()
            assert found.dtype == wanted.dtype
            np.testing.assert_array_equal(found, wanted)


def test_gather_nd_of_unknown_coordinates_asks_for_their_number() -> None:
    data, places = relay.var("data", shape=(4, 5, 6)), relay.var("i", shape=(relay.Any(), 2), dtype="int32")
    with pytest.raises(DiagnosticError, match=r"(?s)how many coordinates.*give index_rank"):
        relay.transform.InferType()(baton.IRModule.from_expr(relay.gather_nd(data, places)))
    module = baton.IRModule.from_expr(relay.gather_nd(data, places, index_rank=2))
    x, i = np.arange(120, dtype="float32").reshape(4, 5, 6), np.array([[0, 3], [4, 1]], "int32")
    for kind in ("debug", "vm"):
        found = relay.create_executor(kind, module).evaluate()(x, i).numpy()
        np.testing.assert_array_equal(found, x[i[0], i[1]])
