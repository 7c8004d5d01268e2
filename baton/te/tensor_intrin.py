"""Tensor intrinsics for tensor expressions (`tvm.te.tensor_intrin`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__, names("te.tensor_intrin", "TensorIntrin decl_tensor_intrin"), before=wire
)
