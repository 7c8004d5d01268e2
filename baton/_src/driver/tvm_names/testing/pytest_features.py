"""What tests need of the machine, as `tvm.testing` says it: `requires_x86_vnni`, `requires_cuda`, `uses_gpu`.

A feature decorates tests, or gives the marks for them: `pytest.param("cuda", marks=requires_cuda.marks())`. A test that
requires a feature is skipped where there is none; one that only uses it (`support_required="optional"`) is run.
"""

from __future__ import annotations

import importlib
import importlib.util
import platform
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import llvmlite.binding as llvm

from baton._src.driver.tvm_names.target.llvm_facts import llvm_cpu_has_features
from baton._src.ir.target import Target
from baton._src.support.diagnostics import fail

Check = Callable[[], bool | str]
SUPPORT = ("compile-and-run", "compile-only", "optional")


class Feature:
    """Something that a test may require.

    `compile_time_check` and `run_time_check` say whether it is there: False, or the reason as text, if not. A feature
    has those of its `parent_features`, too. `cmake_flag` and the `target_kind_...` options name parts of TVM that
    baton lacks: all but "llvm" mean that the feature is absent.
    """

    all: ClassVar[dict[str, Feature]] = {}

    def __init__(
        self,
        name: str,
        long_name: str | None = None,
        cmake_flag: str | None = None,
        target_kind_enabled: str | None = None,
        compile_time_check: Check | None = None,
        target_kind_hardware: str | None = None,
        run_time_check: Check | None = None,
        parent_features: str | list[str] | None = None,
    ) -> None:
        self.name, self.long_name = name, long_name or name
        self.cmake_flag = cmake_flag
        self.target_kind_enabled, self.target_kind_hardware = target_kind_enabled, target_kind_hardware
        self.compile_time_check, self.run_time_check = compile_time_check, run_time_check
        self.parent_features = [parent_features] if isinstance(parent_features, str) else list(parent_features or ())
        self.all[name] = self

    def with_parents(self) -> Iterator[Feature]:
        """The features it needs, and itself."""
        for parent in self.parent_features:
            yield from self.all[parent].with_parents()
        yield self

    def why_not(self, support_required: str = "compile-and-run") -> str:
        """Why a test that requires it cannot run; empty if it can."""
        if support_required not in SUPPORT:
            message = f"there is no kind of support {support_required!r}"
            raise fail("api", message, help=f"one of {', '.join(SUPPORT)}", kind=ValueError)
        runs = support_required == "compile-and-run"
        needed = self.with_parents() if support_required != "optional" else iter(())
        return next((reason for feature in needed if (reason := feature._own_reason(runs))), "")

    def _own_reason(self, runs: bool) -> str:
        kinds = (self.target_kind_enabled, self.target_kind_hardware if runs else None)
        parts = [self.cmake_flag not in (None, "USE_LLVM"), *(kind not in (None, "llvm") for kind in kinds)]
        if any(parts):
            return f"baton has no {self.long_name}"
        for check in (self.compile_time_check, self.run_time_check if runs else None):
            found = True if check is None else check()
            if found is not True:
                return found or f"there is no {self.long_name} here"
        return ""

    def marks(self, support_required: str = "compile-and-run") -> list[Any]:
        """The marks for pytest: one that skips if it is not there, and its name."""
        mark = importlib.import_module("pytest").mark
        reason = self.why_not(support_required)
        skipped = [mark.skip(reason=reason)] if reason else []
        return [*skipped, *(getattr(mark, feature.name) for feature in self.with_parents())]

    def __call__(self, func: Any = None, *, support_required: str = "compile-and-run") -> Any:
        """Decorate a test: `@feature`, or `@feature(support_required="compile-only")`."""
        self.why_not(support_required)  # what is asked makes sense

        def decorate(test: Any) -> Any:
            for mark in self.marks(support_required):
                test = mark(test)
            return test

        return decorate if func is None else decorate(func)

    @classmethod
    def require(cls, name: str, support_required: str = "compile-and-run") -> Any:
        """The decorator of the feature of this name."""
        return cls.all[name](support_required=support_required)


