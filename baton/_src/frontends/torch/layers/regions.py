"""torchvision's operators on boxes and regions of images: `torch.ops.torchvision.*`, which need no torchvision here."""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.suppression import chosen_boxes
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.ir.tensor_info import Dim


def suppressed(node: AtenNode, boxes: Value, scores: Value, iou_threshold: float) -> Value:
    """The places of the boxes (x1, y1, x2, y2) that stay, the best first."""
    g, count = node.graph, node.sizes(scores)[0]
    low, high = (g.call("take", boxes, g.constant(pair, "int64"), axis=1) for pair in ([0, 1], [2, 3]))
    # Turned around a box has no area in common with any, as PyTorch counts it.
    corners = g.call("concat", (low, g.call("maximum", low, high)), axis=1)
    rows = chosen_boxes(
        g, g.reshape(corners, (1, count, 4)), g.reshape(scores, (1, 1, count)), g.constant(-1, "int64"),
        g.scalar(iou_threshold, boxes),
    )  # fmt: skip
    return g.call("take", rows, g.constant(2, "int64"), axis=1)


def roi_align(
    node: AtenNode, x: Value, rois: Value, spatial_scale: float, rows: Dim, columns: Dim, samples: int, aligned: bool
) -> Value:
    """[regions, channels, rows, columns]: means of bilinear samples. A region is (image, x1, y1, x2, y2)."""
    size = (node.known(rows, "the number of rows"), node.known(columns, "the number of columns"))
    return node.graph.call(
        "vision.roi_align", x, rois, pooled_size=size, spatial_scale=spatial_scale, sample_ratio=samples,
        aligned=aligned,
    )  # fmt: skip


def roi_pool(
    node: AtenNode, x: Value, rois: Value, spatial_scale: float, rows: Dim, columns: Dim
) -> tuple[Value, None]:
    """(the greatest pixel of every bin, and where it is, which only the gradient takes)"""
    if 1 in node.used:
        node.fail("the gradient of pooled regions is not supported")
    size = (node.known(rows, "the number of rows"), node.known(columns, "the number of columns"))
    return node.graph.call("vision.roi_pool", x, rois, pooled_size=size, spatial_scale=spatial_scale), None


def position_sensitive_roi_align(
    node: AtenNode, x: Value, rois: Value, spatial_scale: float, rows: Dim, columns: Dim, samples: int
) -> tuple[Value, None]:
    """(`roi_align` where every bin has channels of its own, which channel each is from: only the gradient takes it)"""
    if 1 in node.used:
        node.fail("the gradient of pooled regions is not supported")
    height, width = node.known(rows, "the number of rows"), node.known(columns, "the number of columns")
    every = roi_align(node, x, rois, spatial_scale, height, width, samples, True)
    g, bins = node.graph, height * width
    channels = node.known(node.sizes(x)[1], "the number of channels") // bins
    flat = g.reshape(every, (node.sizes(rois)[0], channels, bins * bins))
    own = g.call("take", flat, g.constant(np.arange(bins) * (bins + 1)), axis=2, mode="fast")
    return g.reshape(own, (node.sizes(rois)[0], channels, height, width)), None


REGIONS: dict[str, Converter] = {
    "torchvision.nms.default": suppressed, "torchvision.roi_align.default": roi_align,
    "torchvision.roi_pool.default": roi_pool, "torchvision.ps_roi_align.default": position_sensitive_roi_align,
}  # fmt: skip
