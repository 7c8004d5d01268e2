"""What runs compiled programs (`tvm.runtime`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("values.tensor", "NDArray"),
        **names("values.device", "Device"),
        **names("values.dtype", "DataType"),
        **names("driver.registry", "convert"),
        **names("driver.load_module", "load_module Module"),
        **names("values.packed_func", "PackedFunc"),
        **names("values.shape", "ShapeTuple"),
        **submodules("baton.runtime", "ndarray relax_vm vm profiler_vm container"),
        **names("driver.devices", "cpu device"),
        **names("driver.arrays", "load_param_dict save_param_dict"),
    },
)
