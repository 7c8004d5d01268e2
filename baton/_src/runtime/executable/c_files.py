"""C code as files: `export_c` compiles it to a shared library, or packs it into an archive to be compiled elsewhere."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from baton._src.support.diagnostics import fail
from baton._src.support.system_compiler import create_shared, get_c_compiler
from baton._src.support.tar_files import tar, untar

SUFFIXES = ("c", "cc", "cpp", "h")
"""What files of C code end in."""
ARCHIVES = (".tar", ".tar.gz", ".tgz")
_STARTS = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ")
PROGRAM = "program.zip"
"""The file of an archive that holds the rest of a program: what is not C."""


def as_written(text: str, fmt: str) -> str:
    """The code, if `fmt` says C. Error `api`: it is something else."""
    if fmt not in ("", *SUFFIXES):
        help = 'get_source() gives C; what is built for "llvm" has LLVM IR and assembly'
        raise fail("api", f"there is no source of format {fmt!r}", help=help)
    return text


def export_c(
    texts: Iterable[str],
    file_name: str | Path,
    fcompile: Callable[..., Any] | Literal[False] | None = None,
    addons: Sequence[str] | None = None,
    workspace_dir: str | Path | None = None,
    program: Callable[[Path, bytes], None] | None = None,
    **kwargs: Any,
) -> None:
    """Make `file_name` of C code: `fcompile(file_name, files, **kwargs)` does, which is by default the system's C
    compiler with `options` and `cc`; for a name that ends in `.tar` the files are packed as they are. `addons` are
    further files to compile or link. `program(path, start)` writes what else belongs to a program, behind the library's
    bytes, or into a file of the archive.

    Errors `api-compiler`: there is no compiler, or it fails.
    """
    packs = str(file_name).endswith(ARCHIVES) or getattr(fcompile, "output_format", "") == "tar"
    with tempfile.TemporaryDirectory() as folder:
        where = Path(workspace_dir or folder)
        files = []
        for number, text in enumerate(texts):
            files.append(where / f"lib{number}.c")
            files[-1].write_text(text, encoding="utf-8")
        every = [*map(str, files), *map(str, addons or ())]
        if packs:
            if program is not None:
                program(where / PROGRAM, b"")
                every.append(str(where / PROGRAM))
            tar(str(file_name), every)
            return
        if fcompile:
            fcompile(str(file_name), every, **kwargs)
        else:
            compile_c(str(file_name), every, **kwargs)
    if not Path(file_name).exists():
        help = "it is called as fcompile(file_name, files, **kwargs); or leave it out"
        raise fail("api", f"fcompile did not write {file_name}", help=help)
    if program is not None:
        program(Path(file_name), Path(file_name).read_bytes())


def compile_c(output: str, files: Sequence[str], options: Sequence[str] = (), cc: str | None = None) -> None:
    """Compile and link a shared library, optimised unless `options` say how. Error `api-compiler`."""
    compiler = cc or get_c_compiler()
    if compiler is None:
        help = 'save("kernels.c"), or export_library("kernels.tar"), and compile that where there is one; or set $CC'
        raise fail("api-compiler", "no C compiler was found, which makes a library of C code", help=help)
    level = [] if any(option.startswith("-O") for option in options) else ["-O3"]
    create_shared(output, files, [*level, *options, "-lm"], cc=compiler)


def is_archive(path: Path) -> bool:
    """Whether a file is an archive of C code."""
    return str(path).endswith(ARCHIVES) and path.is_file() and tarfile.is_tarfile(path)


def is_shared_library(path: Path) -> bool:
    """Whether a file begins as the shared libraries of Linux, macOS and Windows do."""
    with path.open("rb") as stream:
        return stream.read(4)[:4].startswith(_STARTS)


def unpacked(path: Path, folder: Path) -> tuple[Path, Path | None]:
    """The shared library that the system's compiler makes of an archive of C code, and the rest of a program. Errors:
    `executable-corrupt`, `api-compiler`."""
    try:
        untar(str(path), str(folder))
    except (tarfile.TarError, OSError) as error:
        raise fail("executable-corrupt", f"{path} cannot be unpacked: {error}") from error
    files = sorted(str(f) for f in folder.iterdir() if f.suffix in (".c", ".cc", ".cpp", ".o"))
    if not files:
        raise fail("executable-corrupt", f"{path} has no C code in it")
    library = folder / "lib.so"
    compile_c(str(library), files)
    return library, folder / PROGRAM if (folder / PROGRAM).exists() else None


def not_compiled(what: str) -> Exception:
    """The error of a call of what is C code."""
    help = 'export_library("library.so"), then runtime.load_module("library.so"); or build it for "llvm"'
    return fail("c-source", f'{what} was built for the target "c": it is C code, not compiled yet', help=help)
