"""Programs without effects: every machine and every sequence of passes gives the same values."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.properties.relax.agreement import SHARE, check, examples, seeds, sequences, sizes
from tests.relax.random_programs.strategies import Program, programs


@pytest.mark.rule("RELAX-PASS-30")
@pytest.mark.rule("RELAX-SEM-10")
@given(programs(effects=False), sequences, sizes, seeds)
@examples(SHARE)
def test_all_ways_agree(program: Program, names: list[str], size: int, seed: int) -> None:
    """Value, printed text, logged tensors, changes of arguments; and what passes make is well-formed."""
    check(program, names, size, seed)
