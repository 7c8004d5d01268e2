"""`KernelModule`: compiled kernels by name, made by `tvm.build` and loaded by `load_module`."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from baton._src.runtime.executable import export
from baton._src.runtime.executable.executable import Executable
from baton._src.runtime.native.kernel_function import (
    KernelFunction,
    KernelSignature,
    signature_from_data,
    signature_to_data,
)
from baton._src.runtime.native.library import load
from baton._src.runtime.timed_module import TimedModule
from baton._src.runtime.value_errors import argument_count
from baton._src.runtime.vm.packed_functions import packed_function
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType
from baton._src.values.packed_func import PackedFunc
from baton._src.values.tensor import NDArray

KERNELS = "kernels"
"""The value of an executable's fact `kind` that marks such a module."""
IMPORTS = "imports"
"""The fact that holds the modules which were imported when an executable was saved."""
TEXTS = {"ll": "ll", "s": "asm", "asm": "asm"}
"""Formats of files that hold what was generated, as `get_source` names them."""


class ReturningKernel:
    """A kernel that returns a scalar; called as any other."""

    def __init__(self, kernel: KernelFunction, dtype: DataType) -> None:
        self.kernel = kernel
        self.dtype = dtype
        self.name = kernel.name

    def __call__(self, *values: Any) -> Any:
        place = self._place(values)
        self.kernel(*values, place)
        return place.numpy()[0].item()

    def bound(self, *values: Any) -> Callable[[], None]:
        """The call on `values`, for measuring."""
        return self.kernel.bound(*values, self._place(values))

    def _place(self, values: Sequence[Any]) -> NDArray:
        """Where a call of as many values as it takes leaves its result."""
        names = self.kernel.signature.names[:-1]
        if len(values) != len(names):
            argument_count(self.name, len(names), len(values), names, hint="")
        return NDArray(np.zeros(1, self.dtype.numpy))


Kernel = KernelFunction | ReturningKernel


@dataclass(frozen=True)
class KernelModule(TimedModule):
    """Compiled kernels by name. Calling the module calls its entry, the only kernel or `main`."""

    type_key: ClassVar[str] = "llvm"
    is_dso_exportable: ClassVar[bool] = True
    is_binary_serializable: ClassVar[bool] = False

    executable: Executable
    imports: list[KernelModule] = field(default_factory=list, compare=False, repr=False)

    def __repr__(self) -> str:
        return f"<KernelModule of {', '.join(self.executable.kernels)}>"

    @property
    def imported_modules(self) -> list[KernelModule]:
        return self.imports

    def import_module(self, module: KernelModule) -> None:
        """Let the kernels of another module be found from here. Error (`api`): that module imports this one."""
        if not isinstance(module, KernelModule):
            raise fail("api", f"a kernel module imports modules that tvm.build made, got {module!r}")
        if any(one is self for one in _with_all_imports(module)):
            raise fail("api", f"{module!r} is or imports the module that is to import it", kind=ValueError)
        self.imports.append(module)

    def clear_imports(self) -> None:
        """Import none of the modules any more."""
        self.imports.clear()

    def get_source(self, fmt: str = "") -> str:
        """The code as text (`Executable.get_source`)."""
        return self.executable.get_source(fmt)

    @cached_property
    def kernels(self) -> dict[str, Kernel]:
        """Every kernel that can be called from outside."""
        if not self.executable.kernels:
            return {}
        results = self.executable.facts["results"]
        library = load(self.executable.object_code, find=self._packed_function)
        signatures = self.executable.kernels.items()
        natives = {name: KernelFunction(signature, library.address(name), library) for name, signature in signatures}
        return {
            name: ReturningKernel(kernel, DataType(results[name])) if name in results else kernel
            for name, kernel in natives.items()
        }

    def _packed_function(self, name: str) -> PackedFunc:
        """What a kernel calls as this packed function: a kernel of the modules imported here, else a registered one."""
        imported = next((found for module in self.imports if (found := module._own(name)) is not None), None)
        return packed_function(name) if imported is None else PackedFunc(imported, name)

    @property
    def entry_name(self) -> str:
        """`main`, or the only kernel. Error `function-missing`: there are several others."""
        if "main" in self.kernels or len(self.kernels) == 1:
            return "main" if "main" in self.kernels else next(iter(self.kernels))
        there = f"choose one: module[name](...) of {', '.join(self.kernels)}"
        raise fail("function-missing", "the module has several kernels, and none is called main", help=there)

    @property
    def entry_func(self) -> Kernel:
        """The kernel that a call of the module calls."""
        return self[self.entry_name]

    def __call__(self, *args: Any) -> Any:
        return self.entry_func(*args)

    def __getitem__(self, name: str) -> Kernel:
        """The kernel `name`; `DiagnosticError` (`function-missing`) if there is none."""
        found = self._own(name)
        if found is None:
            there = f"there are: {', '.join(self.kernels)}"
            raise fail("function-missing", f"no kernel is named {name!r}", help=there, kind=AttributeError)
        return found

    def _own(self, name: str) -> Kernel | None:
        """The kernel of this name, or else of this `global_symbol`: TVM's libraries know the latter."""
        return self.kernels.get(name) or self.kernels.get(self.executable.facts.get("symbols", {}).get(name, ""))

    def save(self, file_name: str | Path, fmt: str = "") -> None:
        """Write the kernels to one file that `runtime.load_module` reads; or, if `fmt` or else the end of the name is
        one of `TEXTS`, what was generated, as text."""
        text = TEXTS.get(fmt or Path(file_name).suffix.lstrip("."))
        if text is not None:
            Path(file_name).write_text(self.get_source(text), encoding="utf-8")
            return
        if fmt not in ("", "o", "obj", "so", "tar"):
            raise fail("api", f"kernels are not saved as {fmt!r}", help=f"o, {', '.join(TEXTS)}", kind=ValueError)
        self._save_library(file_name)

    def _save_library(self, file_name: str | Path) -> None:
        self._with_imports().save(file_name)

    def _with_imports(self) -> Executable:
        """The executable, with the imported modules among its facts."""
        if not self.imports:
            return self.executable
        imports = [module_to_data(module) for module in self.imports]
        return dataclasses.replace(self.executable, facts={**self.executable.facts, IMPORTS: imports})

    def export_library(self, file_name: str | Path, *args: Any, **kwargs: Any) -> None:
        """Write the kernels to one file that `load_module` reads; further arguments are those of
        `export.export_library`."""
        export.export_library(self._save_library, file_name, *args, **kwargs)


