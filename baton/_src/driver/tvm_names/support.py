"""Information about this build of the compiler (`tvm.support`)."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from pathlib import Path

import llvmlite.binding as llvm

from baton._src.ir.target import Target

_ABSENT = "CUDA CUDNN CUBLAS ROCM METAL VULKAN OPENCL HEXAGON MICRO RPC ETHOSN CUTLASS TENSORRT_CODEGEN MKL DNNL"


def libinfo() -> dict[str, str]:
    """TVM's build options as they apply to baton: `USE_LLVM`, `LLVM_VERSION`, ... Unknown options are not listed."""
    version = ".".join(str(part) for part in llvm.llvm_version_info)
    found = {f"USE_{name}": "OFF" for name in _ABSENT.split()}
    found |= {"USE_LLVM": "ON", "LLVM_VERSION": version, "USE_RELAY_DEBUG": "OFF", "USE_GRAPH_EXECUTOR": "ON"}
    found |= {"USE_PROFILER": "ON", "USE_GRAPH_EXECUTOR_DEBUG": "ON", "USE_AOT_EXECUTOR": "ON", "USE_THREADS": "ON"}
    found |= {"GIT_COMMIT_HASH": "NOT-FOUND", "GIT_COMMIT_TIME": "NOT-FOUND", "TVM_LOG_BEFORE_THROW": "OFF"}
    return {**found, "BUILD_STATIC_RUNTIME": "OFF", "BATON_VERSION": _version()}


def _version() -> str:
    try:
        return importlib.metadata.version("baton")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def describe() -> None:
    """Print facts for a bug report: Python, machine, versions, environment."""
    here = Path(__file__).resolve().parents[3]
    print(f"Python {sys.version.split()[0]} ({platform.python_implementation()}), {platform.platform()}")
    print(f"baton at {here}, target {Target.host()}")
    for name, value in sorted(libinfo().items()):
        print(f"  {name}: {value}")
    for name in sorted(n for n in os.environ if n.startswith(("BATON_", "TVM_", "OMP_"))):
        print(f"  {name}={os.environ[name]}")
