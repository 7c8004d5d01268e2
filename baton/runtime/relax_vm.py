"""The Relax virtual machine (`tvm.runtime.relax_vm`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("runtime.vm.virtual_machine", "VirtualMachine VMInstrumentReturnKind"),
    },
)
