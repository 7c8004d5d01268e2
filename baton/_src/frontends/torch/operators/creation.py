"""Tensors created from sizes and numbers only."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter, Scalar
from baton._src.frontends.torch.sym_floats import SymFloat
from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim
from baton._src.values.tensor import AnyArray


def filled(node: AtenNode, size: Sequence[Dim], number: Scalar) -> Value:
    """A tensor of one number, in the dtype of the result."""
    return node.graph.broadcast_to(node.tensor(number, node.dtype), size) if size else node.tensor(number, node.dtype)


def constantly(number: int) -> Converter:
    """zeros and ones"""

    def convert(node: AtenNode, size: Sequence[Dim], **_: Any) -> Value:
        return filled(node, size, number)

    return convert


def constantly_like(number: int) -> Converter:
    def convert(node: AtenNode, x: Value, size: Sequence[Dim] | None = None, **_: Any) -> Value:
        return filled(node, node.sizes(x) if size is None else size, number)

    return convert


def strided(node: AtenNode, x: Value, size: Sequence[Dim], stride: object, **_: Any) -> Value:
    """Memory that nobody has written yet, whose order is the compiler's business."""
    return filled(node, size, 0)


def full(node: AtenNode, size: Sequence[Dim], number: Scalar, **_: Any) -> Value:
    return filled(node, size, number)


def full_like(node: AtenNode, x: Value, number: Scalar, **_: Any) -> Value:
    return filled(node, node.sizes(x), number)


def new_full(node: AtenNode, x: Value, size: Sequence[Dim], number: Scalar, **_: Any) -> Value:
    return filled(node, size, number)


def fill(node: AtenNode, x: Value, number: Value | Scalar) -> Value:
    if isinstance(number, Value):
        return node.graph.broadcast_to(node.graph.cast(number, node.dtype), node.sizes(x))
    return filled(node, node.sizes(x), number)


def arange(node: AtenNode, *bounds: Scalar, **_: Any) -> Value:
    """arange(end), arange(start, end), arange(start, end, step)"""
    start, end, step = {1: (0, *bounds, 1), 2: (*bounds, 1)}.get(len(bounds), bounds)
    dtype = node.dtype
    if isinstance(start, (int, float)) and isinstance(end, (int, float)) and isinstance(step, (int, float)):
        if not dtype.is_float:  # PyTorch cuts the numbers off before it counts with them, and has rules for how far
            start, step = int(start), int(step)
        count = node.known(node.results[0].shape[0], "the number of elements")
        return node.graph.constant((start + np.arange(count) * np.asarray(step)).astype(dtype.numpy))
    start, end, step = (_whole(number) for number in (start, end, step))
    g = node.graph
    if isinstance(step, int) and step > 0:
        return g.call("arange", start=start, stop=end, step=step, dtype=dtype)
    if isinstance(step, PrimExpr) and isinstance(start, (int, PrimExpr)) and isinstance(end, (int, PrimExpr)):
        return _wide_steps(node, start, end, step)
    if not isinstance(step, (int, float)):
        node.fail(f"steps of {step} are not known when importing", code="torch-dynamic")
    if isinstance(start, (float, SymFloat)) or isinstance(end, (float, SymFloat)):
        node.fail(f"steps of {step} between floats known only at run time are not supported", code="torch-dynamic")
    return _exact_steps(node, start, end, Fraction(step).limit_denominator(_EXACT))


_EXACT = 1 << 20
"""Steps that are no fraction of a number up to this are rounded to one, to count how many there are."""


