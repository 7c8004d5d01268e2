"""Random kernels in Relax programs: fused with operators, planned and compiled, they do what the interpreter does.

`make fuzz` takes other ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.codegen.llvm.module import CompileOptions
from baton._src.driver.relax.build import relax_build
from baton._src.relax.interpreter import Interpreter
from baton._src.relax.text.printer import script
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.tensor import array
from tests.at_length import seeds_at_length
from tests.properties.tir.agreement import SHAKES, agree
from tests.relax.kernel_programs import KernelProgram, kernel_program


def interpreted(program: KernelProgram, shake: int = 0) -> list[Any]:
    return outputs(Interpreter(program.module)["main"], program, shake)


def outputs(main: Any, program: KernelProgram, shake: int = 0) -> list[Any]:
    return [t.numpy() for t in main(*map(array, program.inputs(shake)))]


def check(seed: int) -> None:
    program = kernel_program(seed)
    options = CompileOptions(workers=1, checked=seed % 3 == 0)
    with np.errstate(all="ignore"):
        wanted = interpreted(program)
        executable = relax_build(program.module, exec_mode=("bytecode", "compiled")[seed % 2], options=options)
        found = outputs(VirtualMachine(executable)["main"], program)
        if not agree(found, wanted):
            hangs_on_rounding = not all(agree(interpreted(program, n), wanted) for n in range(1, SHAKES + 1))
            assert hangs_on_rounding, f"{found}\n{wanted}\n{script(program.module)}"


@pytest.mark.parametrize("seed", range(10))
def test_kernel_programs(seed: int) -> None:
    """Guards what fusion takes of kernels that no operator has, and what their results are kept in."""
    check(seed)


@pytest.mark.fuzz
def test_many_kernel_programs() -> None:
    """Others in each run; the seed stands in the failure."""
    for seed in seeds_at_length(1000):
        try:
            check(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
