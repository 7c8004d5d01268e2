"""MobileNetV2 (Sandler et al., 2018): inverted residuals with depthwise convolutions and ReLU6."""

from __future__ import annotations

import onnx

from bench.models.graph import Dim, Graph
from bench.models.layers import batch_norm, conv, gemm

# expansion, output channels, blocks, stride of the first block
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


def conv_norm_relu6(
    graph: Graph, x: str, channels: tuple[int, int], kernel: int, stride: int = 1, groups: int = 1, label: str = ""
) -> str:
    with graph.scope(label):
        y = conv(graph, x, channels, kernel, stride, groups)
        y = batch_norm(graph, y, channels[1])
        return graph.op("Clip", y, graph.constant(0.0), graph.constant(6.0), label="relu6")


def inverted_residual(graph: Graph, x: str, channels: tuple[int, int], expansion: int, stride: int) -> str:
    """Widen by 1×1, filter each channel by 3×3, narrow by 1×1 without an activation."""
    inner, outer = channels
    hidden = inner * expansion
    y = x if expansion == 1 else conv_norm_relu6(graph, x, (inner, hidden), 1, label="expand")
    y = conv_norm_relu6(graph, y, (hidden, hidden), 3, stride, groups=hidden, label="depthwise")
    with graph.scope("project"):
        residual = stride == 1 and inner == outer
        y = batch_norm(graph, conv(graph, y, (hidden, outer), 1), outer, scale=0.5 if residual else 1.0)
    return graph.op("Add", x, y, label="add") if residual else y


def build(
    batch: Dim = 1, image: int = 224, classes: int = 1000, depth: int = len(STAGES), seed: int = 0
) -> onnx.ModelProto:
    """Input `image` (batch, 3, image, image), output `logits` (batch, classes); 3.5 million parameters.

    `depth` takes only the first stages, for a smaller model.
    """
    graph = Graph("mobilenetv2", seed)
    x = graph.input("image", (batch, 3, image, image))
    x = conv_norm_relu6(graph, x, (3, 32), 3, 2, label="stem")
    inner, number = 32, 0
    for expansion, outer, count, first_stride in STAGES[:depth]:
        for block in range(count):
            with graph.scope("block", number):
                stride = 1 if block else first_stride
                x = inverted_residual(graph, x, (inner, outer), expansion, stride)
            inner, number = outer, number + 1
    x = conv_norm_relu6(graph, x, (inner, 4 * inner), 1, label="head")
    x = graph.op("GlobalAveragePool", x, label="pool")
    x = graph.op("Flatten", x, label="flatten", axis=1)
    graph.output(gemm(graph, x, (4 * inner, classes), label="fc"), (batch, classes), "logits")
    return graph.model()
