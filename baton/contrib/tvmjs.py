"""Folders of parameters (`tvm.contrib.tvmjs`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__, names("driver.tvm_names.contrib.tensor_cache", "dump_ndarray_cache load_ndarray_cache")
)
