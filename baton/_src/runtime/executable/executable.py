"""`Executable`: a compiled module, complete and free of IR. Running is `vm.VirtualMachine`."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable
from dataclasses import field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

from baton._src.runtime.executable import export
from baton._src.runtime.executable.archive import Archive, read_archive, write_archive
from baton._src.runtime.executable.bytecode import Instruction, decode, encode
from baton._src.runtime.executable.c_files import (
    SUFFIXES,
    as_written,
    export_c,
    is_shared_library,
    not_compiled,
)
from baton._src.runtime.executable.constants import constants_from_data, constants_to_data
from baton._src.runtime.executable.function_entry import FunctionEntry, entry_from_data, entry_to_data
from baton._src.runtime.executable.kernel_library import KernelLibrary
from baton._src.runtime.executable.text import bytecode_python, bytecode_text, statistics
from baton._src.runtime.executable.verify import verify_executable
from baton._src.runtime.module_face import ModuleFace
from baton._src.runtime.native.c_library import CLibrary
from baton._src.runtime.native.kernel_function import KernelSignature, signature_from_data, signature_to_data
from baton._src.runtime.native.library import NativeLibrary, load
from baton._src.runtime.native.native_plan import NativePlan, plan_from_data, plan_to_data
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.packed_func import PackedFunc
from baton._src.values.tensor import NDArray

LOADERS = {"vm_load_executable": False, "vm_profiler_load_executable": True}
"""TVM's names for making a machine, and whether it may profile."""


@dataclass(frozen=True)
class Executable(ModuleFace):
    """Functions, bytecode, constants, native code and their descriptions."""

    type_key: ClassVar[str] = "relax.Executable"
    is_runnable: ClassVar[bool] = False
    is_dso_exportable: ClassVar[bool] = True

    functions: tuple[FunctionEntry, ...]
    instructions: tuple[Instruction, ...] = field(repr=False, default=())
    constants: tuple[Any, ...] = field(repr=False, default=())
    natives: dict[str, NativePlan] = field(repr=False, default_factory=dict)
    kernels: dict[str, KernelSignature] = field(repr=False, default_factory=dict)
    public_kernels: dict[str, KernelSignature] = field(repr=False, default_factory=dict)
    """Kernels that the program's callers may call as well, by `global_symbol`."""
    object_code: bytes = field(repr=False, default=b"")
    ir_text: str = field(repr=False, default="")
    facts: dict[str, Any] = field(repr=False, default_factory=dict)
    """Further facts as JSON data: target, compiler version, inputs and outputs of `main`, sizes."""
    attached: dict[str, PackedFunc] = field(repr=False, default_factory=dict)
    """Packed functions attached when it was built or loaded (not saved), such as run-time compilation of operators."""
    loader: Callable[[Executable, bool], Any] | None = field(default=None, repr=False, compare=False)
    """Makes a machine of it, one that may profile or not; set with what is attached."""
    c_code: str = field(default="", repr=False)
    """The kernels as C, if it was built for the target "c": they are compiled when it is exported."""
    c_library: Callable[[], NativeLibrary] | None = field(default=None, repr=False, compare=False)
    """Opens the library that was made of C code."""
    listing: Callable[[str], str] | None = field(default=None, repr=False, compare=False)
    """Writes the kernels as LLVM IR ("ll") or assembly ("asm"); None if it was loaded from a file, which has machine
    code only."""

    def __repr__(self) -> str:
        return f"<Executable with functions {', '.join(f.name for f in self.functions if f.public)}>"

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """TVM's functions of an executable, such as `vm_load_executable`, which makes a machine: only machines have the
        functions of the program. Errors: `function-missing`.
        """
        if name in LOADERS and self.loader is not None:
            return partial(self.loader, self, LOADERS[name])
        known = self.descriptions
        if name not in known:
            own = ", ".join([*LOADERS, *known])
            message = f"an executable has no function {name!r}, only {own}"
            help = "functions of the program are called by a machine: relax.VirtualMachine(library, device)[name]"
            raise fail("function-missing", message, help=help, kind=AttributeError)
        return known[name]

    @property
    def descriptions(self) -> dict[str, Callable[..., Any]]:
        """What TVM's modules tell about the program, by name."""
        return {
            "stats": self.stats,
            "as_text": self.as_text,
            "as_python": self.as_python,
            "has_function": lambda name: any(f.public and f.name == name for f in self.functions),
            "get_function_arity": lambda name: len(self.entry(name).params),
            "get_function_param_name": lambda name, index: self.entry(name).params[index],
        }

    @property
    def mod(self) -> Executable:
        """The executable itself, which has the methods of the separate module that TVM keeps here."""
        return self

    @cached_property
    def library(self) -> NativeLibrary | None:
        """The native code, linked on first use; None if there is none."""
        if self.c_library is not None:
            return self.c_library()
        if self.c_code:
            raise not_compiled("the program")
        if not self.object_code:
            return None
        return load(self.object_code)

    @cached_property
    def function_index(self) -> dict[str, int]:
        """Where each function is in the table; the program's own one, if a packed function has its name."""
        packed = {f.name: i for i, f in enumerate(self.functions) if f.kind == "packed"}
        return packed | {f.name: i for i, f in enumerate(self.functions) if f.kind != "packed"}

    def entry(self, name: str) -> FunctionEntry:
        """The public function called `name`; `DiagnosticError` (`function-missing`)."""
        index = self.function_index.get(name)
        if index is not None and self.functions[index].public:
            return self.functions[index]
        known = ", ".join(f.name for f in self.functions if f.public) or "none"
        private = " (it is private)" if index is not None else ""
        message = f"the executable has no public function {name!r}{private}"
        raise fail("function-missing", message, help=f"it has: {known}", kind=AttributeError)

    # ---------------------------------------------------------------------------------------- for people

    @cached_property
    def imported_modules(self) -> tuple[KernelLibrary, ...]:
        """The module of the public kernels, if there are any."""
        return (KernelLibrary(self.public_kernels, lambda: self.library),) if self.public_kernels else ()

    def get_source(self, fmt: str = "") -> str:
        """The kernels as LLVM IR, or with "asm" as assembly; as C if they were built for it. Raises `DiagnosticError`
        (`api`) for other formats and for loaded executables, which have no IR.
        """
        if self.c_code:
            return as_written(self.c_code, fmt)
        if self.listing is None:
            help = "ask what tvm.build, relay.build or relax.build gave"
            raise fail("api", "this library was loaded from a file, which has no source", help=help)
        if fmt not in ("", "ll", "asm"):
            help = 'get_source("ll") gives LLVM IR, get_source("asm") assembly'
            raise fail("api", f"there is no source of format {fmt!r}", help=help)
        return self.listing(fmt or "ll")

    @property
    def constant_bytes(self) -> int:
        """The size of all constant tensors."""
        return sum(c.data.nbytes for c in self.constants if isinstance(c, NDArray))

    def stats(self) -> str:
        """How many functions, constants and instructions there are, and which packed functions are needed."""
        shapes = [f"{tuple(c.shape)} {c.dtype}" for c in self.constants if isinstance(c, NDArray)]
        sizes = (len(self.instructions), len(self.object_code))
        kernels = {s.kernel: None for p in self.natives.values() for s in p.steps} | dict.fromkeys(self.kernels)
        return statistics(self.functions, shapes, kernels, sizes)

    def as_text(self) -> str:
        """The bytecode, readable."""
        return bytecode_text(self.functions, self.instructions)

    def as_python(self) -> str:
        """The program that builds this bytecode through an `ExecBuilder`."""
        return bytecode_python(self.functions, self.instructions)

    # ------------------------------------------------------------------------------------------- files

    def save(self, path: str | Path, durable: bool = True) -> None:
        """Write the executable to `path`, atomically; or the C code, if it was built for that and the name says so.
        `durable`: wait until it is on disk."""
        if not self.c_code:
            self._write(path, durable=durable)
        elif Path(path).suffix.lstrip(".") in SUFFIXES:
            Path(path).write_text(self.c_code, encoding="utf-8")
        else:
            raise not_compiled("the program")

    def _write(self, path: str | Path, start: bytes = b"", durable: bool = True) -> None:
        words, _ = encode(self.instructions)
        constants, tensors = constants_to_data(self.constants)
        manifest = {
            "functions": [entry_to_data(f) for f in self.functions],
            "constants": constants,
            "natives": [plan_to_data(p) for p in self.natives.values()],
            "kernels": [signature_to_data(k) for k in self.kernels.values()],
            "public_kernels": {name: signature_to_data(k) for name, k in self.public_kernels.items()},
            "facts": self.facts,
        }
        members = {"ir.txt": self.ir_text.encode(), "code.o": self.object_code, "bytecode.bin": _to_bytes(words)}
        write_archive(Archive(manifest, members, tensors), path, durable, start)

    def export_library(self, file_name: str | Path, *args: Any, **kwargs: Any) -> None:
        """Write the executable to one file (TVM's spelling; further arguments are those of `export.export_library`, or
        of `export_c` if it was built for the target "c")."""
        if self.c_code:
            export_c([self.c_code], file_name, *args, **{**kwargs, "program": self._write})
            return
        export.export_library(self.save, file_name, *args, **kwargs)

    def jit(self, fcompile: Any = None, addons: Any = None, **kwargs: Any) -> Executable:
        """This executable: it links itself on first use (TVM's spelling, whose options concern the linker)."""
        return self


