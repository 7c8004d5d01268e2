"""Bindings whose annotation says more than is known of the value: a run checks them, as it does casts."""

from __future__ import annotations

from typing import Any

from baton._src.ir.op_def import DimProver
from baton._src.relax.check.base_check import BaseCheckResult, struct_info_base_check
from baton._src.relax.nodes import VarBinding


def is_narrowed(binding: Any, prover: DimProver) -> bool:
    """Whether a binding's annotation is more specific than its value's StructInfo, so that it has to be checked."""
    if not isinstance(binding, VarBinding):
        return False
    said, known = binding.var.struct_info_, getattr(binding.value, "struct_info_", None)
    if said is None or known is None or said is known:
        return False
    return struct_info_base_check(said, known, prover) is not BaseCheckResult.PASS
