"""Relay's builders whose parameters stand in another order than their attributes, or have other defaults: those of
attributes hold for text, which leaves them out (see `relax_surface`).

Source: TVM v0.19, `python/tvm/relay/op`, `include/tvm/relay/attrs`.
"""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.ops.relax_surface import Surface

_GRADIENT = ("out_grad", "data", "pool_size", "strides", "padding", "layout", "out_layout", "ceil_mode")

RELAY_SURFACES: Mapping[str, Surface] = {
    "grad.max_pool2d_backward": Surface(_GRADIENT),
    "grad.avg_pool2d_backward": Surface((*_GRADIENT, "count_include_pad")),
    "nn.batch_matmul": Surface(defaults={"transpose_b": True}),
    "nn.leaky_relu": Surface(defaults={"alpha": 0.01}),
    "nn.lrn": Surface(defaults={"alpha": 1e-5}),
    "nn.fifo_buffer": Surface(required=("axis",)),
    "nn.depth_to_space": Surface(required=("block_size",)),
    "nn.space_to_depth": Surface(required=("block_size",)),
    "image.resize1d": Surface(defaults={"rounding_method": ""}),
    "image.resize3d": Surface(defaults={"rounding_method": ""}),
    "vision.yolo_reorg": Surface(required=("stride",)),
}
