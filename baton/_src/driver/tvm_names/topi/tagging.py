"""Tags of the stages that topi computes, by which scripts' schedules find them: `if "conv2d_nchw" in op.tag`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.tags import BROADCAST, COMM_REDUCE, COMM_REDUCE_IDX, ELEMWISE, INJECTIVE
from baton._src.ir.op_def import Fusion, OpDef
from baton._src.te.tensor import ComputeOp, ExternOp, Tensor

_OF_KINDS = {
    Fusion.ELEMWISE: ELEMWISE,
    Fusion.BROADCAST: BROADCAST,
    Fusion.INJECTIVE: INJECTIVE,
    Fusion.COMM_REDUCE: COMM_REDUCE,
}
"""The tags by which schedules tell what they may inline."""
_OF_OPERATORS: Mapping[str, str] = {
    "full": ELEMWISE,
    "argmax_int32": COMM_REDUCE_IDX,
    "argmin_int32": COMM_REDUCE_IDX,
    "nn.softmax": "softmax_output",
    "nn.fast_softmax": "fast_softmax_output",
    "nn.log_softmax": "log_softmax_output",
}


def tag_of(definition: OpDef[Any]) -> str:
    """The tag of all stages of an operator; "" if they have none."""
    return _OF_OPERATORS.get(definition.name) or _OF_KINDS.get(definition.fusion, "")


def with_tag(found: Any, tag: str) -> Any:
    """`found`, whose last stage has this tag unless it has one already (the operator's, or a script's `tag_scope`)."""
    if not isinstance(found, Tensor) or not isinstance(found.op, (ComputeOp, ExternOp)) or found.op.tag:
        return found
    return Tensor(found.shape, found.dtype, dataclasses.replace(found.op, tag=tag), found.value_index)
