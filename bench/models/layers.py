"""Layers that several models share, with weights scaled so that activations keep a magnitude near one."""

from __future__ import annotations

import math

from bench.models.graph import Graph


def conv(
    graph: Graph,
    x: str,
    channels: tuple[int, int],
    kernel: int = 3,
    stride: int = 1,
    groups: int = 1,
    label: str = "conv",
) -> str:
    """A square convolution without bias, padded so that stride 1 keeps the size; He's initialisation."""
    inner, outer = channels
    fan_in = inner // groups * kernel * kernel
    with graph.scope(label):
        weight = graph.normal("weight", (outer, inner // groups, kernel, kernel), math.sqrt(2.0 / fan_in))
    pads = [kernel // 2] * 4
    return graph.op(
        "Conv",
        x,
        weight,
        label=label,
        kernel_shape=[kernel] * 2,
        strides=[stride] * 2,
        pads=pads,
        dilations=[1, 1],
        group=groups,
    )


def batch_norm(graph: Graph, x: str, channels: int, scale: float = 1.0, label: str = "norm") -> str:
    """Batch norm in inference form; its statistics are near those its input really has."""
    rng = graph.rng
    with graph.scope(label):
        parts = [
            graph.weight("weight", (scale * rng.uniform(0.8, 1.2, channels)).astype("float32")),
            graph.normal("bias", (channels,), 0.1),
            graph.normal("running_mean", (channels,), 0.1),
            graph.weight("running_var", rng.uniform(0.8, 1.2, channels).astype("float32")),
        ]
    return graph.op("BatchNormalization", x, *parts, label=label, epsilon=1e-5)


def linear(graph: Graph, x: str, sizes: tuple[int, int], bias: bool = True, label: str = "dense") -> str:
    """`x @ weight + bias` over the last axis: MatMul and Add, as exporters write it for more than two axes."""
    inner, outer = sizes
    with graph.scope(label):
        weight = graph.normal("weight", (inner, outer), 1.0 / math.sqrt(inner))
        offset = graph.normal("bias", (outer,), 0.02) if bias else None
        product = graph.op("MatMul", x, weight)
        return graph.op("Add", offset, product) if offset else product


def gemm(graph: Graph, x: str, sizes: tuple[int, int], label: str = "dense") -> str:
    """A dense layer on a matrix as one Gemm; He's initialisation."""
    inner, outer = sizes
    with graph.scope(label):
        weight = graph.normal("weight", (outer, inner), math.sqrt(2.0 / inner))
        bias = graph.normal("bias", (outer,), 0.02)
    return graph.op("Gemm", x, weight, bias, label=label, alpha=1.0, beta=1.0, transB=1)


def layer_norm(graph: Graph, x: str, size: int, epsilon: float = 1e-12, label: str = "norm") -> str:
    """Layer norm over the last axis."""
    with graph.scope(label):
        weight = graph.normal("weight", (size,), 0.05, mean=1.0)
        bias = graph.normal("bias", (size,), 0.05)
    return graph.op("LayerNormalization", x, weight, bias, label=label, axis=-1, epsilon=epsilon)


def gelu(graph: Graph, x: str) -> str:
    """The exact GELU by Erf, in the five nodes exporters write."""
    with graph.scope("gelu"):
        inner = graph.op("Erf", graph.op("Div", x, graph.constant(math.sqrt(2.0))))
        product = graph.op("Mul", x, graph.op("Add", inner, graph.constant(1.0)))
        return graph.op("Mul", product, graph.constant(0.5))
