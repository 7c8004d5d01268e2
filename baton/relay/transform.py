"""Passes over Relay (`tvm.relay.transform`)."""

from __future__ import annotations

from baton._src.driver.wiring import wire
from baton._src.support.lazy import attach, names, renamed

__getattr__, __dir__, __all__ = attach(
    __name__,
    {
        **names("passes.relay.alter_op_layout", "AlterOpLayout SimplifyExprPostAlterOp"),
        **names("passes.relay.canonicalize_cast", "CanonicalizeCast"),
        **names("passes.relay.canonicalize_ops", "CanonicalizeOps"),
        **names("passes.relay.combine_parallel", "CombineParallelConv2D CombineParallelDense"),
        **names("passes.relay.combine_parallel", "CombineParallelBatchMatmul BatchingOps"),
        **names("passes.relay.convert_layout", "ConvertLayout"),
        **names("passes.relay.dead_code_elimination", "DeadCodeElimination"),
        **names("passes.relay.defuse_ops", "DefuseOps"),
        **names("passes.relay.div_to_mul", "DivToMul"),
        **names("passes.relay.dynamic_to_static", "DynamicToStatic"),
        **names("passes.relay.eliminate_common_subexpr", "EliminateCommonSubexpr"),
        **names("passes.relay.eta_expand", "EtaExpand"),
        **names("passes.relay.fast_math", "FastMath"),
        **names("passes.relay.flatten_atrous_conv", "FlattenAtrousConv"),
        **names("passes.relay.fold_explicit_padding", "FoldExplicitPadding"),
        **names("passes.relay.specialize", "Specialize"),
        **names("passes.relay.split_args", "SplitArgs"),
        **names("passes.relay.fold_constant", "FoldConstant"),
        **names("passes.relay.fold_scale_axis", "FoldScaleAxis ForwardFoldScaleAxis BackwardFoldScaleAxis"),
        **names("passes.relay.fuse_ops", "FuseOps"),
        **names("passes.relay.gradient", "FirstOrderGradient gradient"),
        **names("passes.relay.infer_type", "InferType"),
        **names("passes.relay.inlining", "Inline"),
        **names("passes.relay.lambda_lift", "LambdaLift"),
        **names("passes.relay.legalize", "Legalize"),
        **names("passes.relay.remove_unused_functions", "RemoveUnusedFunctions"),
        **names("passes.relay.simplify_expr", "SimplifyExpr"),
        **names("passes.relay.simplify_inference", "SimplifyInference"),
        **names("passes.relay.to_a_normal_form", "ToANormalForm"),
        **renamed("passes.relay.to_a_normal_form", ToANormalFormExpr="to_a_normal_form_expr"),
        **renamed("passes.relay.infer_type", InferTypeLocal="infer_type_local"),
        **names("driver.relay_build", "build_config"),
        **names("passes.relay.to_basic_block_normal_form", "ToBasicBlockNormalForm"),
        **names("passes.relay.to_graph_normal_form", "ToGraphNormalForm"),
        **names("passes.relay.to_mixed_precision", "ToMixedPrecision"),
        **names("transform.passes", "Pass Sequential FunctionPass"),
        **names("transform.context", "PassContext PassInfo"),
        **names("transform.decorators", "module_pass"),
        **renamed("driver.tvm_names.user_passes", function_pass="relay_function_pass"),
        **names("passes.relay.infer_type", "infer_type_local"),
    },
    before=wire,
)
