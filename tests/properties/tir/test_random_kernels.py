"""Random kernels by every way that they are compiled, scheduled, lowered and printed; `make fuzz` takes others."""

from __future__ import annotations

import pytest

from tests.at_length import seeds_at_length
from tests.properties.tir.agreement import check


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels(seed: int) -> None:
    """Guards what operators' kernels never hold: `while`, branches, lets, tables, views, vectors, dtypes beside each
    other, in the rules, in primitives, in TVM's passes and in code generation."""
    check(seed)


@pytest.mark.fuzz
def test_many_random_kernels() -> None:
    """Others in each run; the seed stands in the failure."""
    for seed in seeds_at_length(1500):
        check(seed)
