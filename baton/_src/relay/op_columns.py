"""TVM's registry of operators is a table with columns (`op.get("add").get_attr("TOpPattern")`); here the standard ones
are read off the operator's definition. Source: facts relay-language §6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import Op
from baton._src.ir.op_def import NotApplicable

LEVELS: dict[int, str] = {
    1: "log sqrt rsqrt exp sigmoid tanh add subtract multiply divide mod concatenate expand_dims nn.softmax "
    "nn.log_softmax nn.relu nn.dropout nn.batch_norm nn.layer_norm nn.instance_norm nn.group_norm nn.bias_add nn.dense "
    "nn.matmul log2 log10 sin cos tan sinh cosh asin acos atan asinh acosh atanh erf floor_divide floor_mod "
    "trunc_divide trunc_mod fast_exp fast_tanh fast_erf nn.fast_softmax",
    2: "nn.conv1d nn.conv2d nn.conv3d nn.conv1d_transpose nn.conv2d_transpose nn.conv3d_transpose nn.max_pool1d "
    "nn.max_pool2d nn.max_pool3d nn.avg_pool1d nn.avg_pool2d nn.avg_pool3d nn.global_max_pool2d nn.global_avg_pool2d "
    "nn.max_pool2d_grad nn.avg_pool2d_grad nn.upsampling nn.upsampling3d nn.batch_flatten nn.pad nn.mirror_pad nn.lrn "
    "nn.l2_normalize image.dilation2d",
    3: "nn.leaky_relu nn.prelu reshape reshape_like copy transpose squeeze floor ceil sign trunc clip round abs "
    "negative isnan isinf isfinite take zeros ones full full_like zeros_like gather gather_nd cast cast_like "
    "reinterpret split arange meshgrid stack repeat tile reverse reverse_sequence unravel_index scatter_elements "
    "scatter_nd cumsum cumprod unique trilu",
    4: "left_shift right_shift equal not_equal greater greater_equal less less_equal all any logical_and logical_or "
    "logical_not logical_xor bitwise_and bitwise_or bitwise_not bitwise_xor maximum minimum power where argmax argmin "
    "sum max min mean variance std prod strided_slice strided_set broadcast_to collapse_sum_to ones_like",
    5: "image.resize1d image.resize2d image.resize3d image.crop_and_resize image.affine_grid image.grid_sample "
    "nn.depth_to_space nn.space_to_depth nn.space_to_batch_nd nn.batch_to_space_nd layout_transform",
    6: "sort argsort topk searchsorted",
    11: "einsum",
}
_LEVEL_OF = {name: level for level, names in LEVELS.items() for name in names.split()}


def _facet(content: Any) -> Any:
    return None if isinstance(content, NotApplicable) else content


def _purity(op: Op) -> bool | None:
    """Whether a call has no side effects; in TVM a column of Relax's operators only."""
    if not op.name.startswith("relax."):
        return None
    return bool(op.definition.pure and not getattr(op.definition, "stateful", False))


_COLUMNS: dict[str, Callable[[Op], Any]] = {
    "TOpPattern": lambda op: int(op.definition.fusion),
    "TOpIsStateful": lambda op: bool(op.definition.stateful or not op.definition.pure),
    "TNonComputational": lambda op: False,
    "TReshapeOp": lambda op: op.name in ("reshape", "squeeze", "expand_dims", "nn.batch_flatten", "reshape_like"),
    "TShapeDataDependent": lambda op: [int(i in op.definition.shape_values) for i in range(len(op.definition.inputs))],
    "FTVMCompute": lambda op: _facet(op.definition.compute),
    "FPrimalGradient": lambda op: _facet(op.definition.gradient),
    "FPurity": _purity,
    "support_level": lambda op: 11 if op.name.startswith(("qnn.", "dyn.")) else _LEVEL_OF.get(op.name, 10),
}


def standard_column(op: Op, name: str) -> Any:
    """The value of one of TVM's columns; None for other columns, and for operators of TIR."""
    column = _COLUMNS.get(name)
    return column(op) if column is not None and hasattr(op.definition, "fusion") else None
