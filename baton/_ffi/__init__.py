"""Functions by name (`tvm._ffi`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.registry", "register_func get_global_func"),
        **submodules("baton._ffi", "base registry runtime_ctypes"),
    },
)
