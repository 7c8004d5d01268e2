"""Relay's builders whose parameters stand in another order than their attributes (see `relax_surface`).

Source: TVM v0.19, `python/tvm/relay/op`.
"""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.ops.relax_surface import Surface

_GRADIENT = ("out_grad", "data", "pool_size", "strides", "padding", "layout", "out_layout", "ceil_mode")

RELAY_SURFACES: Mapping[str, Surface] = {
    "grad.max_pool2d_backward": Surface(_GRADIENT),
    "grad.avg_pool2d_backward": Surface((*_GRADIENT, "count_include_pad")),
}
