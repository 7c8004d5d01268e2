"""Small models, whose times show what a call costs and what fusion saves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import onnx

from bench.models.graph import Dim, Graph
from bench.models.layers import batch_norm, conv, gemm


def build_mlp(batch: Dim = 1, sizes: Sequence[int] = (784, 512, 512, 10), seed: int = 0) -> onnx.ModelProto:
    """Dense layers with ReLU between them. Input `x` (batch, 784), output `probability` (batch, 10)."""
    graph = Graph("mlp", seed)
    y = graph.input("x", (batch, sizes[0]))
    for number, pair in enumerate(pairwise(sizes)):
        if number:
            y = graph.op("Relu", y)
        y = gemm(graph, y, pair, label=f"dense{number}")
    graph.output(graph.op("Softmax", y, axis=1), (batch, sizes[-1]), "probability")
    return graph.model()


def build_conv(
    batch: Dim = 1, image: int = 224, inner: int = 3, outer: int = 32, stride: int = 2, seed: int = 0
) -> onnx.ModelProto:
    """3×3 convolution, batch norm, ReLU. Input `image` (batch, 3, image, image), output `y`."""
    graph = Graph("conv", seed)
    x = graph.input("image", (batch, inner, image, image))
    y = graph.op("Relu", batch_norm(graph, conv(graph, x, (inner, outer), 3, stride), outer))
    side = (image - 1) // stride + 1
    graph.output(y, (batch, outer, side, side), "y")
    return graph.model()


def build_elementwise(shape: Sequence[Dim] = (1, 16), seed: int = 0) -> onnx.ModelProto:
    """Ten different elementwise operators, one after another, on few numbers. Input `x`, output `y`."""
    graph = Graph("elementwise", seed)
    x = graph.input("x", shape)
    last = shape[-1] if isinstance(shape[-1], int) else 1
    y = graph.op("Mul", x, graph.normal("scale", (last,), 0.3, mean=1.0))
    y = graph.op("Add", y, graph.normal("shift", (last,), 0.3))
    y = graph.op("Tanh", y)
    y = graph.op("Exp", y)
    y = graph.op("Sub", y, graph.normal("mean", (last,), 0.3))
    y = graph.op("Abs", y)
    y = graph.op("Sqrt", y)
    y = graph.op("Div", y, graph.constant(2.0))
    y = graph.op("Sigmoid", y)
    y = graph.op("Max", y, x)
    graph.output(y, shape, "y")
    return graph.model()


def build_chain(length: int = 1000, shape: Sequence[Dim] = (1024,), seed: int = 0) -> onnx.ModelProto:
    """A chain of `length` elementwise operators; one fused kernel should do it all. Input `x`, output `y`.

    The chain is nearly linear, `y = scale·x + offset`: a chain that squashed its numbers again and again
    would forget its input, one that stretched them would magnify the last bit.
    """
    graph = Graph("chain", seed)
    y = graph.input("x", shape)
    draw = graph.rng.uniform
    scale, offset = 1.0, 0.0
    for number in range(length):
        match number % 5:
            case 0:
                shift = draw(-0.5, 0.5) - offset / 2
                y, offset = graph.op("Add", y, graph.constant(shift)), offset + shift
            case 1:
                factor = draw(1.0, 1.2) if abs(scale) < 1 else draw(0.8, 1.0)
                y, scale, offset = graph.op("Mul", y, graph.constant(factor)), scale * factor, offset * factor
            case 2:
                y = graph.op("Max", y, graph.constant(draw(-7.0, -5.0)))
            case 3:
                start = draw(-0.5, 0.5) + offset
                y, scale, offset = graph.op("Sub", graph.constant(start), y), -scale, start - offset
            case _:
                y = graph.op("Min", y, graph.constant(draw(5.0, 7.0)))
    graph.output(y, shape, "y")
    return graph.model()
