"""`baton doctor`: what this machine offers and what baton makes of it."""

from __future__ import annotations

import importlib
import os
import platform
from importlib import metadata

from rich.table import Table

from baton._src.codegen.llvm.cache import CacheOptions
from baton._src.ir.cpu import host_cpu, model_name
from baton._src.runtime.threads import default_num_threads
from baton._src.tools.console import OUT, guarded

PACKAGES = ("baton", "numpy", "llvmlite", "apache-tvm-ffi", "ml_dtypes", "onnx", "onnxruntime", "openvino", "torch")


@guarded
def doctor() -> None:
    """Print processor features, threads, versions and the cache."""
    cpu = host_cpu()
    table = Table("what", "value", show_header=False)
    table.add_row("system", f"{platform.system()} {platform.machine()}, Python {platform.python_version()}")
    table.add_row("processor", f"{model_name()}, {os.cpu_count()} cores, vectors of {cpu.vector_bits} bits")
    table.add_row("threads", str(default_num_threads()))
    for package in PACKAGES:
        table.add_row(package, _version(package))
    binding = importlib.import_module("llvmlite.binding")
    table.add_row("LLVM", ".".join(str(n) for n in binding.llvm_version_info))
    table.add_row("cache", _cache_text(CacheOptions.from_environment()))
    OUT.print(table)


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _cache_text(options: CacheOptions) -> str:
    if options.folder is None:
        return "off (BATON_CACHE)"
    kept = sum(f.stat().st_size for f in options.folder.rglob("*") if f.is_file()) if options.folder.is_dir() else 0
    return f"{options.folder}: {kept / 1e6:.1f} of at most {options.cap / 1e6:.0f} MB"
