"""`tvm.target.codegen`: the version of LLVM, the machine it runs on, and what the CPU of a target can do."""

from __future__ import annotations

import llvmlite.binding as llvm

from baton._src.ir.target import Target


def llvm_version_major(allow_none: bool = False) -> int:
    """The first number of LLVM's version."""
    return int(llvm.llvm_version_info[0])


def llvm_get_system_cpu() -> str:
    """LLVM's name of this machine's CPU."""
    return str(llvm.get_host_cpu_name())


def llvm_get_system_triple() -> str:
    """LLVM's triple of this process."""
    return str(llvm.get_process_triple())


def llvm_get_cpu_features(target: Target | None = None) -> list[str]:
    """The features of a target's CPU (the current target, else this machine), by LLVM's names."""
    return sorted(_target(target).features)


def llvm_cpu_has_features(cpu_features: str | list[str], target: Target | None = None) -> bool:
    """Whether the CPU can do all of these."""
    wanted = [cpu_features] if isinstance(cpu_features, str) else cpu_features
    return _target(target).features.issuperset(wanted)


def target_has_features(cpu_features: str | list[str], target: Target | None = None) -> bool:
    """Whether code for the target may use all of these."""
    return llvm_cpu_has_features(cpu_features, target)


def llvm_get_vector_width(target: Target | None = None) -> int:
    """Bits of a vector register."""
    return _target(target).vector_bits


def _target(given: Target | None) -> Target:
    return given or Target.current() or Target("llvm")
