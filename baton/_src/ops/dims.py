"""Arithmetic on dims: numbers stay numbers, symbolic dims are simplified, and Relay's `?` swallows everything."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import SupportsIndex

from baton._src.ir.expr import PrimExpr
from baton._src.ir.op_def import DimProver
from baton._src.ir.tensor_info import Dim
from baton._src.tir import expr as tir
from baton._src.values.dtype import DataType


def is_any(dim: Dim) -> bool:
    """Whether it is Relay's `?`."""
    return isinstance(dim, tir.AnyDim)


def as_dim(value: PrimExpr | SupportsIndex) -> Dim:
    """A literal as an int; other expressions as they are."""
    if isinstance(value, tir.IntImm):
        return value.value
    return value if isinstance(value, PrimExpr) else operator.index(value)


def known_dim(dim: Dim) -> int:
    """A dim that is known to be a number."""
    found = as_dim(dim)
    assert isinstance(found, int)
    return found


def as_dims(values: Iterable[PrimExpr | SupportsIndex]) -> tuple[Dim, ...]:
    """Each of them `as_dim`."""
    return tuple(as_dim(v) for v in values)


class DimMath:
    """The operations shape rules need, over one prover. Every result is normal: an int where it is a number."""

    __slots__ = ("prover",)

    def __init__(self, prover: DimProver) -> None:
        self.prover = prover

    def normal(self, value: PrimExpr | SupportsIndex) -> Dim:
        """Simplified, and an int if it is a number."""
        if isinstance(value, PrimExpr) and not isinstance(value, (tir.IntImm, tir.Var, tir.AnyDim)):
            value = self.prover.simplify(value)
        return as_dim(value)

    def _on(self, operation: Callable[[Dim, Dim], Dim], a: Dim, b: Dim) -> Dim:
        if is_any(a) or is_any(b):
            return tir.AnyDim()
        return self.normal(operation(a, b))

    def add(self, a: Dim, b: Dim) -> Dim:
        return self._on(lambda x, y: x + y, a, b)

    def subtract(self, a: Dim, b: Dim) -> Dim:
        return self._on(lambda x, y: x - y, a, b)

    def multiply(self, a: Dim, b: Dim) -> Dim:
        return self._on(lambda x, y: x * y, a, b)

    def floor_divide(self, a: Dim, b: Dim) -> Dim:
        return self._on(lambda x, y: x // y, a, b)

    def ceil_divide(self, a: Dim, b: int) -> Dim:
        """a / b rounded up, for b > 0."""
        return a if b == 1 else self._on(lambda x, y: (x + (y - 1)) // y, a, b)

    def modulo(self, a: Dim, b: Dim) -> Dim:
        return self._on(lambda x, y: x % y, a, b)

    def minimum(self, a: Dim, b: Dim) -> Dim:
        return self._on(_minimum, a, b)

    def maximum(self, a: Dim, b: Dim) -> Dim:
        return self._on(_maximum, a, b)

    def product(self, dims: Iterable[Dim]) -> Dim:
        """1 for no dims."""
        result: Dim = 1
        for dim in dims:
            result = self.multiply(result, dim)
        return result

    def total(self, dims: Iterable[Dim]) -> Dim:
        """0 for no dims."""
        terms = list(dims)
        return tir.AnyDim() if any(map(is_any, terms)) else self.normal(sum(terms))

    def equal(self, a: Dim, b: Dim) -> bool | None:
        """True or False if certain, None if undecided. A rule that goes on undecided assumes it: where the program
        runs, it is checked (`passes.relax.operators.check_sizes`)."""
        if is_any(a) or is_any(b):
            return None
        if a is b:
            return True
        if isinstance(a, int) and isinstance(b, int):
            return a == b
        return self.prover.equal(a, b)

    def same(self, a: Dim, b: Dim) -> bool:
        """Whether the dims are certainly equal; nothing is assumed if that is undecided."""
        gap = self.subtract(a, b)
        return isinstance(gap, int) and gap == 0

    def stretches(self, dim: Dim, wanted: Dim) -> bool | None:
        """Whether an axis of extent `dim` broadcasts to `wanted`: True, False, or None if undecided."""
        if isinstance(dim, int) or is_any(dim) or is_any(wanted) or dim is wanted:
            return dim == 1 if isinstance(dim, int) and dim == 1 else self.equal(dim, wanted)
        one, other = tir.literal(1, dim.dtype), tir.literal(wanted, dim.dtype)
        return self.equal(tir.Select(tir.EQ(dim, one), other, dim), wanted)

    def divides(self, divisor: Dim, dim: Dim) -> bool | None:
        """Whether `dim` is a multiple of `divisor`: as `equal`."""
        return self.equal(self.multiply(self.floor_divide(dim, divisor), divisor), dim)

    def at_most(self, low: Dim, high: Dim) -> bool | None:
        """Whether `low <= high`: as `equal`."""
        return self.equal(self.minimum(low, high), low)

    def unify(self, a: Dim, b: Dim) -> Dim:
        """The better known of two dims that must be equal and may be."""
        return b if is_any(a) or (isinstance(b, int) and not isinstance(a, int)) else a


def _minimum(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    a, b = _matched(a, b)
    return tir.Min(a, b)


def _maximum(a: Dim, b: Dim) -> Dim:
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    a, b = _matched(a, b)
    return tir.Max(a, b)


def _matched(a: Dim, b: Dim) -> tuple[PrimExpr, PrimExpr]:
    dtypes = [d.dtype for d in (a, b) if isinstance(d, PrimExpr)]
    wide = max(dtypes, key=lambda dtype: dtype.bits)
    return _widened(a, wide), _widened(b, wide)


def _widened(dim: Dim, dtype: DataType) -> PrimExpr:
    found = tir.literal(dim, dtype)
    return found if found.dtype == dtype else tir.Cast(dtype, found)


def show_shape(shape: tuple[Dim, ...] | None, ndim: int = -1) -> str:
    """For messages: `(n, 4)`, `(rank 2)`, `(unknown rank)`."""
    if shape is None:
        return "(unknown rank)" if ndim < 0 else f"(rank {ndim})"
    inside = ", ".join("?" if is_any(d) else str(d) for d in shape)
    return f"({inside},)" if len(shape) == 1 else f"({inside})"