def _with_all_imports(module: KernelModule) -> Iterator[KernelModule]:
    yield module
    for imported in module.imports:
        yield from _with_all_imports(imported)


def loaded_kernels(executable: Executable) -> KernelModule:
    """The module that was saved as this executable, with what it imports. Error `executable-corrupt`: that is
    malformed."""
    return KernelModule(executable, [module_from_data(data) for data in executable.facts.pop(IMPORTS, ())])


def module_to_data(module: KernelModule) -> dict[str, Any]:
    """A module, and what it imports, as JSON data for the file of another."""
    executable = module._with_imports()
    kernels = [signature_to_data(signature) for signature in executable.kernels.values()]
    code = base64.b64encode(executable.object_code).decode()
    return {"kernels": kernels, "facts": executable.facts, "code": code}


def module_from_data(data: Any) -> KernelModule:
    """The module that was written so. Error `executable-corrupt`: the data is malformed."""
    try:
        kernels = {found.symbol: found for found in map(signature_from_data, data["kernels"])}
        facts, code = dict(data["facts"]), base64.b64decode(data["code"])
    except (KeyError, TypeError, ValueError) as error:
        raise fail("executable-corrupt", f"an imported module is malformed: {error!r}") from error
    return loaded_kernels(Executable((), kernels=kernels, object_code=code, facts=facts))


def kernel_module(
    object_code: bytes,
    signatures: Mapping[str, KernelSignature],
    results: Mapping[str, DataType],
    listing: Callable[[str], str] | None = None,
    symbols: Mapping[str, str] | None = None,
) -> KernelModule:
    """The module of compiled kernels; `results`: what those return that return something; `symbols`: further names
    of kernels, and their names in the module."""
    facts: dict[str, Any] = {"kind": KERNELS, "results": {name: str(dtype) for name, dtype in results.items()}}
    if symbols:
        facts["symbols"] = dict(symbols)
    kernels = dict(signatures)
    return KernelModule(Executable((), kernels=kernels, object_code=object_code, facts=facts, listing=listing))
