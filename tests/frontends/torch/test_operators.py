"""Every family of operators gives what PyTorch gives: Relax interpreted and compiled, Relay compiled."""

from __future__ import annotations

import pytest

from tests.frontends.torch.cases import FAMILIES
from tests.frontends.torch.cases.factors import linear_algebra
from tests.frontends.torch.cases.indexed import SIZES_FOUND
from tests.frontends.torch.cases.inputs import floats
from tests.frontends.torch.comparing import check, exported_cases


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    exported, inputs, expected = exported_cases(FAMILIES[family])
    check(exported, inputs, expected, family, level=0)  # whole modules are optimised: test_modules.py


def test_sizes_that_a_run_finds() -> None:
    exported, inputs, expected = exported_cases(SIZES_FOUND)
    check(exported, inputs, expected, "run-time sizes", level=0)


def test_linear_algebra() -> None:
    """Only Relax has calls of the machine's functions."""
    exported, inputs, expected = exported_cases(linear_algebra(floats))
    check(exported, inputs, expected, "factors", level=0, relay=False)
