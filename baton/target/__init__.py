"""Compilation targets (`tvm.target`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("ir.target", "Target"),
        **names("ir.target_description", "TargetKind"),
        **names("driver.tvm_names.target.targets", "create list_kinds list_tags VirtualDevice"),
        **names("driver.tvm_names.target.boards", "arm_cpu rasp riscv_cpu"),
        **submodules("baton.target", "codegen tag"),
        **names(
            "driver.tvm_names.target.generic_functions",
            "GenericFunc generic_func get_native_generic_func override_native_generic_func",
        ),
    },
)
