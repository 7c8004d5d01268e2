"""The system's C++ compiler, for the sources and objects of scripts (`tvm.contrib.cc`).

What is built for "llvm" never needs it: `export_library` writes one file that `load_module` reads and links, so what
scripts hand over as `fcompile` has nothing to link there. It makes libraries of what is built for "c", and of the
sources of scripts, for `ctypes` and `call_extern`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from baton._src.support.diagnostics import fail

Files = str | Sequence[str]
Compile = Callable[..., None]


def get_cc() -> str | None:
    """The compiler's path: `$CXX`, else `g++`, `clang++`, `gcc` or `clang`; None if there is none."""
    candidates = (os.environ.get("CXX"), "g++", "clang++", "gcc", "clang")
    return next((found for name in candidates if name and (found := shutil.which(name))), None)


def get_c_compiler() -> str | None:
    """The path of a compiler of C: `$CC`, else `cc`, `gcc` or `clang`; None if there is none."""
    candidates = (os.environ.get("CC"), "cc", "gcc", "clang")
    return next((found for name in candidates if name and (found := shutil.which(name))), None)


def create_shared(
    output: str,
    objects: Files,
    options: Sequence[str] | None = None,
    cc: str | None = None,
    cwd: str | None = None,
    ccache_env: Mapping[str, str] | None = None,
) -> None:
    """Compile and link sources and objects to the shared library `output`. Error: `api-compiler`.

    With `ccache_env`, its settings beside those of the environment, the compiler is called through `ccache`.
    What `save` of compiled kernels wrote is a library already: it becomes `output` as it is, alone.
    """
    written = [f for f in _listed(objects) if zipfile.is_zipfile(Path(cwd or "", f))]
    if written:
        return _copy_library(written, _listed(objects), output, cwd)
    command = [cc or _some_compiler(), "-shared", "-fPIC", "-o", output, *_listed(objects), *(options or ())]
    run_compiler(command, cwd, ccache_env)


def create_executable(
    output: str,
    objects: Files,
    options: Sequence[str] | None = None,
    cc: str | None = None,
    cwd: str | None = None,
    ccache_env: Mapping[str, str] | None = None,
) -> None:
    """Compile and link sources and objects to the program `output`; `ccache_env` as above. Error: `api-compiler`."""
    run_compiler([cc or _some_compiler(), "-o", output, *_listed(objects), *(options or ())], cwd, ccache_env)


def create_staticlib(output: str, inputs: Files, ar: str | None = None) -> None:
    """Put objects into the archive `output`, in place of what it was. Error: `api-compiler`."""
    Path(output).unlink(missing_ok=True)
    run_compiler([ar or shutil.which("ar") or "ar", "-crs", output, *_listed(inputs)], None)


def get_target_by_dump_machine(compiler: str | None) -> Callable[[], str | None]:
    """A function that asks `compiler` for the triple it makes code for; it gives None without a compiler."""

    def triple() -> str | None:
        if compiler is None or shutil.which(compiler) is None:
            return None
        done = subprocess.run([compiler, "-dumpmachine"], capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    return triple


def cross_compiler(
    compile_func: str | Compile,
    options: Sequence[str] | None = None,
    output_format: str | None = None,
    get_target_triple: Callable[[], str | None] | None = None,
    add_files: Sequence[str] | None = None,
) -> Compile:
    """A function `(output, objects, options=None)` that compiles by `compile_func`, a compiler's name or a function
    like `create_shared`, always with `options` and `add_files`.
    """
    named: dict[str, Any] = {"cc": compile_func} if isinstance(compile_func, str) else {}
    function = create_shared if isinstance(compile_func, str) else compile_func
    first, added = list(options or ()), list(add_files or ())

    def compile_with(output: str, objects: Files, options: Sequence[str] | None = None) -> None:
        function(output, [*_listed(objects), *added], options=[*first, *(options or ())], **named)

    triple = get_target_triple or getattr(function, "get_target_triple", None)
    vars(compile_with).update(
        output_format=output_format or getattr(function, "output_format", "so"),
        get_target_triple=get_target_by_dump_machine(compile_func) if isinstance(compile_func, str) else triple,
    )
    return compile_with


vars(create_shared).update(output_format="so", get_target_triple=lambda: get_target_by_dump_machine(get_cc())())


def _listed(files: Files) -> list[str]:
    return [files] if isinstance(files, str) else list(files)


def _copy_library(written: Sequence[str], objects: Sequence[str], output: str, cwd: str | None) -> None:
    if len(objects) > 1:
        raise fail(
            "api-compiler",
            f"{written[0]} is a library of baton, which cannot be linked with other objects:  {', '.join(objects)}",
            help="build all kernels as one module, and give libraries of C code to ctypes",
        )
    shutil.copyfile(Path(cwd or "", written[0]), Path(cwd or "", output))


def _some_compiler() -> str:
    found = get_cc()
    if found is None:
        raise fail(
            "api-compiler",
            "no C++ compiler was found",
            help="baton's own libraries need none: lib.export_library(path), then runtime.load_module(path)",
        )
    return found


def run_compiler(command: list[str], cwd: str | None, ccache_env: Mapping[str, str] | None = None) -> None:
    """Call a compiler. Error `api-compiler`: it cannot be started, or it fails."""
    command = command if ccache_env is None else ["ccache", *command]
    environment = {**os.environ, **(ccache_env or {})}
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    except OSError as error:
        raise fail("api-compiler", f"{command[0]} cannot be started: {error}") from error
    if done.returncode != 0:
        raise fail("api-compiler", f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}".rstrip())
