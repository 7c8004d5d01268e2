"""Profiling Relay's virtual machine (`tvm.runtime.profiler_vm`)."""

from __future__ import annotations

from typing import Any

from baton._src.driver.relay.vm import VirtualMachine
from baton._src.runtime.timing import Profile
from baton._src.values.device import CPU, Device


def enabled() -> bool:
    """Whether profiling is available."""
    return True


class VirtualMachineProfiler(VirtualMachine):
    """A virtual machine that measures the time of each kernel."""

    def __init__(self, exe: Any, device: Device = CPU, memory_cfg: Any = None) -> None:
        super().__init__(exe, device, memory_cfg)
        self._given: dict[str, tuple[Any, ...]] = {}

    def set_input(self, func_name: str, *args: Any, **kwargs: Any) -> None:
        """Keep the arguments of the next run of `func_name`."""
        super().set_input(func_name, *args, **kwargs)
        names = self.machine.executable.entry(func_name).params[len(args) :]
        self._given[func_name] = (*args, *(kwargs[n] for n in names if n in kwargs))

    def profile(self, *args: Any, func_name: str = "main", collectors: Any = None, **kwargs: Any) -> Profile:
        """One run of `func_name`; without arguments, with those of `set_input`."""
        if args or kwargs:
            self.set_input(func_name, *args, **kwargs)
        return self.machine.profile(func_name, *self._given.get(func_name, ()))

    def get_stat(self, sort_by_time: bool = True) -> str:
        """The profile in TVM's older text format."""
        return self.profile().table(sort=sort_by_time)
