"""Products of matrices that kernels leave to packed functions (`tvm.contrib.mkl`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    renamed(
        "driver.tvm_names.contrib.blas",
        matmul="mkl_matmul",
        matmul_u8s8s32="mkl_matmul_u8s8s32",
        batch_matmul="mkl_batch_matmul",
    ),
    before=wire,
)
