"""`topi.utils`: dims as numbers, numbers of elements as indices, tables of numbers as tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from baton._src.driver.tvm_names.topi.tags import is_injective
from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import fail
from baton._src.te.computation import compute
from baton._src.te.tensor import ComputeOp
from baton._src.tir import operators
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import EQ, AnyDim, FloatImm, IntImm, Select, SizeVar, literal
from baton._src.values.dtype import DataType


def get_const_int(expr: Any) -> int:
    """A dim as a number; `DiagnosticError` (`dim-unknown`) if it depends on a variable."""
    found = Analyzer().simplify(expr) if not isinstance(expr, (int, IntImm)) else expr
    if isinstance(found, int):
        return found
    if isinstance(found, IntImm):
        return found.value
    raise fail("dim-unknown", f"{expr!r} is not a number known when compiling")


def get_const_tuple(in_tuple: Iterable[Any]) -> tuple[Any, ...]:
    """A shape with numbers where they are known; other dims as they are."""
    simplify = Analyzer().simplify
    found = (d if isinstance(d, int) else simplify(d) for d in in_tuple)
    return tuple(d.value if isinstance(d, IntImm) else d for d in found)


def prod(x: Iterable[Any]) -> Any:
    """The product of dims."""
    found: Any = 1
    for dim in x:
        found = found * dim
    return found


def get_const_float(expr: Any) -> float:
    """A number as a float; `DiagnosticError` (`dim-unknown`) if it depends on a variable."""
    if isinstance(expr, (int, float)):
        return float(expr)
    found = Analyzer().simplify(expr)
    if isinstance(found, (FloatImm, IntImm)):
        return float(found.value)
    raise fail("dim-unknown", f"{expr!r} is not a number known when compiling")


def equal_const_int(expr: Any, value: int) -> bool:
    """Whether a dim is certainly this number."""
    found = expr if isinstance(expr, int) else Analyzer().simplify(expr)
    return (found.value if isinstance(found, IntImm) else found) == value


def simplify(expr: Any) -> Any:
    """The expression, simplified."""
    return Analyzer().simplify(expr) if isinstance(expr, PrimExpr) else expr


def ravel_index(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The number of an element, row-major."""
    found: Any = None
    for index, extent in zip(indices, shape):
        found = index if found is None else found * extent + index
    return found


def unravel_index(idx: Any, shape: Sequence[Any]) -> list[Any]:
    """The indices of the element with this number; 0 along axes of extent 0, which have none."""
    found: list[Any] = []
    for place in reversed(range(len(shape))):
        if equal_const_int(shape[place], 0):
            found.append(0)
        elif place == 0:
            found.append(idx)
        else:
            found.append(operators.floormod(idx, shape[place]))
            idx = operators.floordiv(idx, shape[place])
    return found[::-1]


def ceil_div(a: Any, b: Any) -> Any:
    """A quotient, rounded up."""
    return operators.floordiv(a + (b - 1), b)


def swap(arr: Sequence[Any], axis: int) -> list[Any]:
    """A list with the element at `axis` and the last one interchanged."""
    found = list(arr)
    found[axis], found[-1] = found[-1], found[axis]
    return found


def is_dynamic_shape(shape: Iterable[Any]) -> bool:
    """Whether a dim is open: `AnyDim`, or a variable for a size."""
    return any(isinstance(dim, AnyDim | SizeVar) for dim in shape)


def const_matrix(matrix: Any, name: str = "const_matrix", attrs: Any = None) -> Any:
    """A NumPy matrix as a tensor whose elements are chosen one by one: for small ones."""
    rows, columns = matrix.shape
    dtype = DataType(matrix.dtype)

    def body(i: Any, j: Any) -> Any:
        place = i * columns + j
        found: Any = literal(matrix[0, 0].item(), dtype)
        for number, element in enumerate(matrix.ravel().tolist()):
            found = Select(EQ(place, literal(number, place.dtype)), literal(element, dtype), found)
        return found

    return compute((rows, columns), body, name)


def is_empty_shape(shape: Iterable[Any]) -> bool:
    """Whether a dim is 0."""
    return any(equal_const_int(d, 0) for d in shape)


def get_float_tuple(in_tuple: Iterable[Any]) -> tuple[float, ...]:
    """Numbers as floats; `DiagnosticError` (`dim-unknown`) if one depends on a variable."""
    return tuple(map(get_const_float, in_tuple))


def get_max_power2_factor(n: int, max_value: int | None = None) -> int:
    """The largest power of 2 that divides `n`, no more than `max_value`."""
    factor = n & -n
    return factor if max_value is None else min(factor, 1 << (max_value.bit_length() - 1))


def const_vector(vector: Any, name: str = "const_vector") -> Any:
    """A vector of numbers as a tensor whose elements are chosen one by one: for small ones."""
    row = np.asarray(vector)
    table = const_matrix(row[None], name)
    return compute(row.shape, lambda i: table[0, i], name)


def traverse_inline(s: Any, final_op: Any, callback: Callable[[Any], None]) -> None:
    """Call `callback` on `final_op` and what it is computed from by injective stages (by their tags), operands first;
    injective stages are inlined, but for the schedule's outputs."""
    seen: set[Any] = set()

    def visit(op: Any) -> None:
        if op in seen:
            return
        seen.add(op)
        if is_injective(op.tag):
            if op not in s.outputs:
                s[op].compute_inline()
            for tensor in op.input_tensors:
                if isinstance(tensor.op, ComputeOp):
                    visit(tensor.op)
        callback(op)

    visit(final_op)
