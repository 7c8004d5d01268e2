"""Random programs have one value, interpreted and compiled, at every level; and calls go as deep as memory allows."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from baton._src.driver.executors import create_executor
from baton._src.driver.wiring import wire
from baton._src.ir.module import IRModule
from baton._src.transform.context import PassContext
from tests.relay.programs import plain, read_module
from tests.relay.strategies import modules

wire()


def same(left: object, right: object) -> bool:
    """Equal constructors and tuples, numbers up to rounding."""
    if isinstance(left, tuple):
        return isinstance(right, tuple) and len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, str):
        return left == right
    return bool(np.allclose(left, right, rtol=1e-4, atol=1e-4, equal_nan=True))  # type: ignore[arg-type]


@pytest.mark.rule("RELAY-EXEC-1")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(modules(), st.sampled_from([0, 2, 3]))
def test_random_programs(module: IRModule, level: int) -> None:
    arguments = (True, np.float32([1, -2]), np.float32([0.5, 3]))
    with np.errstate(all="ignore"), warnings.catch_warnings(), PassContext(opt_level=level):
        warnings.simplefilter("ignore")
        values = [plain(create_executor(kind, module).evaluate()(*arguments)) for kind in ("debug", "vm")]
    assert same(*values)


LOOP = "def @main(%n: int32, %a: int32) -> int32 { if (%n == 0) { %a } else { @main(%n - 1, %a + 2) } }"
NESTED = "def @main(%n: int32, %a: int32) -> int32 { if (%n == 0) { %a } else { 2 + @main(%n - 1, %a) } }"


@pytest.mark.rule("RELAY-EXEC-1")
@pytest.mark.parametrize("text", [LOOP, NESTED])
@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_deep_calls(text: str, kind: str) -> None:
    """Far beyond Python's stack; 1,000,000 turns of the loop and 100,000 nested calls take a minute and run, too."""
    assert plain(create_executor(kind, read_module(text)).evaluate()(20_000, 0)) == 40_000
