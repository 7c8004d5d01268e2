"""What `make test` draws depends on the test alone: neither on the process nor on what ran in it before."""

from __future__ import annotations

import os
import subprocess
import sys

DRAW = """
import sys
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.same_draws import draw_the_same_everywhere

if len(sys.argv) > 1:
    import baton._src.tir.builders.scalar_functions  # modules with constants of their own
draw_the_same_everywhere()
anything = st.one_of(st.integers(), st.sampled_from(["add", "subtract"]), st.sampled_from(["add", "multiply", 3]))


@settings(
    max_examples=150, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(anything))
def show(drawn):
    print(drawn)


show()
"""


def _drawn(hash_seed: int, *more: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": str(hash_seed)}
    command = [sys.executable, "-c", DRAW, *more]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_every_process_draws_the_same() -> None:
    """Guards landings: a failure is the change's, and can be had again."""
    drawn = _drawn(1)
    assert len(set(drawn.splitlines())) > 80
    assert drawn == _drawn(2, "after others")
