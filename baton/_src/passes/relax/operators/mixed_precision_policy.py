"""Which operators ToMixedPrecision runs in float16, as TVM v0.19 registers them (TMixedPrecisionPolicy)."""

from __future__ import annotations

from enum import Enum

from baton._src.ir.op_def import OpDef
from baton._src.relax.nodes import Call, definition_of


class Policy(Enum):
    """How an operator's floating operands are treated."""

    ALWAYS = "float16"
    FOLLOW = "float16 where all of them are float16 already, otherwise float32"
    NEVER = "as they were"


_ALWAYS = "matmul nn.conv1d nn.conv2d nn.conv3d nn.attention nn.attention_bias nn.attention_var_len"
_FOLLOW = """
add subtract multiply divide floor_divide power mod floor_mod minimum maximum
equal not_equal greater greater_equal less less_equal
logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift
abs acos acosh asin asinh atan atanh bitwise_not ceil cos cosh erf exp floor log logical_not negative round rsqrt
sigmoid sign sin sinh sqrt square tan tanh trunc isfinite isinf isnan
nn.relu nn.leakyrelu nn.gelu nn.gelu_tanh nn.selu nn.silu nn.dropout
nn.layer_norm nn.group_norm nn.instance_norm nn.rms_norm
nn.max_pool1d nn.max_pool2d nn.max_pool3d nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d
nn.adaptive_avg_pool1d nn.adaptive_avg_pool2d nn.adaptive_avg_pool3d
full full_like ones ones_like zeros zeros_like tril triu
broadcast_to concat expand_dims flatten layout_transform permute_dims reshape split squeeze strided_slice tile
repeat astype where take image.resize2d
"""
ALWAYS, FOLLOW = frozenset(_ALWAYS.split()), frozenset(_FOLLOW.split())


def policy_of(call: Call) -> Policy | None:
    """The policy of the operator called; None for calls of anything else. Operators in no list keep their dtype."""
    definition = definition_of(call)
    if not isinstance(definition, OpDef):
        return None
    if definition.name in ALWAYS:
        return Policy.ALWAYS
    return Policy.FOLLOW if definition.name in FOLLOW else Policy.NEVER
