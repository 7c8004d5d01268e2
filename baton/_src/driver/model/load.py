"""`load`: load an artifact as a `Model`, without the compiler.

Importing the compiler takes ten times as long as loading; only programs that compile operators at run time need it, and
they import it then.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from baton._src.driver.external_code import kept_code
from baton._src.driver.model.model import Model
from baton._src.driver.stages import Stages
from baton._src.runtime.executable.executable import Executable, load_executable
from baton._src.runtime.vm.machine_module import MachineModule
from baton._src.runtime.vm.virtual_machine import VirtualMachine
from baton._src.values.packed_func import PackedFunc


def load(path: str | Path, num_threads: int | None = None, *, verify: bool = False) -> Model:
    """The model of an artifact that `Model.save` wrote; its weights are mapped into memory, not read.

    With `verify=True` the weights are read once, to compare their checksum; everything else is always checked.
    Raises `DiagnosticError`: `file-missing`, `executable-corrupt`, `executable-version`, `object-target`.
    """
    return loaded_model(attach_operators(load_executable(path, verify), "llvm"), num_threads)


def loaded_model(executable: Executable, num_threads: int | None) -> Model:
    """The model of a previously compiled executable."""
    return Model(executable, num_threads=num_threads, stages=Stages(rules=dict(executable.facts.get("schedules", {}))))


def attach_operators(executable: Executable, target: Any) -> Executable:
    """The executable with run-time compilation of operators for `target` (a `Target`, or the text of one), the code of
    external compilers that it holds, and the machine that runs it.
    """
    operators = {"call_operator": PackedFunc(_RunTimeOperators(target), "call_operator")}
    return dataclasses.replace(executable, attached={**operators, **kept_code(executable)}, loader=_machine)


def _machine(executable: Executable, profile: bool) -> MachineModule:
    return VirtualMachine(executable, profile=profile).module


class _RunTimeOperators:
    """An `OperatorCompiler` that is made, and imported, when it is first called."""

    def __init__(self, target: Any) -> None:
        self._target = target
        self._compiler: Any = None

    def __call__(self, name: str, attributes: Mapping[str, Any], args: Sequence[Any]) -> Any:
        if self._compiler is None:
            module = importlib.import_module("baton._src.driver.relax.operator_compiler")
            self._compiler = module.OperatorCompiler(self._target)
        return self._compiler(name, attributes, args)
