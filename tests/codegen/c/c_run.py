"""Run a PrimFunc as C: the counterpart of `native_run.build`, with the same callers.

C is compiled with all warnings as errors and checks of undefined behaviour, whose reports `undefined_behaviour` reads.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from baton._src.codegen.c.module import c_source
from baton._src.ir.target import Target
from baton._src.runtime.executable.c_files import compile_c
from baton._src.runtime.native.c_library import CLibrary
from baton._src.support.system_compiler import get_c_compiler
from baton._src.tir.prim_func import PrimFunc

C = Target("c")
STRICT = ["-std=c99", "-Wall", "-Werror", "-O0"]
CHECKED = [*STRICT, "-fsanitize=undefined,float-cast-overflow", "-fno-omit-frame-pointer"]
needs_compiler = pytest.mark.skipif(get_c_compiler() is None, reason="there is no C compiler")


def build_c(func: PrimFunc, target: Target = C, checked: bool = False) -> CLibrary:
    """Compile and load. A target with vectors makes loops over lanes of them."""
    return library_of(c_source({"f": func}, target, exported=["f"]).text)


def library_of(text: str, options: list[str] = CHECKED) -> CLibrary:
    """The library of a C file."""
    with tempfile.TemporaryDirectory() as folder:
        source, output = Path(folder, "lib.c"), Path(folder, "lib.so")
        source.write_text(text)
        compile_c(str(output), [str(source)], options)
        return CLibrary(output)
