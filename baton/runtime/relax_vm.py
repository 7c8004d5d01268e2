"""The Relax virtual machine (`tvm.runtime.relax_vm`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("runtime.vm.virtual_machine", "VirtualMachine VMInstrumentReturnKind"),
        # `relax.vm.build`: the name before `relax.build`, in courses and older scripts.
        **renamed("driver.relax.build", build="relax_build"),
    },
    before=wire,
)
