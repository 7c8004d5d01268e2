"""`CSourceModule`: kernels as C, made by `tvm.build` for the target "c".

It cannot be called, as in TVM: the code may be for another machine. `export_library` compiles it where there is a C
compiler, and `runtime.load_module` loads what that makes.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import Any, ClassVar, NoReturn

from baton._src.runtime.executable.c_files import SUFFIXES, as_written, export_c, not_compiled
from baton._src.runtime.module_face import ModuleFace
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail


@dataclass(frozen=True)
class CSourceModule(ModuleFace):
    """The text of a C file with `names`."""

    type_key: ClassVar[str] = "c"
    format: ClassVar[str] = "c"
    is_runnable: ClassVar[bool] = False
    is_dso_exportable: ClassVar[bool] = True
    is_binary_serializable: ClassVar[bool] = False

    text: str = field(repr=False)
    names: tuple[str, ...]
    imports: list[CSourceModule] = field(default_factory=list, compare=False, repr=False)

    @property
    def imported_modules(self) -> list[CSourceModule]:
        return self.imports

    def import_module(self, module: CSourceModule) -> None:
        """Export the kernels of another module with these."""
        if not isinstance(module, CSourceModule):
            raise fail("api", f"a module of C imports modules of C, got {module!r}")
        self.imports.append(module)

    def clear_imports(self) -> None:
        """Import none of the modules any more."""
        self.imports.clear()

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Whether the C code has a function of this name."""
        return name in self.names or (query_imports and any(m.implements_function(name, True) for m in self.imports))

    def get_source(self, fmt: str = "") -> str:
        """The C code."""
        return as_written(self.text, fmt)

    def save(self, file_name: str | Path, fmt: str = "") -> None:
        """Write the C code to a file. Error `api`: the name or `fmt` says that it is to be something else."""
        if (fmt or Path(file_name).suffix.lstrip(".")) not in SUFFIXES:
            help = f"save it as {', '.join(SUFFIXES)}; export_library compiles it"
            raise fail("api", f"C code is not saved as {fmt or file_name}", help=help, kind=ValueError)
        Path(file_name).write_text(self.text, encoding="utf-8")

    def export_library(self, file_name: str | Path, *args: Any, **kwargs: Any) -> None:
        """Compile the code to a shared library, or pack it into a `.tar`; arguments are those of `export_c`."""
        export_c(self._texts(), file_name, *args, **kwargs)

    def _texts(self) -> list[str]:
        return [self.text, *(text for module in self.imports for text in module._texts())]

    def __getitem__(self, name: str) -> NoReturn:
        raise not_compiled(f"the kernel {name}")

    def __call__(self, *args: Any) -> NoReturn:
        raise not_compiled("the kernel")

    @property
    def entry_func(self) -> NoReturn:
        """What a loaded module has."""
        raise not_compiled("the kernel")

    def time_evaluator(self, func_name: str, *args: Any, **options: Any) -> NoReturn:
        """What a loaded module has."""
        raise not_compiled(f"the kernel {func_name}")
