"""Layers of bytes: values quantised and back, around convolutions and products; products of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.relax.literals import const
from baton._src.relax.nodes import Expr
from tests.relax.networks.network import Net, Unsuited, dims, features_of

STEP = 1 / 40
"""Between neighbouring quantised values."""


def _single(value: float, dtype: str) -> Expr:
    return const(np.asarray(value, dtype), dtype)


def _kind(g: Net) -> tuple[Expr, str]:
    """A zero point, and the dtype of what is quantised by it."""
    if g.dtype != "float32":
        raise Unsuited
    dtype = g.draw.choice(["int8", "uint8"])
    return _single(g.draw.choice([0, 3] if dtype == "int8" else [0, 128, 131]), dtype), dtype


def _rounded(g: Net, x: Expr) -> Any:
    """To values of a byte, and back."""
    zero, dtype = _kind(g)
    quantised = g.emit("quantize", x, _single(STEP, "float32"), zero, axis=-1, out_dtype=dtype)
    return g.emit("dequantize", quantised, _single(STEP, "float32"), zero, axis=-1, out_dtype="float32")


def _weight(g: Net, axis: int, *shape: int) -> Expr:
    """Bytes, with a scale for each output perhaps."""
    values = const(g.rng.integers(-127, 128, shape).astype("int8"), "int8")
    terms = np.prod(shape) / shape[axis]
    count = g.draw.choice([(), (shape[axis],)])
    scale = const((g.rng.uniform(0.5, 1.5, count) * 0.02 / np.sqrt(terms)).astype("float32"), "float32")
    zero = const(np.zeros(count, "int8"), "int8")
    return g.emit("dequantize", values, scale, zero, axis=axis, out_dtype="float32")


def quantised_convolution(g: Net, x: Expr) -> Expr:
    """Of a network that was quantised: the operands of each layer are rounded."""
    channels = dims(x)[1]
    depthwise = g.draw.random() < 0.3
    outputs = channels if depthwise else g.draw.choice([1, 3, 8, 16, 17, 32, 33])
    size, step = g.draw.choice([1, 3]), g.draw.choice([1, 1, 2])
    weight = _weight(g, 0, outputs, 1 if depthwise else channels, size, size)
    attrs = {"strides": step, "padding": size // 2, "groups": channels if depthwise else 1}
    y = g.emit("nn.conv2d", _rounded(g, x), weight, **attrs)
    y = g.emit("add", y, g.shift(1, outputs, 1, 1)) if g.draw.random() < 0.6 else y
    y = g.emit("nn.relu", y) if g.draw.random() < 0.5 else y
    return _rounded(g, y) if g.draw.random() < 0.7 else y


def quantised_product(g: Net, x: Expr) -> Expr:
    """The same of rows."""
    features, outputs = features_of(x), g.draw.choice([1, 2, 8, 16, 17, 33, 64])
    y = g.emit("matmul", _rounded(g, x), _weight(g, 1, features, outputs))
    y = g.emit("add", y, g.shift(outputs)) if g.draw.random() < 0.6 else y
    return _rounded(g, y) if g.draw.random() < 0.7 else y


def product_of_bytes(g: Net, x: Expr) -> Expr:
    """Integers times integers, exactly."""
    _, dtype = _kind(g)
    features, outputs = features_of(x), g.draw.choice([1, 2, 8, 16, 17, 33, 64])
    low = 0 if dtype == "uint8" else -40
    whole = g.emit("clip", g.emit("round", g.emit("multiply", x, g.number(20))), low, 40)
    weight = const(g.rng.integers(-127, 128, (features, outputs)).astype("int8"), "int8")
    attrs = {"out_dtype": "int32"}
    found = g.emit("matmul", g.emit("astype", whole, dtype=dtype), _as(g, weight, dtype), **attrs)
    y = g.emit("multiply", g.emit("astype", found, dtype="float32"), g.number(STEP / 100))
    return g.emit("tanh", y)


def _as(g: Net, weight: Expr, dtype: str) -> Any:
    """Operands of one product have one dtype."""
    return weight if dtype == "int8" else g.emit("astype", g.emit("abs", weight), dtype=dtype)
