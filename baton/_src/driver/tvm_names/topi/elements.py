"""`tvm.topi` where it takes more than operators do: logarithms and roots of integers, slices' bounds as tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import call, shape_of
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.te.computation import compute
from baton._src.te.tensor import Tensor
from baton._src.tir import operators
from baton._src.tir.builders.scalar_functions import if_then_else
from baton._src.tir.expr import EQ, And, Select
from baton._src.tir.operators import floordiv, floormod


def _of_floats(name: str) -> Callable[..., Any]:
    """An operator on floats that takes integers as float32."""

    def function(x: Tensor) -> Any:
        """The function of each element, in floats: integers are taken as float32."""
        return call(name, x if x.dtype.is_float else call("astype", x, dtype="float32"))

    function.__name__ = name
    return function


def cast(x: Any, dtype: object, span: Span | None = None) -> Any:
    """Every element converted to `dtype`; of a scalar expression, that (and `span` is where it was written)."""
    if isinstance(x, Tensor):
        return call("astype", x, dtype=dtype)
    found = operators.cast(dtype, x)
    return found if span is None else found.with_fields(span=span)


def flip(a: Tensor, axis: int = 0) -> Any:
    """Back to front along an axis."""
    return call("flip", a, axis=axis)


def tile(a: Tensor, reps: Any) -> Any:
    """Repeated as a whole along axes."""
    return call("tile", a, repeats=(reps,) if isinstance(reps, int) else tuple(reps))


def strided_set(a: Tensor, v: Tensor, begin: Any, end: Any, strides: Any = None) -> Any:
    """A copy of `a` with the elements of `v` in a slice; its bounds are the elements of vectors (int32).

    Bounds below 0 count from the end; axes behind those of the vectors are taken whole. What an element is replaced by
    is its step from the slice's begin; elements outside stay.
    """
    bounds = [t for t in (begin, end, strides) if t is not None]
    for bound in bounds:
        if not isinstance(bound, Tensor) or bound.ndim != 1 or bound.dtype != "int32":
            raise fail("topi", "the bounds of strided_set are vectors of int32", help="te.placeholder((n,), 'int32')")
    axes = [_slice_along(a.shape[axis], axis, begin, end, strides) for axis in range(a.ndim)]

    def body(*indices: Any) -> Any:
        inside: Any = None
        places = []
        for index, (first, last, step) in zip(indices, axes):
            forwards = step > 0
            distance = Select(forwards, index - first, first - index)
            stride = Select(forwards, step, 0 - step)
            in_bounds = Select(forwards, index < last, index > last)
            held = And(And(distance >= 0, in_bounds), EQ(floormod(distance, stride), 0 * stride))
            inside = held if inside is None else And(inside, held)
            places.append(floordiv(distance, stride))
        return if_then_else(inside, v(*places), a(*indices)) if axes else v()

    return compute(a.shape, body, "strided_set")


def _slice_along(extent: Any, axis: int, begin: Tensor, end: Tensor, strides: Tensor | None) -> tuple[Any, Any, Any]:
    """(first index, bound that is not reached, step) along an axis."""

    def given(vector: Tensor | None) -> bool:
        return vector is not None and axis < shape_of(vector)[0]

    def wrapped(bound: Any) -> Any:
        return Select(bound < 0, bound + extent, bound)

    step = strides[axis] if strides is not None and given(strides) else extent * 0 + 1
    first = wrapped(begin[axis]) if given(begin) else Select(step > 0, 0 * step, extent - 1)
    last = wrapped(end[axis]) if given(end) else Select(step > 0, extent, 0 * step - 1)
    return first, last, step


ELEMENTS: Mapping[str, Callable[..., Any]] = {
    **{name: _of_floats(name) for name in ("log", "log2", "log10", "sqrt", "rsqrt")},
    **{function.__name__: function for function in (cast, flip, tile, strided_set)},
}
"""Functions of topi by their names."""
