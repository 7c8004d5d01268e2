"""A virtual machine as TVM's runtime modules show one: a module whose functions are looked up by name.

machine = library["vm_load_executable"]()
machine["vm_initialization"](1, 0, 2)       # device type and number, kind of memory, for each device
machine["main"](x)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar

from baton._src.runtime.module_face import ModuleFace
from baton._src.support.diagnostics import fail
from baton._src.values.device import Device

Function = Callable[..., Any]


class MachineModule(ModuleFace):
    """`functions` of a machine by name; any other name is a function of its program, which `program_function` finds.
    `time_evaluator` measures either. `imports` has the kernels of the program.
    """

    type_key: ClassVar[str] = "relax.VirtualMachine"
    is_binary_serializable: ClassVar[bool] = False

    def __init__(
        self,
        functions: Mapping[str, Function],
        program_function: Callable[[str], Function],
        time_evaluator: Function,
        imports: Sequence[ModuleFace],
    ) -> None:
        self._functions = {"vm_initialization": _check_devices, **functions}
        self._program_function = program_function
        self.time_evaluator = time_evaluator
        self._imports = imports

    @property
    def imported_modules(self) -> Sequence[ModuleFace]:
        return self._imports

    def __deepcopy__(self, memo: Any) -> MachineModule:
        """That of another machine of the same program, which has copies of the inputs and outputs."""
        own = (self._functions, self._program_function, self.time_evaluator)
        return MachineModule(*deepcopy(own, memo), self._imports)

    def __getitem__(self, name: str) -> Function:
        return self._functions.get(name) or self._program_function(name)


def _check_devices(*config: int) -> None:
    """Three numbers a device. Errors: `api`; `device-missing`."""
    if len(config) % 3:
        raise fail("api", f"vm_initialization takes a device type, a number and a kind of memory each, got {config}")
    for kind, number in zip(config[::3], config[1::3]):
        check_present(Device(kind, number))


def check_present(device: Device) -> None:
    """Refuse (`device-missing`) a device that is not there."""
    if not device.exist:
        raise fail("device-missing", f"there is no device {device}", help="code runs on cpu(0)")
