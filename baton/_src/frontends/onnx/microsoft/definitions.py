"""What operators of the domain `com.microsoft` take and give, by onnxruntime's documentation of contributed operators:
the `onnx` package has no definitions of them.
"""

from __future__ import annotations

from functools import cache

FLOAT, INT, STRING, FLOATS, INTS, STRINGS = 1, 2, 3, 6, 7, 8
"""ONNX's numbers of the types of attributes."""
_CONVOLVED = "auto_pad dilations group kernel_shape pads strides"
_ROUTED = "activation_alpha activation_beta activation_type k normalize_routing_weights swiglu_fusion swiglu_limit"
_NAMES: dict[str, str] = {
    **dict.fromkeys(
        (
            "BiasAdd", "BiasGelu", "BiasSplitGelu", "ComplexMul", "ComplexMulConj", "DynamicQuantizeMatMul",
            "ExpandDims", "FastGelu", "GatedAdd", "GatherND", "Gelu", "GemmFastGelu", "GemmaRotaryEmbedding",
            "Inverse", "LinearAttentionGate", "MatMulInteger16", "MatMulIntegerToFloat", "MulInteger", "QLinearAdd",
            "QLinearMul", "QLinearSigmoid", "QLinearWhere", "Range", "TorchEmbedding", "Unique",
        ),
        "",
    ),
    **dict.fromkeys(
        ("EngramGate", "QEmbedLayerNormalization", "SkipLayerNormalization", "SkipSimplifiedLayerNormalization"),
        "epsilon",
    ),
    **dict.fromkeys(("DequantizeLinear", "QLinearConcat", "QuantizeLinear"), "axis"),
    **dict.fromkeys(("QLinearLeakyRelu", "QuickGelu", "ScaledSiLU"), "alpha"),
    **dict.fromkeys(("QLinearReduceMean", "ReduceSumInteger"), "axes keepdims"),
    **dict.fromkeys(("QGemm", "TransposeMatMul"), "alpha transA transB"),
    **dict.fromkeys(("GroupNorm", "SkipGroupNorm"), "activation channels_last epsilon groups"),
    **dict.fromkeys(("FusedConv", "NhwcFusedConv"), f"{_CONVOLVED} activation activation_params"),
    **dict.fromkeys(("Irfft", "Rfft"), "normalized onesided signal_ndim"),
    "Attention": (
        "do_rotary mask_filter_value num_heads past_present_share_buffer qkv_hidden_sizes rotary_embedding_dim scale "
        "unidirectional"
    ),
    "BiasDropout": "seed",
    "BiasSoftmax": "axis is_inner_broadcast",
    "BranchwiseRMSNorm": "epsilon num_branches",
    "CDist": "metric",
    "CropAndResize": "extrapolation_value mode",
    "DecoderMaskedMultiHeadAttention": "mask_filter_value num_heads output_qk past_present_share_buffer scale",
    "DynamicQuantizeLSTM": "activation_alpha activation_beta activations clip direction hidden_size input_forget",
    "EmbedLayerNormalization": "epsilon mask_index_type",
    "FusedGemm": "activation activation_alpha activation_beta activation_gamma alpha beta transA transB",
    "FusedMatMul": "alpha transA transB transBatchA transBatchB",
    "FusedMatMulActivation": (
        "activation activation_alpha activation_axis activation_beta activation_gamma alpha transA transB transBatchA "
        "transBatchB"
    ),
    "GatedRMSNorm": "activation epsilon",
    "GatedRelativePositionBias": "num_heads",
    "GatherBlockQuantized": "bits block_size gather_axis quantize_axis",
    "GridSample": "align_corners mode padding_mode",
    "GroupQueryAttention": (
        "causal do_rotary k_norm_epsilon k_quant_type kv_cache_bit_width kv_num_heads local_window_size num_heads "
        "q_norm_epsilon qk_norm_epsilon qk_output rotary_interleaved scale sliding_window_cache smooth_softmax softcap "
        "v_quant_type"
    ),
    "HyperConnectionPostMix": "num_branches",
    "HyperConnectionPreMix": "num_branches reduction_scale",
    "MRotaryEmbedding": (
        "interleaved is_packed_batching mrope_layout mrope_section num_heads rotary_embedding_dim scale"
    ),
    "MatMulBnb4": "K N block_size quant_type training_mode transB",
    "MatMulNBits": "K N accuracy_level bits block_size weight_prepacked",
    "MatMulNBitsMlp": "K N accuracy_level activation bits block_size epsilon",
    "MatMulNBitsQkv": "K Nkv Nq accuracy_level bits block_size epsilon",
    "MoE": f"{_ROUTED} use_sparse_mixer",
    "MultiHeadAttention": "mask_filter_value num_heads scale unidirectional",
    "NGramRepeatBlock": "ngram_size",
    "NhwcConv": _CONVOLVED,
    "NhwcMaxPool": "auto_pad ceil_mode dilations kernel_shape pads strides",
    "Pad": "mode",
    "QAttention": "do_rotary mask_filter_value num_heads past_present_share_buffer scale unidirectional",
    "QLinearAveragePool": "auto_pad ceil_mode channels_last count_include_pad kernel_shape pads strides",
    "QLinearConv": f"{_CONVOLVED} channels_last",
    "QLinearGlobalAveragePool": "channels_last",
    "QLinearSoftmax": "axis opset",
    "QMoE": (
        f"{_ROUTED} accuracy_level block_size expert_weight_bits fc1_expert_weight_bits fc2_expert_weight_bits "
        "fc3_expert_weight_bits quant_type use_sparse_mixer weights_prepacked"
    ),
    "RelativePositionBias": "is_bidirectional max_distance",
    "RotaryEmbedding": "interleaved is_packed_batching num_heads rotary_embedding_dim scale",
    "SparseAttention": "do_rotary kv_num_heads num_heads rotary_interleaved scale sparse_block_size",
    "Tokenizer": "mark mincharnum pad_value separators tokenexp",
    "Trilu": "upper",
    "UnfoldTensor": "dim size step",
}  # fmt: skip
"""Operator -> the names of its attributes."""
_KINDS: dict[int, str] = {
    FLOAT: (
        "activation_alpha activation_beta activation_gamma alpha beta clip epsilon extrapolation_value k_norm_epsilon "
        "mask_filter_value q_norm_epsilon qk_norm_epsilon reduction_scale scale softcap swiglu_limit"
    ),
    STRING: (
        "activation activation_type auto_pad direction k_quant_type metric mode pad_value padding_mode tokenexp "
        "v_quant_type"
    ),
    FLOATS: "activation_params",
    INTS: "axes dilations kernel_shape mrope_section pads qkv_hidden_sizes strides",
    STRINGS: "activations separators",
}
"""Type -> the names of that type, whatever the operator; all others are integers."""
_OWN_KINDS: dict[tuple[str, str], int] = {
    ("DynamicQuantizeLSTM", "activation_alpha"): FLOATS,
    ("DynamicQuantizeLSTM", "activation_beta"): FLOATS,
    ("GroupNorm", "activation"): INT,
    ("SkipGroupNorm", "activation"): INT,
    ("QMoE", "quant_type"): STRING,
}
"""(operator, name) -> type, where a name is of several types."""
_COUNTS: dict[tuple[int, int], str] = {
    (1, 1): "Gelu Inverse Irfft NhwcMaxPool QuickGelu ReduceSumInteger Rfft Tokenizer UnfoldTensor",
    (1, 3): "Unique",
    (2, 1): (
        "BiasGelu BiasSoftmax BiasSplitGelu BranchwiseRMSNorm CDist ComplexMul ComplexMulConj ExpandDims FastGelu "
        "FusedMatMul FusedMatMulActivation GatherND GridSample HyperConnectionPreMix MatMulInteger16 "
        "NGramRepeatBlock ScaledSiLU TransposeMatMul Trilu"
    ),
    (3, 1): (
        "BiasAdd DequantizeLinear FusedGemm GatedAdd GatedRMSNorm GemmFastGelu GroupNorm MatMulBnb4 NhwcConv Pad "
        "QuantizeLinear Range RelativePositionBias"
    ),
    (4, 1): (
        "CropAndResize FusedConv GatherBlockQuantized HyperConnectionPostMix MRotaryEmbedding MulInteger "
        "NhwcFusedConv RotaryEmbedding TorchEmbedding"
    ),
    (4, 2): "LinearAttentionGate",
    (4, 4): "SkipSimplifiedLayerNormalization",
    (5, 1): (
        "DynamicQuantizeMatMul QLinearAveragePool QLinearGlobalAveragePool QLinearLeakyRelu QLinearReduceMean "
        "QLinearSigmoid QLinearSoftmax"
    ),
    (5, 2): "BiasDropout GemmaRotaryEmbedding SkipGroupNorm",
    (5, 4): "SkipLayerNormalization",
    (6, 1): "MatMulNBits",
    (6, 2): "EngramGate",
    (7, 1): "GatedRelativePositionBias MatMulIntegerToFloat",
    (7, 2): "Attention",
    (8, 1): "MoE QLinearAdd QLinearMul",
    (9, 1): "QGemm QLinearConv QLinearWhere",
    (9, 2): "MatMulNBitsMlp QAttention",
    (9, 3): "EmbedLayerNormalization",
    (10, 4): "MultiHeadAttention",
    (11, 3): "SparseAttention",
    (11, 4): "DecoderMaskedMultiHeadAttention",
    (12, 3): "DynamicQuantizeLSTM",
    (12, 4): "MatMulNBitsQkv",
    (16, 4): "GroupQueryAttention",
    (18, 2): "QEmbedLayerNormalization",
    (21, 1): "QMoE",
}
"""(operands, outputs) at most -> operators; QLinearConcat takes any number of operands."""
COUNTS: dict[str, tuple[int, int]] = {name: most for most, names in _COUNTS.items() for name in names.split()}
"""Operator -> how many operands and outputs it has at most."""


@cache
def contributed(operator: str) -> dict[str, int] | None:
    """The types of an operator's attributes by name; None of operators that are not listed."""
    names = _NAMES.get(operator)
    if names is None:
        return None
    kinds = {name: kind for kind, listed in _KINDS.items() for name in listed.split()}
    return {name: _OWN_KINDS.get((operator, name), kinds.get(name, INT)) for name in names.split()}
