"""Building for the virtual machine (`tvm.relax.vm_build`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **renamed("driver.relax.build", build="relax_build"),
        **renamed("runtime.executable.executable", VMExecutable="Executable"),
        **names("runtime.executable.executable", "Executable"),
    },
    before=wire,
)
