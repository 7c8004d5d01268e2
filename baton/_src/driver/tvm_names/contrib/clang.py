"""`tvm.contrib.clang`: C++ of a script as LLVM IR, by the system's clang; for `pragma_import_llvm` of its kernels."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from baton._src.support.diagnostics import fail
from baton._src.support.system_compiler import run_compiler

VERSIONS = range(22, 14, -1)
"""Of clang: newest first, and those that write pointers as `ptr`."""


def find_clang(required: bool = True) -> list[str]:
    """The clangs of this machine. Error `api-compiler`: there is none though one is `required`."""
    names = ["clang", *(f"clang-{version}" for version in VERSIONS), "clang.exe"]
    found = [path for name in names if (path := shutil.which(name)) is not None]
    if required and not found:
        raise fail("api-compiler", "no clang was found", help="install clang, or name it: create_llvm(..., cc=path)")
    return found


def create_llvm(
    inputs: str | Sequence[str],
    output: str | None = None,
    options: Sequence[str] | None = None,
    cc: str | None = None,
) -> str:
    """LLVM IR of one source (C++ text, or a file), also written to `output`. Errors: `api-compiler`."""
    listed = [inputs] if isinstance(inputs, str) else list(inputs)
    with tempfile.TemporaryDirectory() as folder:
        written = output or str(Path(folder, "output.ll"))
        sources = [_source(each, Path(folder, f"input{number}.cc")) for number, each in enumerate(listed)]
        run_compiler([cc or find_clang()[0], "-S", "-emit-llvm", *(options or ()), *sources, "-o", written], None)
        return Path(written).read_text(encoding="utf-8")


def _source(given: str, place: Path) -> str:
    """The file of a source; a text is written to `place`."""
    if "\n" not in given and os.path.isfile(given):
        return given
    place.write_text(given, encoding="utf-8")
    return str(place)
