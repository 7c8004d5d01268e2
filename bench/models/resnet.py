"""ResNet (He et al., "Deep Residual Learning", 2015) with bottleneck blocks; 50 layers by default."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from bench.models.graph import Dim, Graph
from bench.models.layers import batch_norm, conv, gemm

EXPANSION = 4


def conv_norm(
    graph: Graph, x: str, channels: tuple[int, int], kernel: int, stride: int, label: str, scale: float = 1.0
) -> str:
    y = conv(graph, x, channels, kernel, stride, label=f"conv{label}")
    return batch_norm(graph, y, channels[1], scale, label=f"bn{label}")


def bottleneck(graph: Graph, x: str, inner: int, width: int, stride: int) -> str:
    """1×1, 3×3, 1×1 around a shortcut; the branch's last norm is scaled down, so that blocks do not add up."""
    outer = width * EXPANSION
    y = graph.op("Relu", conv_norm(graph, x, (inner, width), 1, 1, "1"), label="relu1")
    y = graph.op("Relu", conv_norm(graph, y, (width, width), 3, stride, "2"), label="relu2")
    y = conv_norm(graph, y, (width, outer), 1, 1, "3", scale=0.2)
    if stride != 1 or inner != outer:
        x = conv_norm(graph, x, (inner, outer), 1, stride, "_shortcut")
    return graph.op("Relu", graph.op("Add", y, x, label="add"), label="relu3")


def build(
    batch: Dim = 1,
    image: int = 224,
    classes: int = 1000,
    width: int = 64,
    blocks: Sequence[int] = (3, 4, 6, 3),
    seed: int = 0,
) -> onnx.ModelProto:
    """Input `image` (batch, 3, image, image), output `logits` (batch, classes); 25.6 million parameters."""
    graph = Graph("resnet", seed)
    x = graph.input("image", (batch, 3, image, image))
    with graph.scope("stem"):
        x = graph.op("Relu", conv_norm(graph, x, (3, width), 7, 2, "1"), label="relu")
        x = graph.op("MaxPool", x, label="pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    inner = width
    for stage, count in enumerate(blocks):
        for block in range(count):
            with graph.scope(f"layer{stage + 1}", block):
                stride = 2 if stage and not block else 1
                x = bottleneck(graph, x, inner, width << stage, stride)
                inner = (width << stage) * EXPANSION
    x = graph.op("GlobalAveragePool", x, label="pool")
    x = graph.op("Flatten", x, label="flatten", axis=1)
    graph.output(gemm(graph, x, (inner, classes), label="fc"), (batch, classes), "logits")
    return graph.model()
