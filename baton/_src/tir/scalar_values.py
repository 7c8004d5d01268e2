"""How scalar values are computed with: what each operation does to two of them, and conversions between dtypes.

The values are those of `evaluation/expressions`: Python ints in the range of their dtype, Python bools, NumPy floats,
NumPy arrays for vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import InternalError
from baton._src.support.integer_division import truncated_division, truncated_remainder
from baton._src.tir import expr as tir
from baton._src.tir.folding import wrap
from baton._src.values.dtype import DataType
from baton._src.values.whole_numbers import whole_numbers

Env = list[Any]
Run = Callable[[Env], Any]
Two = Callable[[Any, Any], Any]

_EXACT: dict[type, Two] = {
    tir.Add: lambda a, b: a + b,
    tir.Sub: lambda a, b: a - b,
    tir.Mul: lambda a, b: a * b,
    tir.Div: truncated_division,
    tir.Mod: truncated_remainder,
    tir.FloorDiv: lambda a, b: a // b,
    tir.FloorMod: lambda a, b: a % b,
    tir.Min: min,
    tir.Max: max,
}


def _total(divide: Two) -> Two:
    """Kernels have no way to fail at a division: what is divided by zero is 0, as in NumPy."""
    return lambda a, b: divide(a, b) if b else 0


_ON_INTS: dict[type, Two] = {
    kind: _total(function) if kind in (tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod) else function
    for kind, function in _EXACT.items()
}
_ON_FLOATS: dict[type, Two] = {
    tir.Add: lambda a, b: a + b,
    tir.Sub: lambda a, b: a - b,
    tir.Mul: lambda a, b: a * b,
    tir.Div: lambda a, b: a / b,
    tir.Mod: np.fmod,
    tir.FloorDiv: lambda a, b: np.floor(a / b),
    tir.FloorMod: np.mod,
    tir.Min: np.minimum,
    tir.Max: np.maximum,
}
_ON_INT_VECTORS: dict[type, Two] = {
    **_ON_FLOATS,
    tir.Div: np.frompyfunc(_ON_INTS[tir.Div], 2, 1),
    tir.Mod: np.frompyfunc(_ON_INTS[tir.Mod], 2, 1),
    tir.FloorDiv: np.floor_divide,
}
_COMPARE: dict[type, Two] = {
    tir.EQ: lambda a, b: a == b,
    tir.NE: lambda a, b: a != b,
    tir.LT: lambda a, b: a < b,
    tir.LE: lambda a, b: a <= b,
    tir.GT: lambda a, b: a > b,
    tir.GE: lambda a, b: a >= b,
}


def _wrapped(function: Two, dtype: DataType) -> Two:
    low, high = _limits(dtype)

    def apply(a: Any, b: Any) -> Any:
        found = function(a, b)
        return found if low <= found <= high else wrap(found, dtype)

    return apply


def operation(node: PrimExpr) -> Two:
    """What a binary operation or comparison computes on two values."""
    kind = type(node)
    if kind in _COMPARE:
        compare = _COMPARE[kind]
        is_vector = node.dtype.lanes > 1
        return compare if is_vector else lambda a, b: bool(compare(a, b))
    dtype = node.dtype
    if dtype.is_float:
        return _ON_FLOATS[kind]
    if dtype.lanes > 1:
        on_vectors, numpy = _ON_INT_VECTORS[kind], dtype.numpy
        return lambda a, b: np.asarray(on_vectors(a, b)).astype(numpy)
    on_ints = _ON_INTS[kind]
    if dtype.is_bool:
        return lambda a, b: bool(wrap(on_ints(int(a), int(b)), dtype))
    return on_ints if kind in (tir.Min, tir.Max, tir.FloorMod) else _wrapped(on_ints, dtype)


def converter(source: DataType, target: DataType) -> Callable[[Any], Any]:
    """How a value of one dtype becomes one of another."""
    if target.is_int and source.is_float:
        if target.lanes > 1:
            return lambda x: whole_numbers(np.asarray(x), target)
        near = 2.0**31
        return lambda x: wrap(int(x), target) if -near < float(x) < near else int(whole_numbers(np.asarray(x), target))
    if target.lanes > 1:
        numpy = target.numpy
        return lambda x: np.asarray(x).astype(numpy)
    if target.is_bool:
        return lambda x: bool(x != 0)
    if target.is_float:
        kind = target.numpy.type
        if source.kind == "uint" and source.bits == 64:  # of Python's integers some floats only take those of int64
            return lambda x: kind(np.uint64(x))
        return lambda x: kind(x)
    if target.is_int:
        return lambda x: wrap(int(x), target)
    raise InternalError(f"no conversion of {source} to {target}")


def from_numpy(value: Any, dtype: DataType) -> Any:
    """A NumPy result in the form values of `dtype` have here."""
    if dtype.lanes > 1:
        return np.asarray(value).astype(dtype.numpy)
    if dtype.is_bool:
        return bool(value)
    return int(value) if dtype.is_int else dtype.numpy.type(value)


def exact_pair(node: PrimExpr, a: Run, b: Run) -> Run:
    """The closure of a binary operation whose integers are not kept in the range of their dtype, and that fails where
    it divides by zero.
    """
    two = _EXACT.get(type(node))
    if two is None or not node.dtype.is_int or node.dtype.lanes > 1:
        return pair(node, a, b)
    return lambda env: two(a(env), b(env))


def pair(node: PrimExpr, a: Run, b: Run) -> Run:
    """The closure of a binary operation, with the most frequent ones written out."""
    kind, dtype = type(node), node.dtype
    if dtype.lanes > 1 or not (dtype.is_float or dtype.is_int) or kind not in (tir.Add, tir.Sub, tir.Mul):
        two = operation(node)
        return lambda env: two(a(env), b(env))
    if dtype.is_float:
        if kind is tir.Add:
            return lambda env: a(env) + b(env)
        return (lambda env: a(env) * b(env)) if kind is tir.Mul else (lambda env: a(env) - b(env))
    return _on_integers(kind, dtype, a, b)


def _on_integers(kind: type, dtype: DataType, a: Run, b: Run) -> Run:
    low, high = _limits(dtype)

    def plus(env: Env) -> Any:
        found = a(env) + b(env)
        return found if low <= found <= high else wrap(found, dtype)

    def minus(env: Env) -> Any:
        found = a(env) - b(env)
        return found if low <= found <= high else wrap(found, dtype)

    def times(env: Env) -> Any:
        found = a(env) * b(env)
        return found if low <= found <= high else wrap(found, dtype)

    return plus if kind is tir.Add else minus if kind is tir.Sub else times


def _limits(dtype: DataType) -> tuple[int, int]:
    signed = dtype.kind == "int"
    return -(1 << (dtype.bits - 1)) if signed else 0, (1 << (dtype.bits - signed)) - 1
