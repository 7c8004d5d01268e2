"""The interface of TVM's runtime modules, for all modules whose functions are `module[name]`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntFlag
from typing import Any, ClassVar, NoReturn, Self

from baton._src.support.diagnostics import DiagnosticError, fail


class ModulePropertyMask(IntFlag):
    """What a module can do, by TVM's numbers."""

    BINARY_SERIALIZABLE = 1
    RUNNABLE = 2
    DSO_EXPORTABLE = 4


class ModuleFace:
    """Lookup of functions by TVM's method names, and properties of a module that is loaded and needs no linking."""

    type_key: ClassVar[str]
    """The kind of module."""
    format: ClassVar[str] = "so"
    is_runnable: ClassVar[bool] = True
    is_binary_serializable: ClassVar[bool] = True
    is_dso_exportable: ClassVar[bool] = False
    is_device_module: ClassVar[bool] = False

    @property
    def imported_modules(self) -> Sequence[ModuleFace]:
        """Modules whose functions `get_function(name, query_imports=True)` finds, too."""
        return ()

    def __getitem__(self, name: str) -> Callable[..., Any]:
        raise NotImplementedError

    def __copy__(self) -> Self:
        return self  # a module is a handle, as in TVM

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        help = "library.export_library(path) here and runtime.load_module(path) there: a library is never a pickle"
        raise fail("module-pickle", f"{type(self).__name__}: machine code cannot be pickled", help=help)

    def get_property_mask(self) -> ModulePropertyMask:
        """What the module can do, as one number."""
        found = ModulePropertyMask.RUNNABLE if self.is_runnable else ModulePropertyMask(0)
        found |= ModulePropertyMask.BINARY_SERIALIZABLE if self.is_binary_serializable else ModulePropertyMask(0)
        return found | (ModulePropertyMask.DSO_EXPORTABLE if self.is_dso_exportable else ModulePropertyMask(0))

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., Any]:
        """The function `name`, also of imported modules if asked for; `AttributeError` if there is none."""
        try:
            return self[name]
        except (AttributeError, DiagnosticError):
            providers = (m for m in self.imported_modules if query_imports and m.implements_function(name, True))
            provider = next(providers, None)
            if provider is None:
                raise
            return provider.get_function(name, True)

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether `get_function` finds it."""
        try:
            self.get_function(name, query_imports)
        except (AttributeError, DiagnosticError):
            return False
        return True


def opened_elsewhere(module: Any, executor: str, *given: Any, **named: Any) -> Any:
    """An executor, by the name of its class, of a library on another machine; None for one of this process."""
    opened = getattr(module, "opened", None)
    return None if opened is None else opened(executor, *given, **named)
