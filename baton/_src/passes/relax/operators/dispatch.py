"""TVM's passes that choose an implementation by device; on CPUs there is nothing to choose.

`DispatchSampling` and `DispatchSortScan` replace sampling, sorting and scans by kernels for the target. Here these
operators have their own kernels, which `LegalizeOps` puts in place, so the module stays as it is.
"""

from __future__ import annotations

from baton._src.ir.module import IRModule
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass


@dataclass(frozen=True)
class DispatchSampling(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return module


@dataclass(frozen=True)
class DispatchSortScan(Pass):
    """See the module."""

    def run(self, module: IRModule, ctx: PassContext) -> IRModule:
        return module
