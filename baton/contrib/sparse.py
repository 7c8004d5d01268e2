"""Sparse matrices (`tvm.contrib.sparse`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    names("driver.tvm_names.contrib.sparse_arrays", "CSRNDArray CSRPlaceholderOp array placeholder"),
    before=wire,
)