def _whole(number: Scalar) -> Scalar:
    """The integer that a float is, which has the same meaning among bounds and steps."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _exact_steps(node: AtenNode, start: Dim, end: Dim, step: Fraction) -> Value:
    """Steps down, or of a fraction, between bounds of which a run tells one at least."""
    g, dtype, way = node.graph, node.dtype, 1 if step > 0 else -1
    size = way * step.numerator
    count = ((end - start) * (way * step.denominator) + size - 1) // size
    places = g.call("arange", start=0, stop=count, step=1, dtype=dtype)
    return g.call("add", node.tensor(start, dtype), g.call("multiply", places, g.scalar(float(step), places)))


def _wide_steps(node: AtenNode, start: Dim, end: Dim, step: PrimExpr) -> Value:
    """Steps as wide as a size, which is not negative."""
    g = node.graph
    places = g.call("arange", start=0, stop=(end - start + step - 1) // step, step=1, dtype=node.dtype)
    return g.call("add", node.tensor(start, node.dtype), g.call("multiply", places, node.tensor(step, node.dtype)))


def linspace(node: AtenNode, start: Scalar, end: Scalar, steps: Dim, **_: Any) -> Value:
    count = node.known(steps, "the number of steps")
    if isinstance(start, (PrimExpr, SymFloat)) or isinstance(end, (PrimExpr, SymFloat)):
        g, share = node.graph, node.graph.constant(np.linspace(0, 1, count))
        first, last = (node.tensor(bound, "float64") for bound in (start, end))
        return g.cast(g.call("add", first, g.call("multiply", g.call("subtract", last, first), share)), node.dtype)
    if not node.dtype.is_float:
        return node.graph.constant(_whole_steps(int(start), int(end), count).astype(node.dtype.numpy))
    return node.graph.constant(np.linspace(start, end, count).astype(node.dtype.numpy))


def _whole_steps(start: int, end: int, count: int) -> AnyArray:
    """Steps between whole numbers, whose fractions are cut off: PyTorch counts each half from its own end.

    It rounds once for each number (multiply and add in one), which decides where a fraction is about to be nothing.
    """
    step, half = Fraction((end - start) / max(count - 1, 1)), count // 2 + (count == 1)
    exact = [start + step * k for k in range(half)] + [end - step * k for k in reversed(range(count - half))]
    return np.array([int(float(number)) for number in exact], np.int64)


def eye(node: AtenNode, rows: Dim, columns: Dim | None = None, **_: Any) -> Value:
    m = rows if columns is None else columns
    if isinstance(rows, int) and isinstance(m, int):
        return node.graph.constant(np.eye(rows, m, dtype=node.dtype.numpy))
    across, down = _places(node, rows, m)
    return node.graph.cast(node.graph.call("equal", across, down), node.dtype)


def _places(node: AtenNode, rows: Dim, columns: Dim) -> tuple[Value, Value]:
    """The column [1, columns] and the row [rows, 1] of every element of a matrix."""
    g = node.graph
    across, down = (g.call("arange", start=0, stop=n, step=1, dtype="int64") for n in (columns, rows))
    return g.reshape(across, (1, columns)), g.reshape(down, (rows, 1))


def triangle(op: str) -> Converter:
    def convert(node: AtenNode, x: Value, diagonal: Dim) -> Value:
        g = node.graph
        if not isinstance(diagonal, int):
            return _open_triangle(node, x, op == "triu", diagonal)
        if x.dtype.is_bool:
            return g.cast(g.call(op, g.cast(x, "int8"), k=int(diagonal)), "bool")
        return g.call(op, x, k=int(diagonal))

    return convert


def _open_triangle(node: AtenNode, x: Value, upper: bool, diagonal: Dim) -> Value:
    """What lies on one side of a diagonal that a run tells."""
    g = node.graph
    across, down = _places(node, *node.sizes(x)[-2:])
    line = g.call("add", down, g.dims(diagonal))
    kept = g.call("greater_equal" if upper else "less_equal", across, line)
    return g.call("where", kept, x, g.scalar(0, x))


def triangle_places(upper: bool) -> Converter:
    """[2, count]: rows and columns of a triangle of a matrix."""

    def convert(node: AtenNode, rows: int, columns: int, offset: int = 0, **_: Any) -> Value:
        chosen = (np.triu if upper else np.tril)(np.ones((rows, columns), bool), offset)
        return node.graph.constant(np.stack(np.nonzero(chosen)), node.dtype)

    return convert


def scalar_tensor(node: AtenNode, number: Scalar, **_: Any) -> Value:
    return node.tensor(number, node.dtype)


CREATION: dict[str, Converter] = {
    "aten.zeros.default": constantly(0), "aten.ones.default": constantly(1),
    "aten.zeros_like.default": constantly_like(0), "aten.ones_like.default": constantly_like(1),
    "aten.new_zeros.default": constantly_like(0), "aten.new_ones.default": constantly_like(1),
    # Memory that nobody has written yet may hold anything.
    "aten.empty.memory_format": constantly(0), "aten.empty_like.default": constantly_like(0),
    "aten.new_empty.default": constantly_like(0), "aten.new_empty_strided.default": strided, "aten.full.default": full,
    "aten.full_like.default": full_like, "aten.new_full.default": new_full,
    "aten.fill.Scalar": fill, "aten.fill.Tensor": fill, "aten.arange.default": arange, "aten.arange.start": arange,
    "aten.arange.start_step": arange, "aten.linspace.default": linspace, "aten.eye.default": eye,
    "aten.eye.m": eye, "aten.tril.default": triangle("tril"), "aten.triu.default": triangle("triu"),
    "aten.scalar_tensor.default": scalar_tensor, "aten.tril_indices.default": triangle_places(False),
    "aten.triu_indices.default": triangle_places(True),
}  # fmt: skip
