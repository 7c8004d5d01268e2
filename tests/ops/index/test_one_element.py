"""Indexing by scalars gives a scalar, not a vector of one element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize("holds", [True, False])
def test_places_of_a_scalar(kind: str, holds: bool) -> None:
    """Guards argwhere of a scalar, whose place has no coordinates: compiled code stored one."""
    x = relay.var("x", shape=(), dtype="bool")
    module = baton.IRModule.from_expr(relay.Function([x], relay.argwhere(x)))
    found = relay.create_executor(kind, module).evaluate()(np.array(holds))
    assert found.shape == (int(holds), 0)


@pytest.mark.parametrize("kind", ["debug", "graph", "vm"])
@pytest.mark.parametrize(
    "pick",
    [
        lambda x: relay.adv_index([x, relay.const(1)]),
        lambda x: relay.gather_nd(x, relay.const([1])),
        lambda x: relay.take(x, relay.const(1)),
    ],
)
def test_a_scalar_is_picked(pick: Callable[[Any], Any], kind: str) -> None:
    """The meanings of adv_index and gather_nd gave shape (1,), which their type contradicts."""
    x = relay.var("x", shape=(3,))
    module = baton.IRModule.from_expr(relay.Function([x], pick(x)))
    found = relay.create_executor(kind, module).evaluate()(np.arange(3, dtype="float32"))
    assert (found.shape, float(found.numpy())) == ((), 1.0)
