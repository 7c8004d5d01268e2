"""Programs lowered by hand run in the interpreter after each step, those for a bytecode machine included."""

from __future__ import annotations

import numpy as np

from baton import relax
from baton._src.relax.interpreter import Interpreter
from baton._src.values.tensor import NDArray
from tests.relax.build import module

X = relax.transform
STEPS = (
    X.LegalizeOps(), X.LambdaLift(), X.ToNonDataflow(), X.RemovePurityChecking(), X.CallTIRRewrite(),
    X.StaticPlanBlockMemory(), X.LowerAllocTensor(), X.KillAfterLastUse(), X.VMBuiltinLower(), X.ComputePrimValue(),
    X.VMShapeLower(),
)  # fmt: skip
PROGRAM = """
@R.function
def main(x: R.Tensor(("n", "m"), "float32"), twice: R.Tensor((), "bool")) -> R.Tensor("float32", ndim=1):
    n, m = T.int64(), T.int64()
    y = R.reshape(x, R.shape([n * m]))

    @R.function
    def more(z: R.Tensor((n * m,), "float32")) -> R.Tensor("float32", ndim=1):
        return R.add(y, z)

    if twice:
        r = more(y)
    else:
        r = R.negative(y)
    return r
"""


def test_each_step_is_interpreted() -> None:
    """Guards memory of shape variables, and closures, as machine functions: there were no such packed functions."""
    program, data = module(PROGRAM), np.arange(6, dtype="float32").reshape(2, 3)
    for step in STEPS:
        program = step(program)
        for twice, wanted in ((True, data.ravel() * 2), (False, -data.ravel())):
            found = Interpreter(program)["main"](NDArray(data), NDArray(np.array(twice)))
            np.testing.assert_array_equal(found.numpy(), wanted, err_msg=str(step))
