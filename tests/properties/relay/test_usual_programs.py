"""Random Relay programs, of the usual size: one value everywhere. 2,000 in all files of this folder."""

from __future__ import annotations

import pytest

from tests.properties.relay.agreement import agreement

test_programs = pytest.mark.rule("RELAY-EXEC-1")(agreement(500))
