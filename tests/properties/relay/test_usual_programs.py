"""Random Relay programs, of the usual size: one value everywhere. 236 in all files here, thousands in `make fuzz`."""

from __future__ import annotations

import pytest

from tests.properties.relay.agreement import agreement

test_programs = pytest.mark.rule("RELAY-EXEC-1")(agreement(60))
