"""torchvision's operators on boxes and regions of images: `torch.ops.torchvision.*`, which need no torchvision here."""

from __future__ import annotations

import numpy as np

from baton._src.frontends.graph_builder.suppression import greedy_choice
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.operators.indexing import nonzero
from baton._src.ir.tensor_info import Dim


def suppressed(node: AtenNode, boxes: Value, scores: Value, iou_threshold: float) -> Value:
    """The places of the boxes (x1, y1, x2, y2) that stay, the best first."""
    g, count = node.graph, node.sizes(scores)[0]
    order = g.call("argsort", scores, axis=0, descending=True, dtype="int64")
    ranked = g.call("take", boxes, order, axis=0, mode="fast")
    left, top, right, bottom = (
        g.reshape(g.call("take", ranked, g.constant(k, "int64"), axis=1), (1, 1, count)) for k in range(4)
    )
    alive = g.broadcast_to(g.constant(np.array(True)), (1, 1, count))
    kept = greedy_choice(g, (top, left, bottom, right), alive, g.scalar(iou_threshold, boxes))
    places = nonzero(node, g.reshape(kept, (count,)))
    return g.call("take", order, g.reshape(places, node.sizes(places)[:1]), axis=0, mode="fast")


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
