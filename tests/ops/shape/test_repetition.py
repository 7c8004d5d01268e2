"""How often `repeat` and `tile` may repeat: not at all gives nothing, less than that is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import baton
from baton import relax, relay
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.support.diagnostics import DiagnosticError

CALLS: dict[str, Callable[[Any, int], Any]] = {
    "repeat": lambda x, times: relay.repeat(x, times, 1),
    "repeat flat": lambda x, times: relay.repeat(x, times, None),
    "tile": lambda x, times: relay.tile(x, (1, times)),
}


def run(name: str, times: int, kind: str) -> Any:
    x = relay.var("x", shape=(2, 3))
    module = baton.IRModule.from_expr(relay.Function([x], CALLS[name](x, times)))
    return relay.create_executor(kind, module).evaluate()(np.ones((2, 3), "float32")).shape


@pytest.mark.parametrize("kind", ["graph", "debug"])
@pytest.mark.parametrize("name", CALLS)
def test_nothing_is_left_of_no_repetitions(name: str, kind: str) -> None:
    """Compiled code divided indices by how often."""
    assert run(name, 0, kind) == ((0,) if name == "repeat flat" else (2, 0))


@pytest.mark.parametrize("name", ["tile", "repeat"])
def test_gradients_need_named_dims(name: str) -> None:
    """Guards the error: there was none, but a fault of the pass."""
    x = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=2))
    definition = CATALOGUE.get(name)
    with pytest.raises(DiagnosticError, match="dims of its data"):
        definition.gradient(RelaxMaker(definition, CATALOGUE), (x,), definition.attrs(repeats=2), None, x)


@pytest.mark.parametrize("name", CALLS)
def test_fewer_than_none_are_refused(name: str) -> None:
    """Types had dims of negative size."""
    with pytest.raises(DiagnosticError, match="0 or more times"):
        run(name, -1, "graph")
