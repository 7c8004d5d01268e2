"""Every family of operators gives what PyTorch gives: Relax interpreted and compiled, Relay compiled."""

from __future__ import annotations

import pytest

from tests.frontends.torch.cases import FAMILIES
from tests.frontends.torch.cases.factors import linear_algebra
from tests.frontends.torch.cases.indexed import ONLY_IN_RELAX, SIZES_FOUND
from tests.frontends.torch.cases.inputs import Case, floats
from tests.frontends.torch.comparing import check, exported_cases


@pytest.mark.parametrize("family", FAMILIES)
def test_family(family: str) -> None:
    exported, inputs, expected = exported_cases(FAMILIES[family])
    check(exported, inputs, expected, family, level=0)  # whole modules are optimised: test_modules.py


@pytest.mark.parametrize(("cases", "relay"), [(SIZES_FOUND, True), (ONLY_IN_RELAX, False)], ids=["found", "said"])
def test_sizes_that_a_run_finds(cases: list[Case], relay: bool) -> None:
    exported, inputs, expected = exported_cases(cases)
    check(exported, inputs, expected, "run-time sizes", level=0, relay=relay)


def test_linear_algebra() -> None:
    """Only Relax has calls of the machine's functions."""
    exported, inputs, expected = exported_cases(linear_algebra(floats))
    check(exported, inputs, expected, "factors", level=0, relay=False)
