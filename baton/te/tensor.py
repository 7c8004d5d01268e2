"""Tensors (`tvm.te.tensor`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("te.tensor", "Tensor TensorSlice ComputeOp PlaceholderOp ExternOp ScanOp Operation"),
        **names("driver.tvm_names.tir.absent_kinds", "HybridOp TensorComputeOp"),
        **renamed("te.tensor", BaseComputeOp="ComputeOp"),
    },
    before=wire,
)
