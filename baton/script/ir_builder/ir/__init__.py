"""Building modules with the IR builder (`tvm.script.ir_builder.ir`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("script.ir_builder.module_frames", "ir_module decl_function def_function module_attrs lookup_vdevice"),
        **names("script.ir_builder.module_frames", "current_ir_module module_get_attr module_get_attrs"),
        **names("script.ir_builder.module_frames", "module_set_attr module_global_infos IRModuleFrame"),
        **names("script.namespaces", "vdevice"),
        **submodules("baton.script.ir_builder.ir", "frame"),
    },
    before=wire,
)
