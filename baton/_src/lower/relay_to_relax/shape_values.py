"""Numbers that a program computes from the sizes of tensors, as sizes: what `shape_of`, and arithmetic on it, come to.

    concatenate((take(shape_of(%x), [0]), [-1]))     ->     (n, -1)       if %x has the shape (n, 6)

So a reshape to it needs no tensor to be read. Vectors and scalars of integers only; anything else is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.tensor_info import Dim
from baton._src.ir.types import TensorType, Type
from baton._src.ops.dims import DimMath
from baton._src.relay.nodes import Call, Constant, Tuple
from baton._src.tir.expr import IntImm

Dims = tuple[Dim, ...]
MOST_STEPS = 32
"""How far back is looked: what computes shapes is short."""


def shape_values(expr: GraphExpr, dims_of: Callable[[GraphExpr], Dims | None], math: DimMath) -> Dims | None:
    """The elements of an expression, in order; None if they are not known. `dims_of` tells the dims of a tensor."""
    known: dict[GraphExpr, Dims | None] = {}

    def values(expr: GraphExpr, steps: int) -> Dims | None:
        if expr not in known:
            known[expr] = _values(expr, dims_of, math, lambda e: values(e, steps - 1) if steps else None)
        return known[expr]

    return values(expr, MOST_STEPS)


def _values(
    expr: GraphExpr,
    dims_of: Callable[[GraphExpr], Dims | None],
    math: DimMath,
    values: Callable[[GraphExpr], Dims | None],
) -> Dims | None:
    """The same, by those of the operands, which `values` tells."""
    if isinstance(expr, Constant):
        found = np.asarray(expr.data.data).reshape(-1)
        return tuple(map(int, found)) if found.dtype.kind in "iu" else None
    name = getattr(getattr(expr, "op", None), "name", None)
    if not isinstance(expr, Call) or not _is_vector(expr.checked_type):
        return None
    if name == "shape_of":
        return dims_of(expr.args[0])
    rule = _RULES.get(str(name))
    if rule is None:
        return None
    given = expr.args[0].fields if isinstance(expr.args[0], Tuple) else expr.args
    operands = [v for v in map(values, given) if v is not None]
    return rule(expr, operands, math) if len(operands) == len(given) else None


def _is_vector(type_: Type) -> bool:
    return (
        isinstance(type_, TensorType)
        and isinstance(type_.shape, tuple)
        and len(type_.shape) <= 1
        and all(isinstance(d, IntImm) for d in type_.shape)
        and type_.dtype.is_int
    )


def _taken(call: Call, operands: list[Dims], math: DimMath) -> Dims | None:
    values, places = operands
    known = [p for p in places if isinstance(p, int) and -len(values) <= p < len(values)]
    return tuple(values[p] for p in known) if len(known) == len(places) else None


def _sliced(call: Call, operands: list[Dims], math: DimMath) -> Dims | None:
    a = call.attrs
    if a.slice_mode != "end" or any(v is None or len(v) != 1 for v in (a.begin, a.end)):
        return None
    step = int(a.strides[0]) if a.strides else 1
    return operands[0][int(a.begin[0]) : int(a.end[0]) : step]


def _each(name: str) -> Callable[[Call, list[Dims], DimMath], Dims]:
    """An operation on pairs of elements; one that stands alone meets all others."""

    def compute(call: Call, operands: list[Dims], math: DimMath) -> Dims:
        count = max(map(len, operands)) if all(operands) else 0
        left, right = (v * count if len(v) == 1 else v for v in operands)
        return tuple(getattr(math, name)(x, y) for x, y in zip(left, right))

    return compute


def _same(call: Call, operands: list[Dims], math: DimMath) -> Dims:
    return operands[0]


_RULES: Mapping[str, Callable[[Call, list[Dims], DimMath], Dims | None]] = {
    **dict.fromkeys(("cast", "reshape", "squeeze", "expand_dims", "copy"), _same),
    "concatenate": lambda call, operands, math: tuple(d for v in operands for d in v),
    "take": _taken,
    "strided_slice": _sliced,
    "prod": lambda call, operands, math: (math.product(operands[0]),),
    **{name: _each(name) for name in ("add", "subtract", "multiply", "maximum", "minimum")},
}
