"""Literals of Relax (`tvm.relax.const` and the script namespace `R`, v0.19), and Python values as expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.relax.check.report import API
from baton._src.relax.nodes import Constant, DataTypeImm, PrimValue, ShapeExpr, StringImm, Tuple
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.diagnostics import fail
from baton._src.tir.expr import IntImm, literal
from baton._src.values.dtype import DataType
from baton._src.values.prim import prim_dtype
from baton._src.values.tensor import NDArray, array, literal_dtype


def const(value: Any, dtype: object = None) -> Constant:
    """A tensor literal. Without `dtype`, Python's ints become int32 and its floats float32.

    NumPy arrays of 64-bit elements are narrowed as well, as in TVM; integers that do not fit, and `NDArray`s, stay as
    they are. A `TensorStructInfo` may stand for its dtype; error `relax-api` if the literal has another shape.
    """
    if isinstance(dtype, TensorStructInfo):
        described = const(value, dtype.dtype)
        if not _fits(described.data.shape, dtype):
            raise fail(API, f"a literal of shape {tuple(described.data.shape)} is no {dtype}")
        return described
    if isinstance(value, NDArray):
        return Constant(value if dtype is None or value.dtype == dtype else array(value.data, dtype=dtype))
    found = np.asarray(value)
    wanted = literal_dtype(found) if dtype is None else dtype
    if wanted is not None and DataType(wanted).kind in ("void", "handle"):
        raise fail(API, f"a constant cannot have dtype {DataType(wanted)}")
    if found.dtype == object or found.dtype.kind in "US":
        raise fail(API, f"{value!r} is not an array of numbers")
    return Constant(array(found, dtype=wanted))


def _fits(sizes: Sequence[int], info: TensorStructInfo) -> bool:
    """Whether a tensor of these sizes may be one that `info` describes."""
    if info.ndim not in (-1, len(sizes)):
        return False
    dims = info.shape.values if isinstance(info.shape, ShapeExpr) else ()
    return all(not isinstance(dim, IntImm) or dim.value == size for dim, size in zip(dims, sizes))


def shape(values: Any) -> ShapeExpr:
    """A shape literal."""
    return ShapeExpr(values)


def prim_value(value: Any) -> PrimValue:
    """A host scalar: ints become int64, floats float32."""
    if isinstance(value, PrimValue):
        return value
    if not isinstance(value, (PrimExpr, bool, int, float, np.bool_, np.integer, np.floating)):
        raise fail(API, f"a prim value is a number, got {value!r}")
    return PrimValue(float(value) if isinstance(value, np.floating) else value)


def host_value(value: bool | int | float) -> PrimValue:
    """The literal for a run-time scalar: there, Python floats are float64."""
    return PrimValue(literal(value, prim_dtype(value)))


def string(value: str) -> StringImm:
    """A string literal (`R.str`)."""
    return StringImm(value)


def dtype_value(value: object) -> DataTypeImm:
    """A data type as a value (`R.dtype`)."""
    return DataTypeImm(value)


def make_tuple(*fields: Any) -> Tuple:
    """A tuple (`R.tuple`)."""
    return Tuple([as_expr(f) for f in fields])


def as_expr(value: Any) -> Any:
    """A Python value as an expression: sequences as tuples, numbers as prim values, strings as strings."""
    if isinstance(value, GraphExpr):
        return value
    if isinstance(value, (tuple, list)):
        return Tuple([as_expr(v) for v in value])
    if isinstance(value, str):
        return StringImm(value)
    return prim_value(value)
