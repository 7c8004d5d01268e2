"""Random tensors, and dropout. Numbers follow from the seed (or the node's name): every run gives the same."""

from __future__ import annotations

import zlib

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.reader import dtype_of
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.ir.tensor_info import Dim
from baton._src.ops.random.threefry_bits import threefry_key
from baton._src.tir.expr import AnyDim
from baton._src.values.dtype import BOOL, DataType


def _key(node: OnnxNode) -> Value:
    seed = node.attr("seed")
    number = zlib.crc32(node.name.encode()) if seed is None else int(np.float32(seed).view(np.uint32))
    return node.graph.constant(threefry_key(number))


def _dtype(node: OnnxNode, otherwise: DataType) -> DataType:
    return dtype_of(int(node.attr("dtype")), node.title) if node.attr("dtype") else otherwise


def _draw(node: OnnxNode, op: str, shape: tuple[Dim, ...], dtype: DataType, a: float, b: float) -> Value:
    g = node.graph
    bounds = (g.constant(a, "float32"), g.constant(b, "float32"))
    return g.cast(g.call_many(op, _key(node), *bounds, shape, out_dtype="float32")[1], dtype)


def _own_shape(node: OnnxNode) -> tuple[int, ...]:
    shape = tuple(int(d) for d in node.attr("shape"))
    if min(shape, default=0) < 0:
        node.fail(f"it is to have the shape {list(shape)}, sizes are 0 or more", code="op-shape")
    return shape


def _shape_of_operand(node: OnnxNode) -> tuple[Dim, ...]:
    shape = node.graph.named(node[0]).shape
    if shape is None or any(isinstance(d, AnyDim) for d in shape):
        node.fail("the shape must be known", code="onnx-dynamic")
    return shape


def random(op: str, names: tuple[str, str], defaults: tuple[float, float], like: bool) -> Converter:
    """`random.uniform` or `random.normal` with its two parameters, in a shape of its own or that of the operand."""

    def convert(node: OnnxNode) -> Value:
        shape = _shape_of_operand(node) if like else _own_shape(node)
        dtype = _dtype(node, node[0].dtype if like else DataType("float32"))
        a, b = (float(node.attr(n, d)) for n, d in zip(names, defaults, strict=True))
        return _draw(node, op, shape, dtype, a, b)

    return convert


def multinomial(node: OnnxNode) -> Value:
    """Draws from each row's classes, whose logarithmic odds are given."""
    g = node.graph
    odds = g.call("nn.softmax", g.cast(node[0], "float32"), axis=-1)
    drawn = g.call_many("random.multinomial", _key(node), odds, num_samples=int(node.attr("sample_size", 1)))
    return g.cast(drawn[1], _dtype(node, DataType("int32")))


def dropout(node: OnnxNode) -> list[Value]:
    """Inference: the data itself, a mask all true. Training: elements fall out with probability `ratio`, what stays is
    scaled so that the expected sum stays, too."""
    g, x = node.graph, node[0]
    training = node.constant(2, "training_mode") if node.opset >= 12 else None
    given = node.constant(1, "ratio") if training is not None and training.any() else None
    ratio = 0.5 if given is None else float(given.reshape(-1)[0])
    if training is None or not training.any() or ratio == 0.0:
        return [x] if len(node.outputs) < 2 else [x, g.cast(_all_true(node), x.dtype if node.opset < 10 else BOOL)]
    if not 0.0 < ratio < 1.0:
        node.fail(f"the ratio must lie in [0, 1), got {ratio}")
    drawn = _draw(node, "random.uniform", _shape_of_operand(node), DataType("float32"), 0.0, 1.0)
    mask = g.call("greater_equal", drawn, g.scalar(ratio, drawn))
    scaled = g.call("multiply", x, g.scalar(1.0 / (1.0 - ratio), x))
    return [g.call("where", mask, scaled, g.scalar(0, x)), mask][: len(node.outputs)]


def _all_true(node: OnnxNode) -> Value:
    dims = node[0].shape
    if dims is None:
        node.fail("the shape must be known for the mask", code="onnx-dynamic")
    return node.graph.broadcast_to(node.graph.constant(np.array(True)), dims)


UNIFORM = ("random.uniform", ("low", "high"), (0.0, 1.0))
NORMAL = ("random.normal", ("mean", "scale"), (0.0, 1.0))
RANDOMNESS: dict[str, Converter] = {
    "RandomUniform": random(*UNIFORM, like=False), "RandomUniformLike": random(*UNIFORM, like=True),
    "RandomNormal": random(*NORMAL, like=False), "RandomNormalLike": random(*NORMAL, like=True),
    "Multinomial": multinomial, "Dropout": dropout,
}  # fmt: skip
