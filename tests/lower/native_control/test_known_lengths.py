"""Functions of the machine call the kernels of loops whose numbers of rows a cast says in advance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton._src.driver.relax.build import relax_build
from baton._src.relax.interpreter import Interpreter
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.tensor import array
from tests.relax.build import load

PROGRAM = """
from baton.script import ir as I, relax as R, tir as T
@I.ir_module
class M:
    @R.function(private=True)
    def loop(
        i: R.Tensor((), "int64"), x: R.Tensor(("n",), "float32"), rows: R.Tensor(("count", "n"), "float32"),
    ) -> R.Tuple(R.Tensor((), "int64"), R.Tensor(("n",), "float32"), R.Tensor(dtype="float32", ndim=2)):
        if R.less(i, R.const(1, "int64")):
            r = (i, x, rows)
        else:
            y = R.add(x, R.const(1.0, "float32"))
            longer = R.concat((rows, R.expand_dims(y, [0])), axis=0)
            r = M.loop(R.subtract(i, R.const(1, "int64")), y, longer)
        return r

    @R.function
    def main(k: R.Tensor((1,), "int64"), x: R.Tensor(("n",), "float32")) -> R.Object:
        n = T.int64()
        m = T.int64()
        sizes = R.match_cast(R.tensor_to_shape(R.add(k, k)), R.Shape([m]))
        r = M.loop(R.reshape(TRIPS, ()), R.add(x, x), R.zeros(R.shape([0, n]), "float32"))
        CAST
        return RESULT
"""
CAST = 'rows = R.match_cast(r[2], R.Tensor((m, n), "float32"))'
RESULT = "(R.sum(rows, axis=[0]), R.add(rows, rows), r[1])"


def program(trips: str = "R.add(k, k)", cast: str = CAST, result: str = RESULT) -> Any:
    return load(PROGRAM.replace("TRIPS", trips).replace("CAST", cast).replace("RESULT", result))


def compared(module: Any, trips: int) -> Any:
    """Check what the program computes against the interpreter; returns the executable."""
    executable = relax_build(module)
    given = [array(np.array([trips])), array(np.linspace(0, 1, 3).astype("float32"))]
    found, wanted = VirtualMachine(executable)["main"](*given), Interpreter(module, {})["main"](*given)
    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=1e-5)
    return executable


@pytest.mark.parametrize("trips", [0, 1, 3, 200])
def test_the_loop_is_a_kernel_of_what_surrounds_it(trips: int) -> None:
    """Guards numbers of rows that are read before: the machine ran around the loop's kernel, and copied the rows."""
    executable = compared(program(), trips)
    assert "loop" not in executable.function_index


def test_a_number_of_rows_that_is_wrong() -> None:
    main = VirtualMachine(relax_build(program(trips="R.sum(k)")))["main"]
    with pytest.raises(DiagnosticError, match="match_cast to rows: dimension 0 is 3 "):
        main(array(np.array([3])), array(np.ones(3, "float32")))


@pytest.mark.parametrize("changed", [
    {"cast": 'l = T.int64(); rows = R.match_cast(r[2], R.Tensor((l, n), "float32"))'},
    {"result": "(r[0], rows, R.call_pure_packed('test.second', r, sinfo_args=R.Tensor((n,), 'float32')))"},
], ids=["length of its own", "whole result"])  # fmt: skip
def test_what_is_left_to_the_machine(changed: dict[str, str]) -> None:
    """Lengths that nothing says before, and results that are read as a whole."""
    lines = {name: text.replace("; ", "\n        ") for name, text in changed.items()}
    assert "loop" in relax_build(program(**lines)).function_index
