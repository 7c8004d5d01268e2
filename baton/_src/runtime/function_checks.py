"""Check a function value against a function type: its kind, and the run-time type information of closures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from baton._src.runtime.dim_expr import DimExpr, is_slot, slots_of
from baton._src.runtime.value_errors import describe, is_packed, mismatch
from baton._src.runtime.value_info import (
    FunctionValue,
    ObjectValue,
    PrimScalar,
    ShapeValue,
    TensorValue,
    TupleValue,
    ValueInfo,
    show_info,
)
from baton._src.support.diagnostics import fail
from baton._src.values.closure import Closure


def check_function(value: Any, info: FunctionValue, place: str) -> None:
    """A cast to a function: the category, and a closure's run-time information where it has some."""
    if info.any_callable:
        if not isinstance(value, Closure) and not is_packed(value):
            raise mismatch(place, "a function", describe(value))
        return
    if info.params is None:
        if not is_packed(value):
            raise mismatch(place, "a packed function", describe(value))
        return
    if not isinstance(value, Closure):
        raise mismatch(place, "a closure", describe(value))
    known = value.info
    if not isinstance(known, FunctionValue) or known.params is None:
        return
    problem = _function_problem(known, info)
    if problem:
        raise fail("value-mismatch", f"{place}: the closure {value.name} {problem}")


def _function_problem(known: FunctionValue, wanted: FunctionValue) -> str:
    params, expected = known.params or (), wanted.params or ()
    if len(params) != len(expected):
        return f"takes {len(params)} arguments, expected {len(expected)}"
    if wanted.pure and not known.pure:
        return "is impure, expected a pure one"
    taken = _without_open_dims(params)
    for index, (own, outer) in enumerate(zip(params, expected)):
        if not is_subinfo(outer, taken[index]):
            return f"takes {show_info(own)} as argument {index}, which does not accept every {show_info(outer)}"
    if known.ret is not None and wanted.ret is not None and not is_subinfo(known.ret, wanted.ret):
        return f"returns {show_info(known.ret)}, expected {show_info(wanted.ret)}"
    return ""


def is_subinfo(given: ValueInfo, expected: ValueInfo) -> bool:
    """Whether every value described by `given` fits `expected` (as far as dims without variables can tell)."""
    match given, expected:
        case _, ObjectValue():
            return True
        case TensorValue(), TensorValue():
            dtype_fits = expected.dtype in ("", given.dtype)
            rank_fits = expected.ndim in (-1, given.ndim)
            return dtype_fits and rank_fits and _dims_fit(given.dims, expected.dims)
        case ShapeValue(), ShapeValue():
            return expected.ndim in (-1, given.ndim) and _dims_fit(given.dims, expected.dims)
        case PrimScalar(), PrimScalar():
            return given.dtype == expected.dtype and _dims_fit(_alone(given.value), _alone(expected.value))
        case TupleValue(fields), TupleValue(others):
            return len(fields) == len(others) and all(is_subinfo(a, b) for a, b in zip(fields, others))
        case FunctionValue(), FunctionValue():
            if given.params is None or expected.params is None:
                return expected.any_callable or given.params is expected.params
            return not _function_problem(given, expected)
        case _:
            return False


def _dims_fit(given: Sequence[DimExpr] | None, expected: Sequence[DimExpr] | None) -> bool:
    if expected is None:
        return True
    if given is None:
        return False
    return all(_undecided(a) or _undecided(b) or a == b for a, b in zip(given, expected))


def _alone(value: DimExpr) -> tuple[DimExpr, ...] | None:
    return None if value is None else (value,)


def _undecided(dim: DimExpr) -> bool:
    return not isinstance(dim, (int, float))


def _without_open_dims(params: Sequence[ValueInfo]) -> list[ValueInfo]:
    """The parameters without shapes that any argument fits: of variables alone, each at its only occurrence."""
    uses = Counter(slot for p in params for dim in _all_dims(p) for slot in slots_of(dim))
    return [_without(p, uses) for p in params]


def _without(info: ValueInfo, uses: Counter[int]) -> ValueInfo:
    match info:
        case TensorValue(dims=tuple() as dims) | ShapeValue(dims=tuple() as dims) if dims:
            return replace(info, dims=None) if all(_is_open(d, uses) for d in dims) else info
        case PrimScalar(value=value) if value is not None:
            return replace(info, value=None) if _is_open(value, uses) else info
        case TupleValue(fields):
            return TupleValue(tuple(_without(f, uses) for f in fields))
        case _:
            return info


def _is_open(dim: DimExpr, uses: Counter[int]) -> bool:
    return is_slot(dim) and uses[dim[1]] == 1


def _all_dims(info: ValueInfo | None) -> list[DimExpr]:
    """Every dim and prim value inside, also in function types."""
    match info:
        case TensorValue(dims=dims) | ShapeValue(dims=dims):
            return list(dims or ())
        case PrimScalar(value=value):
            return [] if value is None else [value]
        case TupleValue(fields):
            return [d for f in fields for d in _all_dims(f)]
        case FunctionValue(params, ret):
            return [d for part in (*(params or ()), ret) for d in _all_dims(part)]
        case _:
            return []
