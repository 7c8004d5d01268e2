"""Data types (`tvm._ffi.runtime_ctypes`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("values.dtype", "DataType DataTypeCode"),
        **names("values.device", "Device"),
    },
)