def _cpu_has(*alternatives: str) -> Check:
    """Whether this machine's CPU has all features of one of these lists."""

    def check() -> bool:
        here = Target("llvm")
        return any(llvm_cpu_has_features(names.split(), here) for names in alternatives)

    return check


def _absent() -> str:
    return "baton compiles for CPUs"


def _features() -> Iterator[Feature]:
    yield Feature("llvm", "LLVM", cmake_flag="USE_LLVM", target_kind_enabled="llvm", target_kind_hardware="llvm")
    yield Feature("x86", "x86 CPU", run_time_check=lambda: platform.machine().lower() in ("x86_64", "amd64"))
    yield Feature("arm_dot", "dot product of ARM", run_time_check=_cpu_has("dotprod"))
    yield Feature("aarch64_sve", "SVE of ARM", run_time_check=_cpu_has("sve"))
    yield Feature("x86_vnni", "VNNI", run_time_check=_cpu_has("avx512vnni", "avxvnni"))
    avx512 = "avx512bw avx512cd avx512dq avx512vl avx512f"
    yield Feature("x86_avx512", "AVX-512", run_time_check=_cpu_has(avx512))
    yield Feature("x86_amx", "AMX", run_time_check=_cpu_has("amx-int8"))
    yield Feature("gpu", "GPU", compile_time_check=_absent)
    yield Feature("multi_gpu", "GPUs", compile_time_check=_absent, parent_features="gpu")
    for name in ["cuda", "opencl", "rocm", "metal", "vulkan"]:
        yield Feature(name, parent_features="gpu")
    for name in ["tensorcore", "cudnn", "cublas", "nccl", "nvptx", "cudagraph", "mps"]:
        yield Feature(name, parent_features="cuda")
    yield Feature("matrixcore", parent_features="rocm")
    absent = "openclml micro cutlass rpc ethosn ethosu libtorch mrvl hexagon cmsisnn corstone300 vitis_ai"
    for name in absent.split():
        yield Feature(name, cmake_flag=f"USE_{name.upper()}")


FEATURES = {f"requires_{feature.name}": feature for feature in _features()}
"""The features by the names that scripts know."""


def uses_gpu(func: Any) -> Any:
    """Mark a test that uses a GPU where there is one; it is run."""
    return FEATURES["requires_gpu"](func, support_required="optional")


def uses_multi_gpu(func: Any) -> Any:
    """Mark a test that uses GPUs where there are several; it is run."""
    return FEATURES["requires_multi_gpu"](func, support_required="optional")


def __getattr__(name: str) -> Feature:
    if name in FEATURES:
        return FEATURES[name]
    raise AttributeError(f"there is no {name}")


def requires_nvcc_version(major_version: int, minor_version: int = 0, release_version: int = 0) -> Any:
    """A test for certain compilers of CUDA is skipped."""
    return FEATURES["requires_cuda"]()


def requires_cuda_compute_version(major_version: int, minor_version: int = 0) -> Any:
    """A test for certain GPUs is skipped."""
    return FEATURES["requires_cuda"]()


def is_ampere_or_newer() -> bool:
    """Whether there is an NVIDIA GPU of this generation: none is supported."""
    return False


def requires_llvm_minimum_version(major_version: int) -> Any:
    """A test that needs this version of LLVM or a later one."""
    found = llvm.llvm_version_info[0]
    missing = f"LLVM is {found}, not {major_version}" if found < major_version else ""
    return _needing(missing)


def requires_package(*packages: str) -> Any:
    """A test that imports packages; skipped where one is missing."""
    missing = [name for name in packages if importlib.util.find_spec(name.partition(".")[0]) is None]
    return _needing(f"there is no package {', '.join(missing)}" if missing else "")


def _needing(reason: str) -> Any:
    """A decorator that skips a test for this reason, if there is one."""
    return importlib.import_module("pytest").mark.skip(reason=reason) if reason else lambda function: function
