"""One LSTM layer twice with the same weights: as the LSTM operator, and as a Loop over its steps."""

from __future__ import annotations

import math

import numpy as np
import onnx
from onnx import TensorProto, helper

from bench.models.graph import Dim, Graph


def weights(graph: Graph, size: int, hidden: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """W (4·hidden, size), R (4·hidden, hidden) and both biases (8·hidden,), gates in the order i, o, f, c."""
    rng, scale = graph.rng, 1.0 / math.sqrt(hidden)
    shapes = ((4 * hidden, size), (4 * hidden, hidden), (8 * hidden,))
    w, r, b = (rng.uniform(-scale, scale, shape).astype(np.float32) for shape in shapes)
    return w, r, b


def build_operator(
    steps: Dim = 100, batch: Dim = 1, size: int = 256, hidden: int = 256, seed: int = 0
) -> onnx.ModelProto:
    """Input `x` (steps, batch, size); outputs `y` (steps, batch, hidden), `h` and `c` (1, batch, hidden)."""
    graph = Graph("lstm", seed)
    x = graph.input("x", (steps, batch, size))
    w, r, b = weights(graph, size, hidden)
    parts = [graph.weight(name, value[None]) for name, value in (("w", w), ("r", r), ("b", b))]
    y, h, c = graph.ops("LSTM", x, *parts, results=3, hidden_size=hidden)
    graph.output(graph.op("Squeeze", y, graph.integers([1])), (steps, batch, hidden), "y")
    graph.output(h, (1, batch, hidden), "h")
    graph.output(c, (1, batch, hidden), "c")
    return graph.model()


def step(batch: Dim, hidden: int, wt: str, rt: str, bias: str) -> onnx.GraphProto:
    """The body of the loop: one step, with the weights and the input taken from the graph around it."""
    body = Graph("step")
    index = body.input("index", (), TensorProto.INT64)
    condition = body.input("condition", (), TensorProto.BOOL)
    h, c = body.input("h_in", (batch, hidden)), body.input("c_in", (batch, hidden))
    now = body.op("Gather", "x", index, axis=0, label="now")
    gates = body.op("Add", body.op("MatMul", now, wt), body.op("MatMul", h, rt))
    gates = body.op("Add", gates, bias)
    i, o, f, g = body.ops("Split", gates, results=4, axis=1)
    keep = body.op("Mul", body.op("Sigmoid", f), c)
    add = body.op("Mul", body.op("Sigmoid", i), body.op("Tanh", g))
    new_c = body.op("Add", keep, add)
    new_h = body.op("Mul", body.op("Sigmoid", o), body.op("Tanh", new_c))
    body.output(condition, (), "condition_out", TensorProto.BOOL)
    body.output(new_h, (batch, hidden), "h_out")
    body.output(new_c, (batch, hidden), "c_out")
    body.output(new_h, (batch, hidden), "y_out")
    return body.proto()


def build_loop(steps: Dim = 100, batch: Dim = 1, size: int = 256, hidden: int = 256, seed: int = 0) -> onnx.ModelProto:
    """The same function as `build_operator`, its steps as the turns of a Loop."""
    graph = Graph("lstm_loop", seed)
    x = graph.input("x", (steps, batch, size))
    w, r, b = weights(graph, size, hidden)
    wt, rt = graph.weight("wt", w.T), graph.weight("rt", r.T)
    bias = graph.weight("bias", b[: 4 * hidden] + b[4 * hidden :])
    zeros_shape = graph.shape(graph.size(x, 1), hidden)
    zeros = graph.op("ConstantOfShape", zeros_shape, value=helper.make_tensor("zero", TensorProto.FLOAT, [1], [0.0]))
    count = graph.op("Squeeze", graph.size(x, 0))
    body = step(batch, hidden, wt, rt, bias)
    always = graph.constant(True, np.bool_)
    h, c, y = graph.ops("Loop", count, always, zeros, zeros, results=3, body=body)
    graph.output(y, (steps, batch, hidden), "y")
    graph.output(graph.op("Unsqueeze", h, graph.integers([0])), (1, batch, hidden), "h")
    graph.output(graph.op("Unsqueeze", c, graph.integers([0])), (1, batch, hidden), "c")
    return graph.model()