def load_executable(path: str | Path, verify: bool = False) -> Executable:
    """The executable saved at `path`, constants mapped into memory. `verify=True` also checks the constants' checksum.

    Errors: `file-missing`, `executable-corrupt`, `executable-version`; when it is run, `object-target`.
    """
    archive = read_archive(path, verify)
    is_c = is_shared_library(Path(path))
    manifest = archive.manifest
    try:
        found = Executable(
            functions=tuple(entry_from_data(e) for e in manifest["functions"]),
            instructions=tuple(decode(_to_words(archive.members["bytecode.bin"]))),
            constants=tuple(constants_from_data(manifest["constants"], archive.tensors)),
            natives={p.name: p for p in map(plan_from_data, manifest["natives"])},
            kernels={k.symbol: k for k in map(signature_from_data, manifest["kernels"])},
            public_kernels={n: signature_from_data(k) for n, k in manifest["public_kernels"].items()},
            object_code=archive.members["code.o"],
            ir_text=archive.members["ir.txt"].decode(),
            facts=dict(manifest["facts"]),
            c_library=partial(CLibrary, Path(path)) if is_c else None,
        )
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise fail(
            "executable-corrupt",
            f"{path} cannot be loaded: the manifest is malformed ({error!r})",
            help="save or download the artifact again",
        ) from error
    verify_executable(found.functions, found.instructions, len(found.constants), found.natives, found.kernels)
    return found


def _to_bytes(words: list[int]) -> bytes:
    packed = array("q", words)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _to_words(content: bytes) -> list[int]:
    if len(content) % 8:
        raise fail("executable-corrupt", "the bytecode is not a whole number of words")
    packed = array("q", content)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tolist()
