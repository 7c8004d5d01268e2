"""Checks of values against `ValueInfo`: signatures (bind first, then check) and `match_cast` (left to right).

Messages name the variable, the dimension, and what was expected and found. Source: seed 001, Evaluating MatchCast;
relax-language facts, section 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from baton._src.runtime.dim_expr import DimExpr, compile_dim, format_dim, is_slot
from baton._src.runtime.filled_info import filled
from baton._src.runtime.function_checks import check_function
from baton._src.runtime.value_errors import argument_count, describe, mismatch
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
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.values.prim import as_declared, prim_dtype, same_number
from baton._src.values.shape import ShapeTuple
from baton._src.values.tensor import NDArray

Heap = list[Any]
"""Values of shape variables by slot; None while unbound."""


class Matcher:
    """One check in progress: the shape heap, the names of its slots, and extra arguments (shapes held by variables)."""

    def __init__(self, heap: Heap, slot_names: Sequence[str] = (), extra: Sequence[Any] = ()) -> None:
        self.heap = heap
        self.slot_names = slot_names
        self.extra = extra

    def check(self, value: Any, info: ValueInfo, place: str) -> None:
        """`match_cast`: check category, rank, dtype and dims left to right, binding slots that are unbound."""
        match info:
            case ObjectValue():
                pass
            case TensorValue():
                array = self._tensor(value, info, place)
                self._dims(array.shape, self._wanted(array, info, place), place, "dimension")
            case ShapeValue(ndim, dims):
                self._shape(value, ndim, place)
                self._dims(value, dims, place, "member")
            case PrimScalar(dtype, wanted):
                self._prim(value, dtype, place)
                if wanted is not None:
                    self._dim(value, wanted, f"{place}: the value", place)
            case TupleValue(fields):
                self._tuple(value, fields, place)
                for index, field in enumerate(fields):
                    self.check(value[index], field, f"{place}[{index}]")
            case FunctionValue():
                # Where sizes were lowered to a tensor of the program's own, the scope has no values: they fit anything.
                known = filled(info, self.heap) if self.heap else info
                assert isinstance(known, FunctionValue)
                check_function(value, known, place)

    def bind(self, value: Any, info: ValueInfo, place: str) -> None:
        """Phase one of a signature: check category, rank and dtype, and bind every slot found in a binding position."""
        match info:
            case TensorValue(dims=dims):
                array = self._tensor(value, info, place)
                self._bind_dims(array.shape, dims)
            case ShapeValue(ndim, dims):
                self._shape(value, ndim, place)
                self._bind_dims(value, dims)
            case PrimScalar(dtype, wanted):
                self._prim(value, dtype, place)
                if wanted is not None:
                    self._bind_dims((value,), (wanted,))
            case TupleValue(fields):
                self._tuple(value, fields, place)
                for index, field in enumerate(fields):
                    self.bind(value[index], field, f"{place}[{index}]")
            case ObjectValue() | FunctionValue():
                pass

    def _bind_dims(self, found: Sequence[Any], dims: Sequence[DimExpr] | None) -> None:
        for length, dim in zip(found, dims or ()):
            if is_slot(dim) and self.heap[dim[1]] is None:
                self.heap[dim[1]] = length

    def _wanted(self, array: NDArray, info: TensorValue, place: str) -> Sequence[DimExpr] | None:
        if info.shape_argument < 0:
            return info.dims
        held = tuple(self.extra[info.shape_argument])
        if len(held) != array.ndim:
            raise mismatch(place, f"a tensor of shape {held}", f"shape {array.shape}", ValueError)
        return held

    def _tensor(self, value: Any, info: TensorValue, place: str) -> NDArray:
        if not isinstance(value, NDArray):
            raise mismatch(place, "a tensor", describe(value))
        rank = value.data.ndim
        if info.ndim not in (-1, rank):
            raise mismatch(place, f"a tensor of rank {info.ndim}", f"rank {rank}, shape {value.shape}", ValueError)
        if info.dtype and value.dtype != info.dtype:
            raise mismatch(place, f"a tensor of dtype {info.dtype}", f"dtype {value.dtype}", ValueError)
        return value

    def _shape(self, value: Any, ndim: int, place: str) -> None:
        if not isinstance(value, ShapeTuple):
            raise mismatch(place, "a shape", describe(value))
        if ndim not in (-1, len(value)):
            raise mismatch(place, f"a shape of {ndim} dims", f"{len(value)} dims, {tuple(value)}", ValueError)

    def _prim(self, value: Any, dtype: str, place: str) -> None:
        found = prim_dtype(value)
        if found is None:
            raise mismatch(place, f"a prim value of dtype {dtype}", describe(value))
        if dtype and found != dtype:
            raise mismatch(place, f"a prim value of dtype {dtype}", f"dtype {found}")

    def _tuple(self, value: Any, fields: Sequence[ValueInfo], place: str) -> None:
        if not isinstance(value, tuple) or isinstance(value, ShapeTuple):
            raise mismatch(place, f"a tuple of {len(fields)} values", describe(value))
        if len(value) != len(fields):
            raise mismatch(place, f"a tuple of {len(fields)} values", f"{len(value)} values", ValueError)

    def _dims(self, found: Sequence[int], dims: Sequence[DimExpr] | None, place: str, word: str) -> None:
        for axis, dim in enumerate(dims or ()):
            self._dim(found[axis], dim, f"{place}: {word} {axis}", place)

    def _dim(self, found: Any, dim: DimExpr, where: str, place: str) -> None:
        if is_slot(dim) and self.heap[dim[1]] is None:
            self.heap[dim[1]] = found
            return
        expected = dim if isinstance(dim, (int, float)) else self._expected(dim, where)
        if not same_number(expected, found):
            shown = format_dim(dim, self.slot_names)
            reason = "" if isinstance(dim, (int, float)) else f" ({shown}{self._bindings(dim)})"
            raise fail("value-mismatch", f"{where} is {found}, expected {expected}{reason}")

    def _expected(self, dim: DimExpr, where: str) -> Any:
        """The value of a derived dim. Error: it mentions a variable that no argument determines."""
        open_ones = [slot for slot in sorted(_slots_of(dim)) if self.heap[slot] is None]
        if open_ones:
            names = ", ".join(format_dim(["v", slot], self.slot_names) for slot in open_ones)
            message = f"{where} must be {format_dim(dim, self.slot_names)}, but no argument determines {names}"
            raise fail("value-mismatch", message, help=f"let a dim be {names} alone, or make it a parameter")
        return compile_dim(dim, self.slot_names)(self.heap)

    def _bindings(self, dim: DimExpr) -> str:
        """The values of the variables in a derived dim: ` with n = 3`."""
        if is_slot(dim):
            return ""
        used = sorted(_slots_of(dim))
        named = [f"{format_dim(['v', s], self.slot_names)} = {self.heap[s]}" for s in used]
        return f" with {', '.join(named)}" if named else ""


def _slots_of(expr: DimExpr) -> set[int]:
    found: set[int] = set()
    work = [expr]
    while work:
        item = work.pop()
        if isinstance(item, (list, tuple)):
            if item[0] == "v":
                found.add(item[1])
            else:
                work.extend(item[1:])
    return found


def check_signature(
    arguments: Sequence[Any], infos: Sequence[ValueInfo], names: Sequence[str], matcher: Matcher, function: str
) -> None:
    """Bind all shape variables of the parameters, then check the arguments left to right.

    Raises `DiagnosticError`: `argument-count`, `value-mismatch`.
    """
    if len(arguments) != len(infos):
        argument_count(function, len(infos), len(arguments), names)
    places = [f"{function}: argument {name}" for name in names]
    for step in (matcher.bind, matcher.check):
        for value, info, place, name in zip(arguments, infos, places, names):
            try:
                step(value, info, place)
            except DiagnosticError as error:
                raise _with_whole(error, value, info, name, matcher.slot_names) from None


def _with_whole(
    error: DiagnosticError, value: Any, info: ValueInfo, name: str, slot_names: Sequence[str]
) -> DiagnosticError:
    """The error of an argument, with what the parameter is and what was given for it, in full."""
    whole = f"{name} is declared {show_info(info, slot_names)}; given was {describe(value)}"
    return type(error)([replace(d, help=d.help or whole) for d in error.diagnostics])


def numbers_as_declared(value: Any, info: ValueInfo) -> Any:
    """A host's value with its numbers, those in tuples too, as the prim values that `info` declares."""
    match info:
        case PrimScalar(dtype=dtype) if dtype:
            return as_declared(value, dtype)
        case TupleValue(fields=fields) if type(value) is tuple and len(value) == len(fields):
            return tuple([numbers_as_declared(v, f) for v, f in zip(value, fields)])
        case _:
            return value


def check_condition(found: DimExpr, expected: DimExpr, place: str, heap: Heap, names: Sequence[str]) -> None:
    """`DiagnosticError` (`value-mismatch`) unless both expressions have the same value."""
    have, want = compile_dim(found, names)(heap), compile_dim(expected, names)(heap)
    if have != want:
        shown = f"{format_dim(found, names)}, expected {want} = {format_dim(expected, names)}"
        advice = "a size of 1 is broadcast only if known at compile time: declare it as 1, or use broadcast_to"
        broadcasts = f"if the operator broadcasts at all, {advice}"
        raise fail("value-mismatch", f"{place} is {have} = {shown}", help=broadcasts if 1 in (have, want) else None)
