"""Analyses of Relax (`tvm.relax.analysis`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names(
            "analysis.variables",
            "all_vars bound_vars free_vars all_global_vars defined_symbolic_vars free_symbolic_vars",
        ),
        **names("analysis.bindings", "get_var2val name_to_binding udchain"),
        **names("analysis.call_graph", "detect_recursion"),
        **names("analysis.compile_time", "computable_at_compile_time"),
        **names("analysis.purity", "contains_impure_call"),
        **names("relax.check.erase", "erase_to_well_defined"),
        **renamed("relax.check.erase", get_static_type="erase_struct_info"),
        **names("relax.check.base_check", "BaseCheckResult struct_info_base_check"),
        **names("relax.check.lub", "struct_info_lca"),
        **names("relax.check.deduce", "derive_call_ret_struct_info"),
        **names("relax.check.variables", "tir_vars_in_struct_info definable_tir_vars_in_struct_info"),
        **names("relax.check.variables", "collect_non_negative_expressions"),
        **names("analysis.memory_usage", "estimate_memory_usage"),
        **names("passes.relax.dead_code_elimination", "remove_all_unused"),
        **names("passes.relax.rewrite_dataflow_reshape", "has_reshape_pattern"),
        **renamed("driver.tvm_names.relax_checks", well_formed="well_formed", post_order_visit="post_order_visit"),
    },
    before=wire,
)
