"""What a compiled closure says of itself: shape variables that its captures show are values."""

from __future__ import annotations

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.driver.tvm_names.scripts import from_source
from baton._src.runtime.value_info import FunctionValue, TensorValue
from baton._src.runtime.vm.closure_info import captured_info
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.tensor import NDArray

_PROGRAM = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Object:
        n = T.int64()
        @R.function
        def g(y: R.Tensor((n,), "float32")) -> R.Tensor((n,), "float32"):
            z = R.add(x, y)
            return z
        return g

    @R.function
    def cast(f: R.Object) -> R.Object:
        g = R.match_cast(f, R.Callable((R.Tensor((3,), "float32"),), R.Tensor((3,), "float32")))
        return g
"""


@pytest.mark.rule("RELAX-RTSI-5")
@pytest.mark.rule("RELAX-RTSI-5", rejects=True)
@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
def test_captured_shapes_are_known(mode: str) -> None:
    """Guards the closure's information: over three elements it is a function of three, over four it is not."""
    machine = VirtualMachine(relax_build(from_source(_PROGRAM), exec_mode=mode))
    three = machine["main"](np.ones(3, np.float32))
    assert machine["cast"](three)(np.ones(3, np.float32)).numpy().tolist() == [2, 2, 2]
    with pytest.raises(DiagnosticError):
        machine["cast"](machine["main"](np.ones(4, np.float32)))


def test_variables_that_no_capture_shows_stay_open() -> None:
    """Guards partial knowledge: `(n, m)` with only n known keeps m, and expressions are computed."""
    n, m = ["v", 0], ["v", 1]
    info = FunctionValue(
        (TensorValue("float32", 2, (n, m)), TensorValue("float32", 1, (n,))),
        TensorValue("float32", 1, (["*", n, 2],)),
    )
    found = captured_info(info, (NDArray(np.ones(5, np.float32)),))
    assert found.params == (TensorValue("float32", 2, (5, m)),)
    assert found.ret == TensorValue("float32", 1, (10,))
