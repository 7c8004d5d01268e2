"""What a server shows a session: this machine's devices and functions, and a folder for files."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from baton._src.driver.relay.vm import VirtualMachine as RelayMachine
from baton._src.driver.tuning.child import Child, NoAnswer
from baton._src.driver.tuning.runs import LibraryRun, Times
from baton._src.driver.tvm_names.contrib.temporary import TempDirectory
from baton._src.driver.tvm_names.remote.errors import RPCError
from baton._src.driver.tvm_names.remote.local_session import LocalSession
from baton._src.runtime.graph.graph_debug_executor import GraphModuleDebug
from baton._src.runtime.graph.graph_executor import GraphModule
from baton._src.runtime.module_face import ModuleFace
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.device import Device
from baton._src.values.tensor import AnyArray, NDArray, array

EXECUTORS = {
    "GraphModule": GraphModule,
    "GraphModuleDebug": GraphModuleDebug,
    "VirtualMachine": VirtualMachine,
    "RelayMachine": RelayMachine,
}


class Services(LocalSession):
    """The first object of a session's other side."""

    def __init__(self, files: TempDirectory, libraries: Sequence[ModuleFace] = ()) -> None:
        super().__init__(files)
        self._libraries = libraries
        self._child = Child()

    def get_function(self, name: str) -> Any:
        """A function of the libraries that the server loaded, or a registered one."""
        library = next((one for one in self._libraries if one.implements_function(name)), None)
        return super().get_function(name) if library is None else library[name]

    def close(self) -> None:
        """The session ends."""
        self._child.close()

    def measured(self, request: str, seconds: float) -> str:
        """The answer of a process that measures (`tuning.runs`) to a request; libraries are uploaded files."""
        data = json.loads(request)
        if "library" in data:
            run = LibraryRun.from_data(data)
            request = dataclasses.replace(run, library=str(self._found(run.library))).to_text()
        answer = self._child.answer(request, seconds)
        return Times(error=answer.why).to_text() if isinstance(answer, NoAnswer) else answer

    def has_device(self, device: Device) -> bool:
        """Whether code runs there."""
        return device.exist

    def tensor(self, contents: AnyArray, device: Device) -> NDArray:
        """A tensor of this machine with a copy of the array."""
        return array(contents, device)

    def opened(self, kind: str, module: Any, *args: Any, **kwargs: Any) -> Any:
        """An executor of a library, by the name of its class."""
        if kind not in EXECUTORS:
            raise RPCError(f"there is no executor {kind!r}: {', '.join(EXECUTORS)}")
        return EXECUTORS[kind](module, *args, **kwargs)
