"""Layers of one and of three dimensions: images that are seen as lines, or whose channels are seen as depth."""

from __future__ import annotations

from math import prod
from typing import Any

from baton._src.relax.nodes import Expr, ShapeExpr
from tests.relax.networks.network import Net, Unsuited, dims, least

OUTPUTS = (1, 2, 3, 4, 8, 13, 16, 17, 32)


def lines(g: Net, x: Expr) -> Expr:
    """One dimension: each image as a line."""
    n, channels, height, width = dims(x)
    y = _windows(g, g.emit("reshape", x, ShapeExpr([n, channels, height * width])))
    _, outputs, length = dims(y)
    return g.emit("reshape", y, ShapeExpr([n, outputs, 1, length]))


def volumes(g: Net, x: Expr) -> Expr:
    """Three dimensions: some channels of each are its depth."""
    n, channels, height, width = dims(x)
    depth = g.draw.choice([k for k in (1, 2, 3, 4, 6, 8) if channels % k == 0])
    if prod(map(least, (channels, height, width))) > 5000:
        raise Unsuited
    y = _windows(g, g.emit("reshape", x, ShapeExpr([n, channels // depth, depth, height, width])))
    _, outputs, deep, high, wide = dims(y)
    return g.emit("reshape", y, ShapeExpr([n, outputs * deep, high, wide]))


def _windows(g: Net, x: Expr) -> Expr:
    """A convolution, the other way round too, or a pool."""
    _, channels, *extents = dims(x)
    axes = len(extents)
    kind = g.draw.choice(["conv", "conv", "conv", "transposed", "max_pool", "avg_pool"])
    window = [g.draw.choice([1, 2, 3, 3, 5]) for _ in extents]
    attrs: dict[str, Any] = {
        "strides": [g.draw.choice([1, 1, 2, 3]) for _ in extents],
        "dilation": [g.draw.choice([1, 1, 2]) for _ in extents],
        "padding": [g.draw.choice([0, size // 2]) for size in (*window, *window)],
    }
    for size, taps, apart, before, after in zip(
        extents, window, attrs["dilation"], attrs["padding"][:axes], attrs["padding"][axes:], strict=True
    ):
        if (taps - 1) * apart + 1 > least(size) + before + after:
            raise Unsuited
    if "pool" in kind:
        attrs |= {"ceil_mode": g.draw.random() < 0.3}
        attrs |= {"count_include_pad": g.draw.random() < 0.5} if kind == "avg_pool" else {}
        return g.emit(f"nn.{kind}{axes}d", x, pool_size=window, **attrs)
    groups = g.draw.choice([k for k in (1, 1, 1, 2, 3, channels) if channels % k == 0])
    outputs = g.draw.choice(OUTPUTS) if groups == 1 else groups * g.draw.choice([1, 1, 2, 3])
    if kind == "conv":
        y = g.emit(f"nn.conv{axes}d", x, g.weight(outputs, channels // groups, *window), groups=groups, **attrs)
        return g.behind(y, outputs)
    if prod(map(least, extents)) * prod(attrs["strides"]) > 4000:
        raise Unsuited
    attrs |= {"output_padding": [g.draw.choice([0, step - 1]) for step in attrs["strides"]], "groups": groups}
    y = g.emit(f"nn.conv{axes}d_transpose", x, g.weight(channels, outputs // groups, *window), **attrs)
    return g.behind(y, outputs)
