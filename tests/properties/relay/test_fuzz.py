"""`make fuzz`: many random Relay programs, large ones, and all that passes make of them."""

from __future__ import annotations

import pytest

from tests.at_length import at_length
from tests.properties.relay.agreement import agreement, agreement_after_every_pass

test_many_programs = pytest.mark.fuzz(agreement(at_length(8000), has_rare=True))
test_large_programs = pytest.mark.fuzz(agreement(at_length(1200), depth=8, budget=250, has_rare=True))
test_every_pass = pytest.mark.fuzz(agreement_after_every_pass(at_length(1600), has_rare=True))
