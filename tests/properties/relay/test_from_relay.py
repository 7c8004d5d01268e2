"""`relax.from_relay` of random Relay programs: well-formed, prints, parses back, computes the same."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings

from baton._src.driver.relax.build import relax_build
from baton._src.driver.relay.to_relax import from_relay
from baton._src.driver.tvm_names.scripts import from_source
from baton._src.ir.module import IRModule
from baton._src.ir.structural import assert_structural_equal
from baton._src.relax.well_formed import well_formed
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from tests.at_length import at_length
from tests.passes.relay.test_values_stay import same
from tests.properties.relay.agreement import ARGUMENTS, interpreted
from tests.relay.programs import plain
from tests.relay.random_programs import whole_modules


def check(module: IRModule) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        relax = from_relay(module)
        text = relax.script(show_meta=True)
        note(text)
        assert well_formed(relax) == []
        back = from_source(text)
        assert_structural_equal(relax, back)
        machine = VirtualMachine(relax_build(back))["main"]
        found = [plain(machine(np.array(c), v, np.array(n, "int32"))) for c, v, n in ARGUMENTS]
        assert same(found, interpreted(module))


@pytest.mark.rule("RELAY-BUILD-4")
@given(whole_modules())
@settings(max_examples=36, suppress_health_check=list(HealthCheck))
def test_programs_move_to_relax(module: IRModule) -> None:
    check(module)


@pytest.mark.fuzz
@given(whole_modules())
@settings(max_examples=at_length(2000), suppress_health_check=list(HealthCheck))
def test_many_programs_move_to_relax(module: IRModule) -> None:
    check(module)
