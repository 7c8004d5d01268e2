"""Express neutral operators that Relay lacks by its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder, count_of
from baton._src.frontends.graph_builder.value import Value
from baton._src.ir.tensor_info import Dim
from baton._src.support.diagnostics import fail


def _matmul(g: GraphBuilder, a: Value, b: Value) -> Value:
    """Relay has products of matrices and of equal batches of them; other products are reshaped to these."""
    if a.shape is None or b.shape is None:
        raise fail("import-relay", f"{g.hint}: a matrix product needs operands of known rank")
    if len(a.shape) == 1:
        row = _matmul(g, g.reshape(a, (1, *a.shape)), b)
        return g.call("squeeze", row, axis=(-1 if len(b.shape) == 1 else -2,))
    if len(b.shape) == 1:
        return g.call("squeeze", _matmul(g, a, g.reshape(b, (*b.shape, 1))), axis=(-1,))
    if len(b.shape) == 2:
        flat = g.reshape(a, (count_of(a.shape[:-1]), a.shape[-1])) if len(a.shape) > 2 else a
        product = g.call("nn.dense", flat, g.transpose(b, (1, 0)))
        return g.reshape(product, (*a.shape[:-1], b.shape[-1])) if len(a.shape) > 2 else product
    batch = _batch(a.shape[:-2], b.shape[:-2])
    left, right = (
        g.reshape(g.broadcast_to(x, (*batch, *matrix)), (count_of(batch), *matrix))
        for x, matrix in ((a, a.shape[-2:]), (b, b.shape[-2:]))
    )
    product = g.call("nn.batch_matmul", left, right, transpose_a=False, transpose_b=False)
    return g.reshape(product, (*batch, a.shape[-2], b.shape[-1]))


def _batch(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The broadcast of two batch shapes."""
    rank = max(len(a), len(b))
    left, right = (1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b
    return tuple(q if isinstance(p, int) and p == 1 else p for p, q in zip(left, right, strict=True))


def _arg_extremum(op: str) -> Callable[..., Value]:
    """Relay returns int32; the neutral operator returns int64."""

    def rewrite(g: GraphBuilder, x: Value, axis: int, keepdims: bool = False) -> Value:
        return g.cast(g.call(op, x, axis=(axis,), keepdims=keepdims), "int64")

    return rewrite


def _gelu(g: GraphBuilder, x: Value) -> Value:
    """x / 2 * (1 + erf(x / sqrt(2)))"""
    inner = g.call("erf", g.call("multiply", x, g.scalar(math.sqrt(0.5), x)))
    return _half_of(g, x, inner)


def _gelu_tanh(g: GraphBuilder, x: Value) -> Value:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))"""
    cube = g.call("multiply", g.call("multiply", x, x), g.call("multiply", x, g.scalar(0.044715, x)))
    inner = g.call("multiply", g.call("add", x, cube), g.scalar(math.sqrt(2 / math.pi), x))
    return _half_of(g, x, g.call("tanh", inner))


def _half_of(g: GraphBuilder, x: Value, inner: Value) -> Value:
    return g.call("multiply", g.call("multiply", x, g.scalar(0.5, x)), g.call("add", inner, g.scalar(1, x)))


def _coordinates_first(g: GraphBuilder, indices: Value) -> Value:
    """Relay stores the coordinates of a point in the first axis, ONNX and Relax in the last."""
    if indices.rank < 0:
        raise fail("import-relay", f"{g.hint}: the rank of the indices must be known")
    return g.transpose(indices, (indices.rank - 1, *range(indices.rank - 1)))


def _gather_nd(g: GraphBuilder, data: Value, indices: Value, batch_dims: int = 0) -> Value:
    depth = None if indices.shape is None else indices.shape[-1]
    rank = depth if isinstance(depth, int) else None
    return g.call("relay_gather_nd", data, _coordinates_first(g, indices), batch_dims=batch_dims, index_rank=rank)


def _scatter_nd(g: GraphBuilder, data: Value, indices: Value, updates: Value, reduction: str = "update") -> Value:
    return g.call("relay_scatter_nd", data, _coordinates_first(g, indices), updates, mode=reduction)


def _triangle(upper: bool) -> Callable[..., Value]:
    def rewrite(g: GraphBuilder, x: Value, k: Any = 0) -> Value:
        return g.call("trilu", x, g.constant(np.int64(k)), upper=upper)

    return rewrite


def _nonzero(g: GraphBuilder, x: Value) -> Value:
    return g.transpose(g.cast(g.call("argwhere", x), "int64"), (1, 0))


def _pad(g: GraphBuilder, x: Value, pad_value: float = 0.0, **attributes: Any) -> Value:
    """In Relay the pad value is an operand."""
    return g.call_many("nn.pad", x, g.scalar(pad_value, x), **attributes)[0]


def _convolution(op: str) -> Callable[..., Value]:
    """Relay's convolutions say the sizes of their kernel, which patterns and rules ask for."""

    def rewrite(g: GraphBuilder, x: Value, weight: Value, kernel_layout: str, groups: int = 1, **others: Any) -> Value:
        sizes = dict(zip(kernel_layout, weight.shape or (), strict=False))
        spatial = [size for axis, size in sizes.items() if axis not in "IO"]
        if spatial and all(isinstance(size, int) for size in sizes.values()):
            channels = sizes["O"] * groups if op.endswith("_transpose") else sizes["O"]
            others |= {"channels": channels, "kernel_size": tuple(spatial)}
        return g.call_many(op, x, weight, kernel_layout=kernel_layout, groups=groups, **others)[0]

    return rewrite


REWRITES: dict[str, Callable[..., Value]] = {
    "matmul": _matmul, "argmax": _arg_extremum("argmax_int32"), "argmin": _arg_extremum("argmin_int32"),
    "nn.gelu": _gelu, "nn.gelu_tanh": _gelu_tanh, "gather_nd": _gather_nd, "scatter_nd": _scatter_nd,
    "triu": _triangle(True), "tril": _triangle(False), "nonzero": _nonzero,
    "nn.pad": _pad,
    **{op: _convolution(op) for rank in (1, 2, 3) for op in (f"nn.conv{rank}d", f"nn.conv{rank}d_transpose")},
}  # fmt: skip
