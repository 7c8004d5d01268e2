"""The public kernels of a program, as the module that TVM's executables import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from baton._src.runtime.module_face import ModuleFace
from baton._src.runtime.native.kernel_function import KernelFunction, KernelSignature
from baton._src.runtime.native.library import NativeLibrary
from baton._src.support.diagnostics import fail


class KernelLibrary(ModuleFace):
    """Kernels by their `global_symbol`, callable on tensors: the results are parameters, too."""

    type_key: ClassVar[str] = "llvm"
    is_dso_exportable: ClassVar[bool] = True
    is_binary_serializable: ClassVar[bool] = False

    def __init__(self, signatures: Mapping[str, KernelSignature], linked: Callable[[], NativeLibrary | None]) -> None:
        self.signatures = signatures
        self._linked = linked
        self._made: dict[str, KernelFunction] = {}

    def __getitem__(self, name: str) -> KernelFunction:
        """The kernel; `DiagnosticError` (`function-missing`) if there is none."""
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def _make(self, name: str) -> KernelFunction:
        library, signature = self._linked(), self.signatures.get(name)
        if signature is None or library is None:
            there = f"there are: {', '.join(self.signatures)}"
            raise fail("function-missing", f"no kernel is named {name!r}", help=there, kind=AttributeError)
        return KernelFunction(signature, library.address(signature.symbol), library)
