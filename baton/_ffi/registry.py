"""Functions by name (`tvm._ffi.registry`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.registry", "register_func get_global_func remove_global_func list_global_func_names"),
    },
)
