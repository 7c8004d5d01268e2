"""Analyses of Relay (`tvm.relay.analysis`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed, submodules

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("relay.analysis", "all_vars bound_vars free_vars all_type_vars bound_type_vars free_type_vars"),
        **names("relay.analysis", "post_order_visit well_formed check_kind unmatched_cases is_dataflow"),
        **names("driver.tvm_names.relay.counts", "list_op_freqs all_dtypes check_constant get_total_mac_number"),
        **names("driver.tvm_names.relay.call_graph", "CallGraph extract_fused_functions"),
        **renamed("driver.tvm_names.relay.call_graph", extract_intermdeiate_expr="extract_intermediate_expr"),
        **names("driver.tvm_names.relay.features", "Feature detect_feature check_basic_block_normal_form count_layers"),
        **names("driver.tvm_names.relay.features", "LayerCounter"),
        **names("driver.tvm_names.relay.features", "list_fake_quantized_op_freqs get_calibration_data"),
        **names("driver.tvm_names.relay.devices", "context_analysis collect_device_info collect_device_annotation_ops"),
        **names("driver.tvm_names.relay.annotated_regions", "AnnotatedRegionSet"),
        **submodules("baton.relay.analysis", "annotated_regions call_graph feature sparse_conv2d sparse_dense"),
        **renamed("passes.relay.operators.simplify_fc_transpose", search_fc_transpose="candidates"),
    },
    before=wire,
)
