"""`baton.build`: what is given decides what comes out."""

from __future__ import annotations

import numpy as np

import baton
from baton._src.driver.tvm_names.scripts import from_source
from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.vm.virtual_machine import VirtualMachine


def test_relax_modules_are_built_as_programs() -> None:
    """Guards the dispatch: a module with a Relax function, and the function alone, become executables."""
    module = from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y = R.multiply(x, x)
        return y
""")
    for given in (module, module["main"]):
        built = baton.build(given, target="llvm")
        assert isinstance(built, Executable)
        assert VirtualMachine(built)["main"](np.full(3, 3, np.float32)).numpy().tolist() == [9, 9, 9]
