"""Products of matrices that kernels leave to packed functions (`tvm.contrib.cblas`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    renamed("driver.tvm_names.contrib.blas", matmul="cblas_matmul", batch_matmul="cblas_batch_matmul"),
    before=wire,
)
