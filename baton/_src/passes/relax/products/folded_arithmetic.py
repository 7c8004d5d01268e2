"""Arithmetic on operands of a program that evaluates parts depending on constants alone at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.relax.check.deduce import constant_info
from baton._src.relax.nodes import Call, Constant, ShapeExpr, is_call
from baton._src.tir.expr import IntImm
from baton._src.values.tensor import AnyArray, NDArray

R: Any = RELAX


class FoldedArithmetic:
    """Emits operators into `rewriter` if their operands are not known."""

    def __init__(self, rewriter: BindingRewriter) -> None:
        self._rewriter = rewriter

    def constant(self, expr: GraphExpr) -> AnyArray | None:
        """The number behind an operand: a constant, perhaps converted or reshaped (folding comes after this pass)."""
        steps: list[Call] = []
        value = self._rewriter.resolved(expr)
        while is_call(value, "relax.astype", "relax.reshape"):
            steps.append(value)
            value = self._rewriter.resolved(value.args[0])
        if not isinstance(value, Constant):
            return None
        found: AnyArray = value.data.data
        for step in reversed(steps):
            info = info_of(step)
            sizes = sizes_of(step)
            if sizes is None:
                return None
            found = found.astype(info.dtype.numpy) if is_call(step, "relax.astype") else found.reshape(sizes)
        return found

    def sum(self, value: GraphExpr, axes: list[int]) -> Any:
        """The sums along `axes`, which stay as dims of 1, as int32."""
        known = self.constant(value)
        if known is not None:
            return int32(known.sum(axis=tuple(axes), keepdims=True, dtype="int32"))
        return self._rewriter.emit(R.sum(R.astype(value, "int32"), axes, True))

    def times(self, a: Any, b: Any) -> Any:
        """`a * b`"""
        x, y = self.constant(a), self.constant(b)
        if x is not None and y is not None:
            return tensor(np.asarray(x * y, x.dtype))
        return self._rewriter.emit(R.multiply(a, b))

    def less(self, total: Any, zero: Any, sums: Any) -> Any:
        """`total - zero * sums`"""
        return self._rewriter.emit(R.subtract(total, self.times(zero, sums)))

    def flat(self, value: GraphExpr) -> Any:
        """A tensor of one element as a scalar."""
        return value if info_of(value).ndim == 0 else self.shaped(value, ())

    def shaped(self, value: GraphExpr, shape: tuple[int, ...]) -> Any:
        """The value with another shape."""
        known = self.constant(value)
        if known is not None:
            return tensor(known.reshape(shape))
        return self._rewriter.emit(R.reshape(value, shape))


def info_of(expr: GraphExpr) -> Any:
    """The struct info of a checked expression."""
    return expr.struct_info


def tensor(value: AnyArray) -> Constant:
    """A constant that has its struct info."""
    found = Constant(NDArray(np.ascontiguousarray(value).reshape(value.shape)))
    return found.with_fields(struct_info_=constant_info(found))


def int32(value: Any) -> Constant:
    """A constant of int32."""
    return tensor(np.asarray(value, "int32"))


def sizes_of(expr: GraphExpr) -> tuple[int, ...] | None:
    """The dims, where all are numbers."""
    shape = getattr(info_of(expr), "shape", None)
    if not isinstance(shape, ShapeExpr):
        return None
    sizes = tuple(d.value for d in shape.values if isinstance(d, IntImm))
    return sizes if len(sizes) == len(shape) else None


def extent(expr: GraphExpr, axis: int) -> int | None:
    """One dim, where it is a number."""
    shape = getattr(info_of(expr), "shape", None)
    dim = shape.values[axis] if isinstance(shape, ShapeExpr) else None
    return dim.value if isinstance(dim, IntImm) else None


def size_of(expr: Any) -> int:
    """How many elements a zero point or scale has; a large number if that is unknown."""
    if expr is None:
        return 1
    sizes = sizes_of(expr)
    return 2 if sizes is None else int(np.prod(sizes))
