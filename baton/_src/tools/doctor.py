"""`baton doctor`: reports the processor, threads, versions of libraries, and the state of the cache."""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from baton._src.codegen.llvm.cache import CacheOptions
from baton._src.ir.cpu import host_cpu, model_name
from baton._src.runtime.thread_pool.threads import default_num_threads
from baton._src.tools.console import OUT, guarded, print_json
from baton._src.tools.outputs import can_be_written

PACKAGES = ("baton", "numpy", "llvmlite", "apache-tvm-ffi", "ml_dtypes", "onnx", "onnxruntime", "openvino", "torch")


@guarded
def doctor(
    json: Annotated[bool, typer.Option("--json", help="print JSON instead of a table")] = False,
) -> None:
    """Print processor features, threads, versions and the cache."""
    cpu = host_cpu()
    facts = {
        "system": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "processor": f"{model_name()}, {os.cpu_count()} cores, vectors of {cpu.vector_bits} bits",
        "threads": str(default_num_threads()),
        **{package: _version(package) for package in PACKAGES},
    }
    binding = importlib.import_module("llvmlite.binding")
    facts["LLVM"] = ".".join(str(n) for n in binding.llvm_version_info)
    facts["cache"] = _cache_text(CacheOptions.from_environment())
    if json:
        print_json(facts)
        return
    table = Table("what", "value", show_header=False)
    for name, value in facts.items():
        table.add_row(name, value)
    OUT.print(table)


def _size(folder: Path) -> int:
    """Bytes of the files in a folder, from which other processes may be removing some."""
    kept = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                kept += os.stat(os.path.join(place, name)).st_size
    return kept


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _cache_text(options: CacheOptions) -> str:
    if options.folder is None:
        return "off (BATON_CACHE)"
    kept, folder = _size(options.folder), options.folder
    is_other = os.path.exists(folder) and not os.path.isdir(folder)
    note = ", cannot be written: nothing is kept" if is_other or not can_be_written(folder) else ""
    return f"{folder}: {kept / 1e6:.1f} of at most {(options.cap + options.programs) / 1e6:.0f} MB{note}"
