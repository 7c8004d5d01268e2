"""The code that code generators of scripts made of parts of a program: attached to it, and kept in its file.

Relay's generators are `relay.ext.<compiler>`, Relax's `relax.ext.<backend>`. What is kept are modules that `tvm.build`
made; Python callables are not part of files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from baton._src.driver.kernel_module import KernelModule, module_from_data, module_to_data
from baton._src.runtime.executable.executable import Executable
from baton._src.support.diagnostics import fail
from baton._src.values.packed_func import ExternalCode, PackedFunc

EXTERNAL = "external"
"""The fact that holds the modules, and which of their kernels each name means."""


def with_external_code(executable: Executable, code: Mapping[str, ExternalCode]) -> Executable:
    """The executable with this code, by the names that it is called by."""
    if not code:
        return executable
    modules: list[KernelModule] = []
    places: dict[str, list[Any]] = {}
    for name, found in code.items():
        if isinstance(found.module, KernelModule):
            if not any(module is found.module for module in modules):
                modules.append(found.module)
            number = next(n for n, module in enumerate(modules) if module is found.module)
            places[name] = [number, found.symbol]
    facts = dict(executable.facts)
    if places:
        facts[EXTERNAL] = {"modules": [module_to_data(module) for module in modules], "places": places}
    return replace(executable, facts=facts, attached={**executable.attached, **code})


def kept_code(executable: Executable) -> dict[str, PackedFunc]:
    """The code in an executable that was loaded. Error `executable-corrupt`: it is malformed."""
    data = executable.facts.get(EXTERNAL)
    if data is None:
        return {}
    try:
        modules = [module_from_data(module) for module in data["modules"]]
        return {str(name): _lazily(modules[n], str(symbol), str(name)) for name, (n, symbol) in data["places"].items()}
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise fail("executable-corrupt", f"the code of external compilers is malformed: {error!r}") from error


def _lazily(module: KernelModule, symbol: str, name: str) -> PackedFunc:
    """A kernel of a module that is linked when it is first called: loading executes nothing."""
    return PackedFunc(lambda *args: module[symbol](*args), name)


__all__ = ["kept_code", "with_external_code"]
