"""The keys of tuning records: a kernel by its computation, regardless of its name and how it is fused."""

from __future__ import annotations

import hashlib

from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import fail
from baton._src.tir.kernel_digest import kernel_digest
from baton._src.tir.prim_func import CHOICES, PrimFunc

CONSTANT_WEIGHT = "baton.constant_weight"
"""The attribute of a convolution in a task whose weight is known when the program is compiled."""
KERNEL = "baton.kernel"
"""The name of workloads that are kernels of programs, in logs."""
_NO_CONTENT = ("tir.noalias", "op_pattern", CHOICES, CONSTANT_WEIGHT)


def workload_key(func: PrimFunc) -> str:
    """The name of what a kernel computes; empty for kernels whose content cannot be told."""
    kept = {name: value for name, value in func.attrs.items() if name not in _NO_CONTENT}
    digest = kernel_digest(func.with_fields(attrs=kept))
    return "" if digest is None else digest.name


def has_constant_weight(func: PrimFunc) -> bool:
    """Whether the kernel is a convolution whose weight is known when the program is compiled."""
    return bool(func.attrs.get(CONSTANT_WEIGHT))


def module_key(module: IRModule) -> str:
    """The name of what a module of kernels computes."""
    kernels = {v.name_hint: f for v, f in module.functions.items() if isinstance(f, PrimFunc)}
    if len(kernels) == 1:
        return workload_key(next(iter(kernels.values())))
    named = sorted((name, workload_key(func)) for name, func in kernels.items())
    return hashlib.sha256(repr(named).encode()).hexdigest()


def normalized(module: IRModule | PrimFunc) -> IRModule:
    """The kernel as `main` of a module."""
    if isinstance(module, PrimFunc):
        return IRModule({"main": module})
    return IRModule({"main": only_kernel(module)})


def only_kernel(module: IRModule) -> PrimFunc:
    """The kernel of a module with one."""
    kernels = [f for f in module.functions.values() if isinstance(f, PrimFunc)]
    if len(kernels) != 1:
        raise fail(
            "tuning-kernel", f"a workload is one kernel, got a module with {len(kernels)}", help="give the PrimFunc"
        )
    return kernels[0]
