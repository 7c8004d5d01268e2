"""TVM's passes for machines with GPUs, which pipelines of scripts compose for every target; here they change nothing.

`RewriteCUDAGraph` records launches of kernels, `LowerGPUIPCAllocStorage` places memory that processes share,
`IPCAllReduceRewrite` chooses how they add up tensors: a program of one process on a CPU has none of these.
"""

from __future__ import annotations

from baton._src.ir.module import IRModule
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


class _ForOtherDevices(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return module


@dataclass(frozen=True)
class RewriteCUDAGraph(_ForOtherDevices):
    """See the module."""


@dataclass(frozen=True)
class LowerGPUIPCAllocStorage(_ForOtherDevices):
    """See the module."""


@dataclass(frozen=True)
class IPCAllReduceRewrite(_ForOtherDevices):
    """See the module."""

    allreduce_strategy: int
    """TVM's number of the algorithm."""
