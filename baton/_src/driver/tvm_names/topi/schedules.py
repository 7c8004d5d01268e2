"""`tvm.topi.generic`: a schedule for the computation of a topi function. The loops are those of te.create_schedule;
faster ones for the target are chosen when the kernel is built.

s = topi.generic.schedule_injective(b);  tvm.build(s, [a, b], target="llvm")
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from baton._src.te.schedule import create_schedule
from baton._src.te.tensor import Tensor

_KINDS = (
    "default_schedule injective elemwise broadcast concatenate extern reduce softmax fast_softmax dense dense_pack "
    "batch_matmul pool adaptive_pool lrn conv1d_ncw conv1d_nwc conv2d_nchw conv2d_nhwc conv2d_hwcn conv2d_NCHWc "
    "group_conv2d_nchw group_conv2d_nhwc depthwise_conv2d_nchw depthwise_conv2d_nhwc conv1d_transpose_ncw "
    "conv2d_transpose_nchw conv3d_ncdhw conv3d_ndhwc conv3d_transpose_ncdhw deformable_conv2d_nchw "
    "deformable_conv2d_nhwc bitserial_conv2d_nchw bitserial_conv2d_nhwc bitserial_dense correlation_nchw sort argsort "
    "topk scatter scatter_add sparse_dense sparse_transpose nms get_valid_counts multibox_prior "
    "multibox_transform_loc roi_align roi_pool proposal reorg einsum"
)


def default_schedule(outs: Any, *unused: Any) -> Any:
    """The loops of what `outs` (a tensor or several) computes, row-major."""
    tensors = [outs] if isinstance(outs, Tensor) else list(outs)
    return create_schedule([t.op for t in tensors])


def schedule_functions() -> Mapping[str, Any]:
    """`schedule_<kind>` for every kind."""
    names = (kind if kind == "default_schedule" else f"schedule_{kind}" for kind in _KINDS.split())
    return dict.fromkeys(names, default_schedule)
