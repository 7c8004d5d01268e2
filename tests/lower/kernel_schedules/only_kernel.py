"""The kernel that a module of one fused computation becomes."""

from __future__ import annotations

from baton._src.ir.module import IRModule
from baton._src.passes.pipelines import kernels
from baton._src.tir.prim_func import PrimFunc


def only_kernel(module: IRModule) -> PrimFunc:
    """Legalised and fused, the module has one kernel: this one, not yet scheduled."""
    for step in kernels():
        module = step(module)
    (found,) = [f for f in module.functions.values() if isinstance(f, PrimFunc)]
    return found
