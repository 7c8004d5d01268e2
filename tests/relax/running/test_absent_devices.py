"""Programs run on the CPU: what is placed elsewhere is refused, not run there without a word."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.support.diagnostics import DiagnosticError
from tests.relax.machines import MODES, everywhere, machine

PROGRAM = """
I.module_global_infos({{"vdevice": [I.vdevice("llvm"), I.vdevice("cuda"), I.vdevice("llvm", 1)]}})

@R.function
def main(x: R.Tensor((2,), "float32"{}), y: R.Tuple(R.Tensor((2,), "float32"{}))):
    {}
    return R.exp(z)
"""


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("program", "who"),
    [
        (PROGRAM.format("", "", 'z = R.to_vdevice(x, "cuda:0")'), "the result of to_vdevice"),
        (PROGRAM.format(', "cuda:0"', "", "z = R.add(x, x)"), "argument x"),
        (PROGRAM.format("", ', "cuda:0"', "z = y[0]"), "argument y"),
    ],
    ids=["copied", "parameter", "field"],
)
def test_tensors_of_devices_that_are_not_there_are_refused(program: str, who: str, mode: str) -> None:
    """They were computed on the CPU."""
    ones = np.ones(2, np.float32)
    with pytest.raises(DiagnosticError, match="is on cuda:0:global, but programs run on the CPU") as error:
        machine(program, mode)["main"](ones, (ones,))
    assert error.value.code == "absent-device"
    assert who in str(error.value)


def test_cpus_of_any_number_are_there() -> None:
    """A target for CPUs is one that programs run on."""
    program = PROGRAM.format(', "llvm:0"', "", 'z = R.to_vdevice(x, "llvm:1")')
    found = everywhere(program, np.zeros(2, np.float32), (np.zeros(2, np.float32),))
    np.testing.assert_array_equal(found.numpy(), np.ones(2, np.float32))
