"""Reductions over axes: `sum`, `max`, `min`, `prod`, `all`, `any`, and `comm_reducer` for one's own.

argmin = comm_reducer(
    lambda x, y: (select(x[1] <= y[1], x[0], y[0]), select(x[1] <= y[1], x[1], y[1])),
    lambda index, value: (const(-1, index), max_value(value)), name="argmin")
compute((n,), lambda i: argmin((k, A[i, k]), axis=k))
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import overload

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir import dtype_limits, operators
from baton._src.tir.expr import CommReducer, IntImm, IterVar, Reduce, Var
from baton._src.values.dtype import BOOL, DataType

Operand = PrimExpr | IterVar | float
"""A scalar expression, an axis that stands for its variable, or a number."""
Combine = Callable[..., Operand | Sequence[Operand]]


class Reducer:
    """A reduction: associative and commutative, with a neutral element. See `comm_reducer`."""

    def __init__(self, fcombine: Combine, fidentity: Combine, name: str, alone: bool = False) -> None:
        """`alone`: one value without axes is itself, as scripts write `te.all(*conditions)` of one, too."""
        self.fcombine = fcombine
        self.fidentity = fidentity
        self.alone = alone
        self.__name__ = name

    @overload
    def __call__(
        self,
        expr: Operand,
        axis: Operand | Sequence[IterVar] | None = None,
        where: Operand | None = None,
        init: Operand | Sequence[Operand] | None = None,
        *others: Operand,
    ) -> PrimExpr: ...
    @overload
    def __call__(
        self,
        expr: Sequence[Operand],
        axis: IterVar | Sequence[IterVar] | None = None,
        where: Operand | None = None,
        init: Operand | Sequence[Operand] | None = None,
    ) -> tuple[PrimExpr, ...]: ...
    def __call__(
        self,
        expr: Operand | Sequence[Operand],
        axis: Operand | Sequence[IterVar] | None = None,
        where: Operand | None = None,
        init: Operand | Sequence[Operand] | None = None,
        *others: Operand,
    ) -> PrimExpr | tuple[PrimExpr, ...]:
        """Reduce `expr` over one or more reduce axes, as `comm_reducer` says; or combine several values."""
        if axis is None and self.alone:
            return operators.convert(expr)
        if axis is None:
            help = "axis=te.reduce_axis((0, n))"
            raise fail("te-axis", f"{self.__name__}: nothing says what is reduced over", help=help)
        if not isinstance(axis, (IterVar, tuple, list)):
            values = [operators.convert(v) for v in (axis, where, init, *others) if v is not None]
            return functools.reduce(self._combined, values, operators.convert(expr))
        source = tuple(operators.convert(e) for e in _listed(expr))
        axes = (axis,) if isinstance(axis, IterVar) else tuple(axis)
        for one in axes:
            if one.iter_type != "reduce":
                help = "make it with te.reduce_axis"
                raise fail("te-axis", f"{self.__name__}: {one!r} is not a reduce axis", help=help)
        combiner = _combiner(self.__name__, self.fcombine, self.fidentity, [e.dtype for e in source])
        condition = IntImm(BOOL, 1) if where is None else operators.convert(where)
        begin = tuple(operators.cast(e.dtype, s) for e, s in zip(source, () if init is None else _listed(init)))
        found = tuple(Reduce(combiner, source, axes, condition, i, begin) for i in range(len(source)))
        return found if isinstance(expr, (tuple, list)) else found[0]

    def _combined(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return operators.convert(self.fcombine(a, b))


def comm_reducer(fcombine: Combine, fidentity: Combine, name: str = "reduce") -> Reducer:
    """A reduction: `fcombine(x, y)` must be associative and commutative, `fidentity(dtype)` its neutral element.

    Over tuples, `fcombine` takes and gives tuples and `fidentity` takes one dtype for each part. The result
    `reducer(expr, axis, where=None, init=None)` gives a `Reduce` (a tuple of them for a tuple): only elements where
    the condition `where` holds count; `init` replaces the neutral element as the start. Given values instead of axes,
    `reducer(a, b, c)`, it combines these.
    """
    return Reducer(fcombine, fidentity, name)


def _listed(given: Operand | Sequence[Operand]) -> Sequence[Operand]:
    return given if isinstance(given, (tuple, list)) else (given,)


def _combiner(name: str, fcombine: Combine, fidentity: Combine, dtypes: list[DataType]) -> CommReducer:
    lhs = tuple(Var(f"x{i}" if i else "x", d) for i, d in enumerate(dtypes))
    rhs = tuple(Var(f"y{i}" if i else "y", d) for i, d in enumerate(dtypes))
    combined = fcombine(lhs[0], rhs[0]) if len(dtypes) == 1 else fcombine(lhs, rhs)
    result = _parts(combined)
    identity = _parts(fidentity(*dtypes))
    if not len(result) == len(identity) == len(dtypes):
        raise fail("te-reduce", f"{name} combines {len(dtypes)} parts but gives {len(result)} and {len(identity)}")
    return CommReducer(
        lhs=lhs,
        rhs=rhs,
        result=tuple(operators.cast(d, r) for d, r in zip(dtypes, result)),
        identity_element=tuple(operators.cast(d, e) for d, e in zip(dtypes, identity)),
    )


def _parts(result: Operand | Sequence[Operand]) -> tuple[PrimExpr, ...]:
    return tuple(operators.convert(p) for p in _listed(result))


sum = comm_reducer(operators.add, lambda dtype: operators.const(0, dtype), "sum")
"""The sum over reduce axes; 0 of nothing."""
prod = comm_reducer(operators.multiply, lambda dtype: operators.const(1, dtype), "prod")
"""The product; 1 of nothing."""
max = comm_reducer(operators.max, dtype_limits.lowest, "max")
"""The largest; of nothing -inf (the smallest integer)."""
min = comm_reducer(operators.min, dtype_limits.highest, "min")
"""The smallest; of nothing +inf (the largest integer)."""
all = Reducer(operators.logical_and, lambda dtype: IntImm(BOOL, 1), "all", alone=True)
"""Whether every condition holds."""
any = Reducer(operators.logical_or, lambda dtype: IntImm(BOOL, 0), "any", alone=True)
"""Whether some condition holds."""
