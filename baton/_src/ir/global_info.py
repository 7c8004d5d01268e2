"""Facts about a module that its functions refer to: virtual devices (`IRModule.global_infos["vdevice"]`)."""

from __future__ import annotations

from baton._src.ir.target import Target
from baton._src.ir.target_description import Description
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

_CPU = 1
"""DLPack's number of the kind of device."""


class GlobalInfo:
    """A fact about a module, as TVMScript defines it under `I.module_global_infos`."""

    __slots__ = ()

    def script(self) -> str:
        """How TVMScript defines it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return self.script()


@dataclass(frozen=True, slots=True, repr=False, init=False)
class VDevice(GlobalInfo):
    """A device that tensors can be on: a target, its number among that target's devices, a memory scope."""

    target: Target
    vdevice_id: int
    memory_scope: str

    def __init__(
        self, target: Target | Description = "llvm", vdevice_id: int = 0, memory_scope: str = "global"
    ) -> None:
        """`target` may be anything that `Target` accepts, such as a text or a dictionary of options."""
        object.__setattr__(self, "target", target if isinstance(target, Target) else Target(target))
        object.__setattr__(self, "vdevice_id", vdevice_id)
        object.__setattr__(self, "memory_scope", memory_scope)

    def check_present(self, place: str) -> None:
        """Programs run on the CPU: an error (`absent-device`) unless this is one. `place`: what should live here."""
        if self.target.get_target_device_type() != _CPU:
            raise fail(
                "absent-device",
                f"{place} is on {self.reference()}, but programs run on the CPU",
                help='give it a device of a target for CPUs, such as I.vdevice("llvm"): relax.transform.UpdateVDevice',
            )

    def script(self) -> str:
        """How TVMScript defines it."""
        return f'I.vdevice("{self.target.short_text()}", {self.vdevice_id}, "{self.memory_scope}")'

    def reference(self) -> str:
        """How annotations name it."""
        return f"{self.target.short_text()}:{self.vdevice_id}:{self.memory_scope}"


@dataclass(frozen=True, slots=True, repr=False)
class DummyGlobalInfo(GlobalInfo):
    """A global info without contents (`I.dummy_global_info()`)."""

    def script(self) -> str:
        """How TVMScript defines it."""
        return "I.dummy_global_info()"
