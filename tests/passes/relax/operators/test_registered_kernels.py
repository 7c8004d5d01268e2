"""What scripts register for Relax's operators (`FLegalize`) is what programs compute, however they are built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import baton as tvm
from baton import relax, topi
from baton._src.ir.filled_columns import FILLED
from baton._src.support.diagnostics import DiagnosticError
from baton.script import from_source

X = np.linspace(-1, 1, 4).astype("float32")
NAME = "relax.add"


@pytest.fixture(autouse=True)
def registry() -> Iterator[None]:
    """What a test registers is forgotten."""
    before = set(FILLED)
    yield
    tvm.ir.Op.get(NAME).reset_attr("FLegalize")
    FILLED.intersection_update(before)


def program() -> Any:
    return from_source("""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")):
        with R.dataflow():
            sum = R.add(x, y)
            twice = R.multiply(sum, R.const(2.0, "float32"))
            R.output(twice)
        return twice
""")


def results(pipeline: str = "default_build") -> list[Any]:
    found = []
    for mode in ("bytecode", "compiled"):
        machine = relax.VirtualMachine(relax.build(program(), "llvm", pipeline=pipeline, exec_mode=mode), tvm.cpu())
        found.append(machine["main"](tvm.nd.array(X), tvm.nd.array(X * 3)).numpy())
    return found


def as_te(builder: Any, call: Any) -> Any:
    return builder.call_te(lambda a, b: topi.subtract(a, b), *call.args)


def as_emitted(builder: Any, call: Any) -> Any:
    negated = builder.emit_te(topi.negative, call.args[1])
    return builder.call_te(topi.add, call.args[0], negated)


def as_itself(builder: Any, call: Any) -> Any:
    """Of the operator again: applied to what it gave, it would change the sign back."""
    return relax.op.add(call.args[0], relax.op.negative(call.args[1]))


@pytest.mark.parametrize(
    ("rule", "pipeline"),
    [*((rule, "default_build") for rule in (as_te, as_emitted, as_itself)), (as_te, "zero"), (as_emitted, "zero")],
)
def test_registered_kernels_take_the_operators_place(rule: Any, pipeline: str) -> None:
    """Guards against registered kernels that nothing reads, and against rules that are applied twice."""
    tvm.ir.register_op_attr(NAME, "FLegalize", rule)
    for found in results(pipeline):
        np.testing.assert_allclose(found, 2 * (X - 3 * X), rtol=1e-6)


def test_columns_that_nothing_reads_are_refused() -> None:
    """Guards the catalogue: a name of Relax became an operator of Relay, and importing builders failed."""
    for name, key in ((NAME, "FInferStructInfo"), ("relax.no_such", "FLegalize")):
        with pytest.raises(DiagnosticError, match=r"part of baton's definition|no_such"):
            tvm.ir.register_op_attr(name, key, as_te)
    with pytest.raises(DiagnosticError, match="no_such"):
        tvm.relay.op.op.register("relax.no_such")
    assert "relax.no_such" not in tvm.ir.Op.list_op_names()
