"""Analyses of Relax (`tvm.relax.analysis`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("analysis.variables", "all_vars bound_vars free_vars all_global_vars"),
        **names("analysis.purity", "contains_impure_call"),
        **names("analysis.layout_transforms", "suggest_layout_transforms"),
        **names("analysis.memory_usage", "estimate_memory_usage"),
        **names("relax.check.base_check", "BaseCheckResult"),
        **names(
            "driver.tvm_names.relax.checks",
            "well_formed post_order_visit get_static_type erase_to_well_defined struct_info_base_check struct_info_lca",
        ),
        **names(
            "driver.tvm_names.relax.checks",
            "derive_call_ret_struct_info tir_vars_in_struct_info definable_tir_vars_in_struct_info get_var2val udchain",
        ),
        **names(
            "driver.tvm_names.relax.checks",
            "collect_non_negative_expressions defined_symbolic_vars free_symbolic_vars has_reshape_pattern",
        ),
        **names(
            "driver.tvm_names.relax.checks",
            "name_to_binding remove_all_unused detect_recursion computable_at_compile_time",
        ),
    },
    before=wire,
)
