"""Many and longer programs: `make fuzz`."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.at_length import at_length
from tests.properties.relax.agreement import (
    check,
    check_texts,
    check_threads,
    examples,
    seeds,
    sequences_of_every,
    sizes,
)
from tests.relax.random_programs.strategies import Program, programs


@pytest.mark.fuzz
@given(programs(max_statements=20, odd=True), sequences_of_every, sizes, seeds)
@examples(at_length(3000))
def test_all_ways_agree_at_length(program: Program, names: list[str], size: int, seed: int) -> None:
    """The same as in the files beside, at length, and with more passes, what they make being read back."""
    check(program, names, size, seed, checked=seed % 2 == 1, is_known=seed % 3 == 0)
    check_texts(program, names)


@pytest.mark.fuzz
@given(programs(max_statements=14, effects=False, odd=True), sizes, seeds)
@examples(at_length(600))
def test_threads_agree_at_length(program: Program, size: int, seed: int) -> None:
    """Guards what calls at the same time share: arenas, workspaces, caches of sizes, the words of native loops."""
    check_threads(program, size, seed)
