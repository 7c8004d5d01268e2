"""Temporary: the few functions of `te` that `kernel_words` needs, until `te` has landed."""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import Range
from baton._src.te.tensor import ComputeOp, Tensor
from baton._src.tir import expr as tir


def reduce_axis(dom: Any, name: str = "k") -> Any:
    return tir.IterVar(Range(dom[0], dom[1]), tir.Var(name, "int64"), "reduce")


def compute(shape: Any, body: Any, name: str, tag: str, attrs: Any) -> Any:
    axes = tuple(
        tir.IterVar(Range(tir.IntImm("int64", 0), d), tir.Var(f"i{n}", "int64"), "spatial") for n, d in enumerate(shape)
    )
    value = body(*[a.var for a in axes])
    values = value if isinstance(value, tuple) else (value,)
    reduce_axes = values[0].axis if isinstance(values[0], tir.Reduce) else ()
    op = ComputeOp(name, axes, tuple(reduce_axes), values, tag, attrs)
    found = tuple(Tensor(tuple(shape), v.dtype, op, i) for i, v in enumerate(values))
    return found if isinstance(value, tuple) else found[0]


def _reducer(make: Any, identity: Any) -> Any:
    def reduce(value: Any, axes: Any) -> Any:
        a, b = tir.Var("x", value.dtype), tir.Var("y", value.dtype)
        combiner = tir.CommReducer((a,), (b,), result=(make(a, b),), identity_element=(identity(value.dtype),))
        return tir.Reduce(combiner, (value,), tuple(axes), tir.IntImm("bool", 1), 0)

    return reduce


sum = _reducer(tir.Add, lambda d: tir.literal(0, d))
prod = _reducer(tir.Mul, lambda d: tir.literal(1, d))
max = _reducer(tir.Max, lambda d: tir.literal(float("-inf") if d.is_float else -(1 << (d.bits - 1)), d))
min = _reducer(tir.Min, lambda d: tir.literal(float("inf") if d.is_float else (1 << (d.bits - 1)) - 1, d))
