"""Reductions over axes: `sum`, `max`, `min`, `prod`, `all`, `any`, and `comm_reducer` for one's own.

argmin = comm_reducer(
    lambda x, y: (select(x[1] <= y[1], x[0], y[0]), select(x[1] <= y[1], x[1], y[1])),
    lambda index, value: (const(-1, index), max_value(value)), name="argmin")
compute((n,), lambda i: argmin((k, A[i, k]), axis=k))
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.tir import dtype_limits, operators
from baton._src.tir.expr import CommReducer, IntImm, IterVar, Reduce, Var
from baton._src.values.dtype import BOOL, DataType

Reducer = Callable[..., Any]


def comm_reducer(fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce") -> Reducer:
    """A reduction: `fcombine(x, y)` must be associative and commutative, `fidentity(dtype)` its neutral element.

    Over tuples, `fcombine` takes and gives tuples and `fidentity` takes one dtype for each part. The result
    `reducer(expr, axis, where=None, init=None)` gives a `Reduce` (a tuple of them for a tuple): only elements where
    the condition `where` holds count; `init` replaces the neutral element as the start. Given values instead of axes,
    `reducer(a, b, c)`, it combines these.
    """

    def reducer(expr: Any, axis: Any = None, where: Any = None, init: Any = None, *others: Any) -> Any:
        """Reduce `expr` over one or more reduce axes, as `comm_reducer` says; or combine several values."""
        if axis is None:
            raise fail("te-axis", f"{name}: nothing says what is reduced over", help="axis=te.reduce_axis((0, n))")
        if not isinstance(axis, (IterVar, tuple, list)):
            values = [operators.convert(v) for v in (axis, where, init, *others) if v is not None]
            return functools.reduce(fcombine, values, operators.convert(expr))
        source = tuple(operators.convert(e) for e in (expr if isinstance(expr, (tuple, list)) else (expr,)))
        axes = (axis,) if isinstance(axis, IterVar) else tuple(axis)
        for one in axes:
            if one.iter_type != "reduce":
                raise fail("te-axis", f"{name}: {one!r} is not a reduce axis", help="make it with te.reduce_axis")
        combiner = _combiner(name, fcombine, fidentity, [e.dtype for e in source])
        condition = IntImm(BOOL, 1) if where is None else operators.convert(where)
        start = () if init is None else tuple(init) if isinstance(init, (tuple, list)) else (init,)
        begin = tuple(operators.cast(e.dtype, s) for e, s in zip(source, start))
        found = tuple(Reduce(combiner, source, axes, condition, i, begin) for i in range(len(source)))
        return found if isinstance(expr, (tuple, list)) else found[0]

    reducer.__name__ = name
    return reducer


def _combiner(
    name: str, fcombine: Callable[..., Any], fidentity: Callable[..., Any], dtypes: list[DataType]
) -> CommReducer:
    lhs = tuple(Var(f"x{i}" if i else "x", d) for i, d in enumerate(dtypes))
    rhs = tuple(Var(f"y{i}" if i else "y", d) for i, d in enumerate(dtypes))
    single = len(dtypes) == 1
    combined = fcombine(lhs[0], rhs[0]) if single else fcombine(lhs, rhs)
    result = _parts(combined, single)
    identity = _parts(fidentity(*dtypes), single)
    if not len(result) == len(identity) == len(dtypes):
        raise fail("te-reduce", f"{name} combines {len(dtypes)} parts but gives {len(result)} and {len(identity)}")
    return CommReducer(
        lhs=lhs,
        rhs=rhs,
        result=tuple(operators.cast(d, r) for d, r in zip(dtypes, result)),
        identity_element=tuple(operators.cast(d, e) for d, e in zip(dtypes, identity)),
    )


def _parts(result: Any, single: bool) -> tuple[PrimExpr, ...]:
    parts = (result,) if single and not isinstance(result, (tuple, list)) else tuple(result)
    return tuple(operators.convert(p) for p in parts)


def _of_conditions(reducer: Reducer) -> Reducer:
    """`reducer`, where one condition alone is itself: scripts write `te.all(*conditions)`, also of one."""

    @functools.wraps(reducer)
    def combined(expr: Any, *args: Any, **options: Any) -> Any:
        return reducer(expr, *args, **options) if args or options else operators.convert(expr)

    return combined


sum = comm_reducer(operators.add, lambda dtype: operators.const(0, dtype), "sum")
"""The sum over reduce axes; 0 of nothing."""
prod = comm_reducer(operators.multiply, lambda dtype: operators.const(1, dtype), "prod")
"""The product; 1 of nothing."""
max = comm_reducer(operators.max, dtype_limits.lowest, "max")
"""The largest; of nothing -inf (the smallest integer)."""
min = comm_reducer(operators.min, dtype_limits.highest, "min")
"""The smallest; of nothing +inf (the largest integer)."""
all = _of_conditions(comm_reducer(operators.logical_and, lambda dtype: IntImm(BOOL, 1), "all"))
"""Whether every condition holds."""
any = _of_conditions(comm_reducer(operators.logical_or, lambda dtype: IntImm(BOOL, 0), "any"))
"""Whether some condition holds."""
