"""Which programs two machines may disagree on: only those that rounding decides on."""

from __future__ import annotations

import pytest

from tests.properties.relax.outcomes import Run, hangs_on_rounding, interpreted
from tests.relax.build import module
from tests.relax.random_programs.strategies import Program

SORTED = """
@R.function
def main(
    x: R.Tensor(("n", 4), "float32"), y: R.Tensor(("n", 4), "float32"), b: R.Tensor((4,), "float32"),
    flag: R.Tensor((), "bool"), count: R.Tensor((), "int64"),
) -> R.Tensor:
    a = R.tanh(x)
    key = R.take(KEY, R.const(0, "int64"), axis=1)
    order = R.argsort(key, axis=0)
    return R.take(x, order, axis=0)
"""


@pytest.mark.parametrize(("key", "by_chance"), [("R.subtract(a, R.add(a, R.const(0.5)))", True), ("a", False)])
def test_what_rounding_decides_on_is_told(key: str, by_chance: bool) -> None:
    """Guards that random programs are dropped for that reason alone: rows are ordered by -0.5 in each, or by values."""
    whole = module(SORTED.replace("KEY", key))
    runs = [Run(Program(whole, True), whole, 4, seed) for seed in (0, 4, 10)]
    assert [hangs_on_rounding(run, interpreted(run)) for run in runs] == [by_chance] * 3
