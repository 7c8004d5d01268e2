"""ResNets and MobileNet-like networks of bytes: what quantising tools write, made from random weights.

Activations are uint8 with a scale and a zero point each, weights int8 with a scale for every output channel, biases
int32. `form="qlinear"` writes convolutions as QLinearConv (the ReLU is the clipping of its result), `form="qdq"` as
Conv between DequantizeLinear and QuantizeLinear; residual sums are Add between these in both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import onnx

from bench.models.graph import Dim, Graph
from bench.models.layers import gemm

EXPANSION = 4
CLIPPED, SIGNED = (4.0, 0), (4.0, 128)
"""(Largest value, zero point) of activations after a ReLU and of others."""


@dataclass(frozen=True)
class Bytes:
    """A quantised value: its bytes, and the names of its scale and zero point."""

    name: str
    channels: int
    scale: str
    zero: str
    step: float


class QuantisedGraph:
    """Layers on bytes, in one of the two forms."""

    def __init__(self, graph: Graph, form: str) -> None:
        self.graph = graph
        self.is_qdq = form == "qdq"

    def quantised(self, x: str, channels: int, span: tuple[float, int]) -> Bytes:
        """A value of floats as bytes."""
        step, scale, zero = self._parameters(span)
        name = self.graph.op("QuantizeLinear", x, scale, zero, label="quantize")
        return Bytes(name, channels, scale, zero, step)

    def real(self, x: Bytes) -> str:
        """A value of bytes as floats."""
        return self.graph.op("DequantizeLinear", x.name, x.scale, x.zero, label="dequantize")

    def conv(
        self,
        x: Bytes,
        outputs: int,
        kernel: int,
        stride: int = 1,
        groups: int = 1,
        span: tuple[float, int] = CLIPPED,
        label: str = "conv",
    ) -> Bytes:
        """A convolution with bias; one whose result has the zero point 0 ends with a ReLU."""
        g, fan_in = self.graph, x.channels // groups * kernel * kernel
        sizes = (outputs, x.channels // groups, kernel, kernel)
        options = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [kernel // 2] * 4, "group": groups}
        with g.scope(label):
            steps = (g.rng.uniform(2.5, 3.5, outputs) * math.sqrt(2.0 / fan_in) / 127).astype("float32")
            values = np.clip(np.round(g.rng.standard_normal(sizes) * 127 / 3), -127, 127).astype("int8")
            weight, weight_scale = g.weight("weight", values), g.weight("weight_scale", steps)
            weight_zero = g.weight("weight_zero", np.zeros(outputs, "int8"))
            bias_scale = (steps * np.float32(x.step)).astype("float32")
            bias = g.weight("bias", np.round(g.rng.standard_normal(outputs) * 0.1 / bias_scale).astype("int32"))
            if not self.is_qdq:
                step, scale, zero = self._parameters(span)
                parts = (x.scale, x.zero, weight, weight_scale, weight_zero, scale, zero, bias)
                return Bytes(g.op("QLinearConv", x.name, *parts, label=label, **options), outputs, scale, zero, step)
            real = g.op("DequantizeLinear", weight, weight_scale, weight_zero, axis=0)
            zeros = g.weight("bias_zero", np.zeros(outputs, "int32"))
            offset = g.op("DequantizeLinear", bias, g.weight("bias_scale", bias_scale), zeros, axis=0)
            y = g.op("Conv", self.real(x), real, offset, label=label, **options)
            y = g.op("Relu", y, label="relu") if span[1] == 0 else y
            return self.quantised(y, outputs, span)

    def _parameters(self, span: tuple[float, int]) -> tuple[float, str, str]:
        top, zero = span
        step = top / (255 - zero)
        return step, self.graph.constant(step), self.graph.constant(zero, np.uint8)


def _bottleneck(net: QuantisedGraph, x: Bytes, width: int, stride: int) -> Bytes:
    outer = width * EXPANSION
    y = net.conv(x, width, 1, label="conv1")
    y = net.conv(y, width, 3, stride, label="conv2")
    y = net.conv(y, outer, 1, span=SIGNED, label="conv3")
    if stride != 1 or x.channels != outer:
        x = net.conv(x, outer, 1, stride, span=SIGNED, label="conv_shortcut")
    g = net.graph
    total = g.op("Relu", g.op("Add", net.real(y), net.real(x), label="add"), label="relu")
    return net.quantised(total, outer, CLIPPED)


def _stem(net: QuantisedGraph, batch: Dim, image: int, outputs: int, kernel: int) -> Bytes:
    x = net.graph.input("image", (batch, 3, image, image))
    return net.conv(net.quantised(x, 3, SIGNED), outputs, kernel, 2, label="stem")


def _classes(net: QuantisedGraph, x: Bytes, batch: Dim, classes: int) -> onnx.ModelProto:
    g = net.graph
    y = g.op("Flatten", g.op("GlobalAveragePool", net.real(x), label="pool"), label="flatten", axis=1)
    g.output(gemm(g, y, (x.channels, classes), label="fc"), (batch, classes), "logits")
    return g.model()


def build_resnet(
    batch: Dim = 1,
    image: int = 224,
    classes: int = 1000,
    width: int = 64,
    blocks: Sequence[int] = (3, 4, 6, 3),
    form: str = "qlinear",
    seed: int = 0,
) -> onnx.ModelProto:
    """Input `image` (batch, 3, image, image), output `logits` (batch, classes)."""
    net = QuantisedGraph(Graph("resnet_int8", seed), form)
    x = _stem(net, batch, image, width, 7)
    pooled = net.graph.op("MaxPool", x.name, label="pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = Bytes(pooled, x.channels, x.scale, x.zero, x.step)
    for stage, count in enumerate(blocks):
        for block in range(count):
            with net.graph.scope(f"layer{stage + 1}", block):
                x = _bottleneck(net, x, width << stage, 2 if stage and not block else 1)
    return _classes(net, x, batch, classes)


def build_separable(
    batch: Dim = 1,
    image: int = 224,
    classes: int = 1000,
    widths: Sequence[int] = (32, 64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024),
    form: str = "qlinear",
    seed: int = 0,
) -> onnx.ModelProto:
    """MobileNet (the first): depthwise 3x3 and 1x1 in turn; strides where the channels become more, not at once."""
    net = QuantisedGraph(Graph("mobilenet_int8", seed), form)
    x = _stem(net, batch, image, widths[0], 3)
    for number, (before, after) in enumerate(pairwise(widths)):
        with net.graph.scope(f"block{number}"):
            stride = 2 if number and after > before else 1
            x = net.conv(x, before, 3, stride, groups=before, label="depthwise")
            x = net.conv(x, after, 1, label="pointwise")
    return _classes(net, x, batch, classes)
