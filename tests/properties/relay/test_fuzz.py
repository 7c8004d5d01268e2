"""`make fuzz`: as many random Relay programs as time allows (`--hypothesis-seed`, or raise the number here)."""

from __future__ import annotations

import pytest

from tests.properties.relay.agreement import agreement, agreement_after_every_pass

test_many_programs = pytest.mark.fuzz(agreement(20_000, has_rare=True))
test_large_programs = pytest.mark.fuzz(agreement(5_000, depth=8, budget=250, has_rare=True))
test_every_pass = pytest.mark.fuzz(agreement_after_every_pass(2_000, has_rare=True))
