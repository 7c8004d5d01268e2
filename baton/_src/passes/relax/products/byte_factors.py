"""Find the int8 tensor behind a factor of a product that the program converts, centres, scales and transposes."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ops.builders import RELAX
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.products.folded_arithmetic import (
    FoldedArithmetic,
    info_of,
    int32,
    size_of,
    tensor,
)
from baton._src.relax.nodes import Constant, Var, is_call
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.dataclass import dataclass

R: Any = RELAX
BYTES = ("int8", "uint8")


@dataclass(frozen=True)
class Factor:
    """(value - zero) * scale; `zero` (int32) and `scale` broadcast to the value's shape; None: 0, 1."""

    value: Any
    zero: Any = None
    scale: Any = None

    @property
    def is_signed(self) -> bool:
        return bool(info_of(self.value).dtype == "int8")


class Factors:
    """Finds factors in the program of `rewriter`, and gives pairs of them the signedness that instructions need."""

    def __init__(self, rewriter: BindingRewriter, arithmetic: FoldedArithmetic) -> None:
        self._rewriter = rewriter
        self._arithmetic = arithmetic

    def find(self, expr: Any, result: str) -> Factor | None:
        """The bytes behind a factor of a product with sums or results of dtype `result`."""
        value = self._rewriter.resolved(expr)
        if is_call(value, "relax.permute_dims"):
            inner = self.find(value.args[0], result)
            return None if inner is None else self._permuted(inner, value.attrs.axes)
        if result == "float32":
            return self._dequantized(value)
        if _is_bytes(expr):
            return Factor(value if isinstance(value, Constant) else expr)
        if isinstance(value, Constant):
            return _narrowed(value)
        zero = None
        if is_call(value, "relax.subtract"):
            value, zero = self._rewriter.resolved(value.args[0]), value.args[1]
            known = self._arithmetic.constant(zero)
            zero = zero if known is None else int32(known) if known.any() else None
            if zero is not None and not self._may_use(zero):
                return None
        if not is_call(value, "relax.astype") or not _is_bytes(value.args[0]) or info_of(value).dtype != "int32":
            return None
        return self._bytes(value.args[0], zero)

    def _bytes(self, expr: GraphExpr, zero: Any, scale: Any = None) -> Factor | None:
        behind = self._rewriter.resolved(expr)
        if isinstance(behind, Constant):
            return Factor(behind, zero, scale)
        return Factor(expr, zero, scale) if self._may_use(expr) else None

    def _may_use(self, expr: GraphExpr) -> bool:
        """Whether an operand of an earlier binding can be used here, and its shape is known."""
        return (
            self._rewriter.is_visible(expr) and isinstance(info_of(expr), TensorStructInfo) and info_of(expr).ndim >= 0
        )

    def _dequantized(self, value: Any) -> Factor | None:
        if not is_call(value, "relax.dequantize") or not _is_bytes(value.args[0]):
            return None
        data, scale, zero = value.args
        rank = info_of(data).ndim
        if not (self._may_use(scale) and self._may_use(zero) and info_of(scale).dtype == "float32" and rank > 0):
            return None
        axis = value.attrs.axis % rank
        shape = tuple(-1 if n == axis else 1 for n in range(rank))
        known = self._arithmetic.constant(zero)
        if known is not None:
            zero = int32(known.reshape(shape) if known.size > 1 else known.reshape(())) if known.any() else None
        else:
            zero = self._placed(self._rewriter.emit(R.astype(zero, "int32")), shape)
        return self._bytes(data, zero, self._placed(scale, shape))

    def _placed(self, vector: Any, shape: tuple[int, ...]) -> Any:
        """A vector along its axis of the whole tensor; scalars unchanged."""
        return (
            self._arithmetic.shaped(vector, shape)
            if info_of(vector).ndim == 1 and size_of(vector) != 1
            else self._arithmetic.flat(vector)
        )

    def _permuted(self, factor: Factor, axes: Any) -> Factor | None:
        rank = info_of(factor.value).ndim
        order = [int(x) % rank for x in axes] if axes is not None else list(reversed(range(rank)))

        def moved(v: Any) -> Any:
            if v is None or size_of(v) == 1:
                return v
            known = self._arithmetic.constant(v)
            if known is None:
                return self._rewriter.emit(R.permute_dims(v, order)) if info_of(v).ndim == rank else None
            return tensor(known.reshape((1,) * (rank - known.ndim) + known.shape).transpose(order))

        found = Factor(moved(factor.value), moved(factor.zero), moved(factor.scale))
        lost = (
            found.value is None,
            (found.zero is None) != (factor.zero is None),
            (found.scale is None) != (factor.scale is None),
        )
        return None if any(lost) else found

    def unlike(self, left: Factor, right: Factor, first: bool = True) -> tuple[Factor, Factor]:
        """The factors as one signed and one unsigned tensor; the left one is unsigned if either would do."""
        if left.is_signed != right.is_signed:
            return (left, right) if first or not left.is_signed else (self._flipped(left), self._flipped(right))
        return (self._flipped(left), right) if left.is_signed else (left, self._flipped(right))

    def may_be_border(self, factor: Factor) -> bool:
        """Whether the zero point is certainly a byte like those of the tensor."""
        low, high = info_of(factor.value).dtype.int_range
        first, last = self._range(factor.zero)
        return bool(low <= first and last <= high)

    def _range(self, zero: Any) -> tuple[float, float]:
        """What a zero point may be: a constant, or a byte, perhaps flipped."""
        known = self._arithmetic.constant(zero)
        if known is not None:
            return float(known.min()), float(known.max())
        value = self._rewriter.resolved(zero)
        if is_call(value, "relax.add") and self._arithmetic.constant(value.args[1]) is not None:
            ranges = [self._range(v) for v in value.args]
            return ranges[0][0] + ranges[1][0], ranges[0][1] + ranges[1][1]
        if is_call(value, "relax.reshape"):
            return self._range(value.args[0])
        if is_call(value, "relax.astype") and str(info_of(value.args[0]).dtype) in BYTES:
            low, high = info_of(value.args[0]).dtype.int_range
            return low, high
        return -math.inf, math.inf

    def _flipped(self, factor: Factor) -> Factor:
        """The same numbers as bytes of the other signedness."""
        shift, dtype = (128, "uint8") if factor.is_signed else (-128, "int8")
        known = self._arithmetic.constant(factor.value)
        if known is not None:
            value: Any = tensor((known.astype("int16") + shift).astype(dtype))
        else:
            half = tensor(np.array(128, "uint8"))
            plain = R.astype(factor.value, "uint8") if factor.is_signed else factor.value
            value = self._rewriter.emit(
                R.add(plain, half) if factor.is_signed else R.astype(R.add(plain, half), "int8")
            )
        old = np.array(0, "int32") if factor.zero is None else self._arithmetic.constant(factor.zero)
        if old is None:
            return replace(factor, value=value, zero=self._rewriter.emit(R.add(factor.zero, int32(shift))))
        new = old + np.int32(shift)
        return replace(factor, value=value, zero=int32(new) if new.any() else None)


def _narrowed(constant: Constant) -> Factor | None:
    """An int32 constant as bytes: quantised weights that were converted and centred before."""
    data = constant.data.data
    if data.dtype != np.int32 or not data.size:
        return None
    low, high = int(data.min()), int(data.max())
    if high - low > 255 or max(-low, high) > 1 << 30:  # the shift has to be an int32, too
        return None
    zero = 0 if low >= -128 and high <= 127 else -low - 128
    return Factor(tensor((data + zero).astype("int8")), int32(zero) if zero else None)


def _is_bytes(expr: GraphExpr) -> bool:
    info = expr.struct_info_ if isinstance(expr, (Var, Constant)) else None
    return isinstance(info, TensorStructInfo) and str(info.dtype) in BYTES and info.ndim >= 0
