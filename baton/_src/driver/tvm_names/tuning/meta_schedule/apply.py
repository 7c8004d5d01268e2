"""Replace the kernels of a module by their best known schedules."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.ir.op_def import Fusion
from baton._src.tir.prim_func import PrimFunc, as_scheduled


def with_best_kernels(module: IRModule, best: Callable[[PrimFunc], PrimFunc | None], warn: bool = False) -> IRModule:
    """The module with the kernels that are known replaced. They are not fused any more: records are of them alone."""
    changed: dict[Any, Any] = {}
    for var, func in module.functions.items():
        if not isinstance(func, PrimFunc) or func.attrs.get("tir.is_scheduled"):
            continue
        found = best(func)
        if found is not None:
            changed[var] = as_scheduled(found).with_attr("op_pattern", int(Fusion.OPAQUE))
        elif warn:
            warnings.warn(f"the database has no record of kernel {var.name_hint}", stacklevel=3)
    return module.with_functions({**module.functions, **changed}) if changed else module
