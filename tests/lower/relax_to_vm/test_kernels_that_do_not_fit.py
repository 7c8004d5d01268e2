"""Kernels called with tensors they are not made for: refused when the program runs, in both modes of execution.

Guarded: a native entry passes mere addresses, so what is not certain to fit has to be looked at by the machine. The
modules are not checked when they are read, as those that passes and builders make are not.
"""

from __future__ import annotations

import numpy as np
import pytest

import baton
from baton import relax
from baton._src.support.diagnostics import DiagnosticError

KERNELS = {
    "results that are too small": (
        "",
        '(8,), "float32"',
        '(8,), "float32"',
        '(4,), "float32"',
        "dimension 0 is 4, expected 8",
    ),
    "results whose size is another expression": (
        "",
        '(k,), "float32"',
        '(k * 2,), "float32"',
        '(n,), "float32"',
        "dimension 0 is 4, expected 8",
    ),
    "results of another dtype": (
        "",
        '(4,), "float32"',
        '(4,), "int32"',
        '(4,), "float64"',
        "expected a tensor of dtype int32",
    ),
    "integers that are no sizes": (
        ", tir_vars=R.shape([n * 1000000])",
        '(m,), "float32"',
        '(m,), "float32"',
        '(n,), "float32"',
        "dimension 0 is 4, expected 4000000",
    ),
}
"""Further arguments of call_tir, what the kernel takes, what it gives, what the program says it gives, the error."""

PROGRAM = """
@I.ir_module
class M:
    @T.prim_func
    def kernel(x: T.handle, y: T.handle{scalar}):
        T.func_attr({{"tir.noalias": True}})
        {variable}
        A = T.match_buffer(x, {takes})
        B = T.match_buffer(y, {gives})
        for i in range(B.shape[0]):
            with T.block("b"):
                v = T.axis.spatial(B.shape[0], i)
                B[v] = T.Cast(B.dtype, A[v // 2])

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        return R.call_tir(M.kernel, (x,), out_sinfo=R.Tensor({said}){more})
"""


@pytest.mark.parametrize("exec_mode", ["bytecode", "compiled"])
@pytest.mark.parametrize("what", KERNELS)
def test_refused(what: str, exec_mode: str) -> None:
    more, takes, gives, said, message = KERNELS[what]
    scalar = ", m: T.int64" if more else ""
    text = PROGRAM.format(
        more=more, takes=takes, gives=gives, said=said, scalar=scalar, variable="k = T.int64()" if "k" in takes else ""
    )
    module = baton.script.from_source(text, check_well_formed=False)
    main = relax.VirtualMachine(relax.build(module, "llvm", exec_mode=exec_mode), baton.cpu())["main"]
    with pytest.raises(DiagnosticError, match=message):
        main(baton.nd.array(np.ones(4, "float32")))
