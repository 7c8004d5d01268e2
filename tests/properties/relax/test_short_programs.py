"""Programs of a few statements, where every combination of two or three kinds occurs; some with bounds checks."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.properties.relax.agreement import SHARE, check, examples, seeds, sequences, sizes
from tests.relax.random_programs.strategies import Program, programs


@pytest.mark.rule("RELAX-PASS-30")
@pytest.mark.rule("RELAX-SEM-10")
@given(programs(max_statements=4), sequences, sizes, seeds)
@examples(SHARE)
def test_all_ways_agree(program: Program, names: list[str], size: int, seed: int) -> None:
    """Value, printed text, logged tensors, changes of arguments; bounds checks (in a sixth of the runs) are silent."""
    check(program, names, size, seed, checked=seed == 5)
