"""Tensors (`tvm.te.tensor`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("te.tensor", "Tensor TensorSlice ComputeOp PlaceholderOp ExternOp ScanOp Operation"),
        **renamed("te.tensor", BaseComputeOp="ComputeOp"),
    },
    before=wire,
)
