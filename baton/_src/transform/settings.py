"""The settings a `PassContext` may carry in `config`: names follow TVM v0.19 where TVM has them."""

from __future__ import annotations

from baton._src.support.options import Option, Options

_UNUSED = """
    relay.backend.disable_compile_engine_cache relay.frontend.fill_span tir.disable_assert tir.disable_cse_tir
    tir.enable_equiv_terms_in_cse_tir tir.disable_storage_rewrite tir.noalias tir.is_entry_func tir.use_async_copy
    tir.merge_static_smem tir.detect_global_barrier tir.debug_keep_trivial_loop tir.instrument_bound_checkers
    tir.instrument_lwp tir.ptx_ldg32 tir.vtcm_capacity tir.usmp.enable tir.usmp.algorithm
    tir.experimental_dma_bypass_cache tir.enable_debug
    tir.InjectDoubleBuffer tir.ReduceBranchingThroughOvercompute tir.lwp_disable_func_prof
    tir.lwp_max_depth tir.lwp_min_height tir.instr_siblings tir.reset_start_id
"""
"""TVM's switches of lowering steps that do not exist here. None changes results, so they are accepted."""

_OF_PASSES = {
    "tir.HoistExpression": "hoisted_conditionals hoisted_let_bindings",
    "tir.HoistIfThenElse": "support_block_scope_hosting",
    "tir.LoopPartition": (
        "partition_const_loop no_unroll_loop_with_extent_one unroll_loop_with_partition_hint_no_interval"
    ),
    "tir.RemoveNoOp": "use_dataflow_analysis max_simplification_steps",
    "tir.Simplify": (
        "transitively_prove_inequalities propagate_knowns_to_prove_conditional "
        "propagate_knowns_to_simplify_expressions convert_boolean_to_and_of_ors apply_constraints_to_boolean_branches"
    ),
    "tir.UnrollLoop": "auto_max_step auto_max_depth auto_max_extent explicit_unroll",
}
"""Passes of `tir.transform` that take a dict of options, with what may be in it."""

CONFIG = Options(
    [
        Option("relax.FuseOps.max_depth", int, 256, "the largest number of operators in one fused group"),
        Option(
            "relax.backend.use_cuda_graph", bool, False, "accepted for scripts written for TVM; there is no CUDA here"
        ),
        Option(
            "relax.lift_transform_params.consume_params",
            bool,
            False,
            "accepted for scripts written for TVM; tuples never change here, callers let go of their weights",
        ),
        Option("relax.fallback_device_type", int, 1, "DLPack number of the device of values without one (1: CPU)"),
        Option("relax.transform.apply_legalize_ops", bool, True, "whether LegalizeOps runs in the default pipelines"),
        Option("relay.FuseOps.max_depth", int, 256, "the largest number of operators in one fused group"),
        Option("relay.FuseOps.link_params", bool, False, "constants may become part of fused functions"),
        Option("relay.backend.use_auto_scheduler", bool, False, "accepted for scripts written for TVM"),
        Option("relay.backend.use_meta_schedule", bool, False, "accepted for scripts written for TVM"),
        Option("relay.backend.use_meta_schedule_dispatch", int, 0, "accepted for scripts written for TVM"),
        Option("relay.backend.tir_converter", str, "default", "accepted for scripts written for TVM"),
        Option("relay.fallback_device_type", int, 1, "DLPack number of the device of values without one (1: CPU)"),
        Option("relay.ToMixedPrecision.keep_orig_output_dtype", bool, False, "cast results back to their first dtype"),
        Option("relay.remove_standalone_reshapes.enable", bool, True, "whether RemoveStandaloneReshapes does its work"),
        Option("tir.disable_vectorize", bool, False, "keep vectorised loops as plain ones"),
        Option("tir.add_lower_pass", object, None, "passes that tvm.lower and tvm.build run, each as (phase, pass)"),
        *(Option(name, object, None, "options of the pass", tuple(keys.split())) for name, keys in _OF_PASSES.items()),
        *(Option(name, object, None, "accepted for scripts written for TVM") for name in _UNUSED.split()),
        Option(
            "testing.immutable_module", bool, False, "accepted for scripts written for TVM; modules never change here"
        ),
        Option(
            "baton.reproducer_dir", str, "", "where a broken pass leaves its reproducer; empty: the cache directory"
        ),
        Option(
            "baton.fold_constant_bytes", int, 1 << 20, "largest constant that folding may create, unless it shrinks"
        ),
        Option("baton.tuning", bool, True, "whether compilation consults what `baton tune` found"),
        Option("baton.winograd", bool, True, "whether 3x3 convolutions use Winograd's algorithm where it is faster"),
    ]
)
