"""Pipelines of scripts compose passes for GPUs whatever the target is: on a CPU they change nothing."""

from __future__ import annotations

import baton
from baton import relax
from baton.script import from_source

TEXT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), "float32")):
        with R.dataflow():
            y = R.exp(x)
            R.output(y)
        return y
"""


def test_they_leave_modules_as_they_are() -> None:
    module = from_source(TEXT)
    passes = relax.transform
    pipeline = baton.transform.Sequential(
        [passes.IPCAllReduceRewrite(1), passes.RewriteCUDAGraph(), passes.LowerGPUIPCAllocStorage()]
    )
    with baton.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        assert pipeline(module) is module
