"""Models, packages and results (`tvm.driver.tvmc.model`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.tvmc.model", "TVMCModel"),
        **names("driver.tvm_names.tvmc.package", "TVMCPackage"),
        **names("driver.tvm_names.tvmc.result", "TVMCResult"),
    },
    before=wire,
)
