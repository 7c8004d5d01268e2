"""Which operators compute in reduced precision: the lists of TVM v0.19, extended by properties of baton's operators.

Rules registered by users take precedence (`relay.op.register_mixed_precision_conversion`).
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.op_def import Fusion

ALWAYS, FOLLOW, NEVER = 0, 1, 2
"""The categories: always reduced; reduced where all floating operands are; always float32."""

DEFAULT_ALWAYS_LIST = [
    *("nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose", "nn.conv3d_transpose"),
    *("nn.dense", "nn.batch_matmul"),
]
"""The most expensive operators, which accumulate in registers."""

DEFAULT_FOLLOW_LIST = [
    *("nn.pad", "nn.batch_flatten", "concatenate", "zeros", "split", "squeeze", "transpose", "expand_dims", "reshape"),
    *("dyn.reshape", "broadcast_to_like", "dyn.broadcast_to", "strided_slice", "dyn.strided_slice", "take", "argwhere"),
    *("where", "tile", "dyn.tile", "scatter", "scatter_elements", "scatter_nd", "full", "dyn.full"),
    *("nn.depth_to_space", "less", "greater", "less_equal", "greater_equal", "copy", "cast", "cast_like"),
    *("add", "subtract", "multiply", "divide", "nn.bias_add", "nn.batch_norm", "sqrt", "shape_of"),
    *("max", "min", "maximum", "minimum", "argmax", "argmin", "nn.relu", "nn.leaky_relu", "nn.prelu", "nn.dropout"),
    *("sigmoid", "tanh", "fast_tanh", "fast_exp", "fast_erf", "clip"),
    *("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d", "nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d"),
    *("nn.global_max_pool2d", "nn.adaptive_max_pool1d", "nn.adaptive_max_pool2d", "nn.adaptive_max_pool3d"),
    "image.resize2d",
]
"""Operators that move elements, or lose little precision: not worth casts of their own."""

DEFAULT_NEVER_LIST = [
    *("exp", "power", "nn.cross_entropy", "nn.cross_entropy_with_logits", "nn.softmax", "nn.l2_normalize", "erf"),
    *("arange", "nn.global_avg_pool2d", "nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d"),
    *("sum", "mean", "variance", "nn.layer_norm"),
]
"""Operators whose results suffer from reduced precision: large results of small operands, and sums of many elements."""

_LISTED = {
    **dict.fromkeys(DEFAULT_ALWAYS_LIST, ALWAYS),
    **dict.fromkeys(DEFAULT_FOLLOW_LIST, FOLLOW),
    **dict.fromkeys(DEFAULT_NEVER_LIST, NEVER),
    **dict.fromkeys(("log", "log2", "log10", "tan", "sinh", "cosh", "prod", "std"), NEVER),
    **dict.fromkeys(("nn.log_softmax", "nn.group_norm", "nn.instance_norm"), NEVER),
}
_LIGHT = (Fusion.ELEMWISE, Fusion.BROADCAST, Fusion.INJECTIVE)


def category_of(op: Any) -> int | None:
    """The category of an operator; None if no list contains it and its properties determine none."""
    listed = _LISTED.get(op.name)
    if listed is not None:
        return listed
    if op.name.startswith("qnn."):
        return NEVER  # they compute with integers; what floats they have are scales, and results that are dequantised
    fusion = op.definition.fusion
    if fusion is Fusion.OUT_EWISE_FUSABLE and any(word in op.name for word in ("conv", "dense", "matmul")):
        return ALWAYS
    return FOLLOW if fusion in _LIGHT else None


def get_generic_out_dtypes(call_node: Any, mixed_precision_type: str) -> list[str]:
    """The dtypes in which a reduced operator accumulates and returns its result."""
    return [mixed_precision_type, mixed_precision_type]


def generic_always_op(call_node: Any, mixed_precision_type: str) -> list[Any]:
    """A rule for `register_mixed_precision_conversion`: always reduced precision."""
    return [ALWAYS, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def generic_follow_op(call_node: Any, mixed_precision_type: str) -> list[Any]:
    """A rule for `register_mixed_precision_conversion`: reduced precision where the operands have it."""
    return [FOLLOW, *get_generic_out_dtypes(call_node, mixed_precision_type)]


def generic_never_op(call_node: Any, mixed_precision_type: str) -> list[Any]:
    """A rule for `register_mixed_precision_conversion`: always float32."""
    return [NEVER, *get_generic_out_dtypes(call_node, mixed_precision_type)]
