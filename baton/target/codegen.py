"""Facts about LLVM and CPUs (`tvm.target.codegen`)."""

from __future__ import annotations

from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("driver.tvm_names.target.llvm_facts", "llvm_version_major llvm_get_system_cpu llvm_get_system_triple"),
        **names(
            "driver.tvm_names.target.llvm_facts", "llvm_get_cpu_features llvm_cpu_has_features target_has_features"
        ),
        **names("driver.tvm_names.target.llvm_facts", "llvm_get_vector_width"),
        **names("tir.builders.llvm_intrinsics", "llvm_lookup_intrinsic_id llvm_get_intrinsic_name"),
    },
)
