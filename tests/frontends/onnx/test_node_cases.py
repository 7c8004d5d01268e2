"""A quick selection of ONNX's own operator tests, by category, through `baton.frontend.onnx.backend`."""

from __future__ import annotations

import pytest

from baton.frontend.onnx import backend
from tests.frontends.onnx.node_cases import as_array, assert_outputs, cases_of

# module of ONNX's cases -> names of cases, without "test_"
SELECTION = {
    # elementwise, with the edges that dtypes have
    "mod": "mod_mixed_sign_int64 mod_int64_fmod mod_uint8",
    "pow": "pow_types_int32_float32 pow_bcast_array",
    "clip": "clip_default_int8_min clip_default_inbounds clip_outbounds",
    "isinf": "isinf_float16 isinf_negative",
    "bitshift": "bitshift_right_uint8 bitshift_left_uint64",
    "bitcast": "bitcast_float32_to_int32 bitcast_bool_to_uint8",
    # floats of 8 and 4 bits, integers of 4 and 2
    "cast": "cast_FLOAT_to_FLOAT8E4M3FNUZ cast_no_saturate_FLOAT16_to_FLOAT8E5M2 cast_e8m0_FLOAT_to_FLOAT8E8M0 "
    "cast_FLOAT16_to_FLOAT4E2M1 cast_FLOAT_to_INT4 cast_UINT2_to_UINT8",
    "div": "div_uint8 div_int32_trunc",
    # reductions; axes are inputs of the model
    "reduce_log_sum_exp": "reduce_log_sum_exp_keepdims_random reduce_log_sum_exp_empty_set",
    "reducemax": "reduce_max_bool_inputs reduce_max_negative_axes_keepdims_random",
    "argmax": "argmax_keepdims_example_select_last_index",
    "topk": "top_k_negative_axis top_k_smallest",
    "cumsum": "cumsum_1d_reverse_exclusive cumsum_2d_negative_axis",
    # shapes
    "reshape": "reshape_zero_and_negative_dim reshape_allowzero_reordered",
    "slice": "slice_neg_steps slice_start_out_of_bounds",
    "pad": "constant_pad_axes wrap_pad reflect_pad",
    "split": "split_variable_parts_2d_opset18 split_1d_uneven_split_opset18",
    "center_crop_pad": "center_crop_pad_crop_and_pad",
    "spacetodepth": "spacetodepth_crd_mode_example",
    # gathering and scattering
    "gathernd": "gathernd_example_int32_batch_dim1",
    "scatternd": "scatternd_max",
    "compress": "compress_1 compress_default_axis",
    "unique": "unique_not_sorted_without_axis unique_sorted_with_negative_axis",
    "tensorscatter": "tensorscatter_circular",
    # convolutions, pools, images
    "convtranspose": "convtranspose_output_shape convtranspose_dilations convtranspose_autopad_same",
    "maxpool": "maxpool_with_argmax_2d_precomputed_pads maxpool_2d_ceil",
    "maxunpool": "maxunpool_export_with_output_shape",
    "lppool": "lppool_2d_dilations",
    "col2im": "col2im_pads col2im_5d",
    "resize": "resize_upsample_scales_linear resize_downsample_scales_cubic_antialias resize_tf_crop_and_resize "
    "resize_upsample_sizes_nearest_not_smaller resize_downsample_scales_linear_half_pixel_symmetric",
    "gridsample": "gridsample_bicubic gridsample_volumetric_nearest_align_corners_0",
    "roialign": "roialign_aligned_true roialign_mode_max",
    "deformconv": "basic_deform_conv_with_padding deform_conv_with_multiple_offset_groups deform_conv_with_mask_bias",
    "det": "det_nd",
    "melweightmatrix": "melweightmatrix",
    "nonmaxsuppression": "nonmaxsuppression_center_point_box_format nonmaxsuppression_two_batches",
    "affinegrid": "affine_grid_3d",
    # normalisation, attention, losses: some by the bodies that ONNX gives them
    "batch_normalization": "batchnorm_example_training_mode",
    "groupnormalization": "group_normalization_epsilon",
    "attention": "attention_4d_gqa attention_3d_with_past_and_present",
    "rotaryembedding": "rotary_embedding_interleaved",
    "negativeloglikelihoodloss": "nllloss_NCd1d2_with_weight_reduction_mean",
    "softmax_cross_entropy_loss": "sce_mean_weight_ii_log_prob",
    # steps of optimizers
    "adagrad": "adagrad_multiple",
    "adam": "adam adam_multiple",
    "momentum": "momentum nesterov_momentum momentum_multiple",
    # strings and n-grams
    "string_concat": "string_concat_broadcasting string_concat_utf8",
    "string_split": "string_split_maxsplit string_split_empty_tensor",
    "regex_full_match": "regex_full_match_email_domain",
    "tfidfvectorizer": "tfidfvectorizer_tf_batch_onlybigrams_skip5 tfidfvectorizer_tf_uniandbigrams_skip5",
    # quantised
    "quantizelinear": "quantizelinear_blocked_asymmetric quantizelinear_axis quantizelinear_e4m3fn "
    "quantizelinear_float4e2m1 quantizelinear_int4",
    "dequantizelinear": "dequantizelinear_blocked dequantizelinear_int16 dequantizelinear_e4m3fn_zero_point",
    "dynamicquantizelinear": "dynamicquantizelinear_max_adjusted",
    "matmulinteger": "matmulinteger",
    "convinteger": "convinteger_with_padding",
    "qlinearmatmul": "qlinearmatmul_3D_int8_float32",
    "qlinearconv": "qlinearconv",
    # recurrence and control
    "lstm": "lstm_with_peepholes",
    "if_": "if",
    "loop": "loop11",
    "scan": "scan9_sum",
    # signals
    "dft": "dft_axis dft_rfft_opset19",
    "stft": "stft_with_window",
    "blackmanwindow": "blackmanwindow_symmetric",
}
CASES = [(module, f"test_{name}") for module, names in SELECTION.items() for name in names.split()]


@pytest.mark.parametrize(("module", "name"), CASES, ids=[n for _, n in CASES])
def test_node(module: str, name: str) -> None:
    case = cases_of(module)[name]
    program = backend.prepare(case.model)
    for inputs, outputs in case.data_sets:
        assert_outputs(case, program.run([as_array(i) for i in inputs]), outputs)
