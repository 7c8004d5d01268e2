"""Many and longer programs: `make fuzz`."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.at_length import at_length
from tests.properties.relax.agreement import check, check_texts, examples, seeds, sequences_of_every, sizes
from tests.relax.random_programs.strategies import Program, programs


@pytest.mark.fuzz
@given(programs(max_statements=20, odd=True), sequences_of_every, sizes, seeds)
@examples(at_length(3000))
def test_all_ways_agree_at_length(program: Program, names: list[str], size: int, seed: int) -> None:
    """The same as in the files beside, at length, and with more passes, what they make being read back."""
    check(program, names, size, seed, checked=seed % 2 == 1, is_known=seed % 3 == 0)
    check_texts(program, names)
