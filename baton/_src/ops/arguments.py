"""Convert what users may pass for an operand or attribute to the form stored in a call.

Relay: numbers, arrays and lists become constants, lists of tensors a tuple. Relax: the same, and scalars, dims and
shapes become PrimValues and ShapeExprs. A number given with a tensor of known dtype takes that dtype, if it stays the
number it is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.op_def import Input
from baton._src.ir.types import TensorType
from baton._src.ops.tuple_wrapper import TupleWrapper
from baton._src.relax import nodes as relax
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relay import nodes as relay
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.tir import expr as tir
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray, array, literal_dtype


def as_ndarray(value: object, dtype: object = None) -> NDArray:
    """A constant's contents. Python numbers and lists: float32, int32 (int64 if they do not fit), bool; arrays keep
    theirs.
    """
    if isinstance(value, NDArray):
        return value if dtype is None or value.dtype == dtype else array(value, dtype=dtype)
    if dtype is None and not isinstance(value, (np.ndarray, np.generic)):
        try:
            found = np.array(value)
        except ValueError as error:
            raise fail(
                "value-mismatch", f"no tensor can be made of {str(value)[:60]}: its rows differ in length"
            ) from error
        return array(found, dtype=literal_dtype(found))
    return array(value, dtype=dtype)


def relay_constant(value: object, dtype: object = None, span: Span | None = None) -> relay.Constant:
    """A literal of Relay."""
    return relay.Constant(as_ndarray(value, dtype), span=span)


def relax_constant(value: object, dtype: object = None) -> relax.Constant:
    """A literal of Relax, its struct info known."""
    data = as_ndarray(value, dtype)
    return relax.Constant(data, TensorStructInfo(data.shape, data.dtype))


def relay_argument(value: object, operand: Input, beside: DataType | None = None) -> GraphExpr:
    """An operand of a Relay call."""
    if isinstance(value, GraphExpr):
        return value
    if isinstance(value, TupleWrapper):
        return value.astuple()
    if operand.kind == "tensors" and isinstance(value, (list, tuple, Iterator)):
        each = Input(operand.name)
        return relay.Tuple([relay_argument(v, each) for v in value])
    if isinstance(value, (tir.IntImm, tir.FloatImm)):
        return relay_constant(value.value, value.dtype)
    if isinstance(value, (bool, int, float, list, tuple, np.ndarray, np.generic, NDArray)):
        return relay_constant(value, _dtype_of_number(value, beside))
    raise _unusable(value, operand, "Relay")


def relax_argument(value: object, operand: Input, beside: DataType | None = None) -> GraphExpr:
    """An operand of a Relax call."""
    if isinstance(value, GraphExpr):
        return value
    if operand.kind == "tensors" and isinstance(value, (list, tuple)):
        return relax.Tuple([relax_argument(v, Input(operand.name)) for v in value])
    if operand.kind == "shape":
        return _relax_shape(value, operand)
    if operand.kind == "prims" and isinstance(value, (list, tuple)):
        return relax.Tuple([_relax_prim(v, operand) for v in value])
    if operand.kind == "prims":
        return relax.Tuple([_relax_prim(value, operand)])
    if operand.kind == "prim" or isinstance(value, PrimExpr):
        return _relax_prim(value, operand)
    if isinstance(value, (bool, int, float, list, tuple, np.ndarray, np.generic, NDArray)):
        return relax_constant(value, _dtype_of_number(value, beside))
    raise _unusable(value, operand, "Relax")


def _dtype_of_number(value: object, beside: DataType | None) -> DataType | None:
    """The dtype that a number takes from a tensor `beside` it; None: its own, as bools hold no numbers, integers no
    fractions.
    """
    if beside is None or not isinstance(value, (int, float)):
        return None
    whole = isinstance(value, int) or value.is_integer()
    fits = isinstance(value, bool) if beside.is_bool else beside.is_float or whole
    return beside if fits else None


def _relax_prim(value: object, operand: Input) -> relax.Expr:
    if isinstance(value, relax.Expr):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float, PrimExpr)):
        return relax.PrimValue(value)
    raise _unusable(value, operand, "Relax")


def _relax_shape(value: object, operand: Input) -> relax.ShapeExpr:
    if isinstance(value, (int, PrimExpr, np.integer)):
        value = (value,)
    if isinstance(value, (list, tuple, np.ndarray)):
        return relax.ShapeExpr([d.value if isinstance(d, relax.PrimValue) else d for d in value])
    raise _unusable(value, operand, "Relax")


def _unusable(value: object, operand: Input, language: str) -> Exception:
    return fail(
        "op-argument",
        f"{operand.name}: a {language} operator cannot take a {type(value).__name__}: {value!r}",
        help="pass an expression, an array or a number",
        kind=TypeError,
    )


def visible_dtype(value: object) -> DataType | None:
    """The dtype of a tensor expression where it can be read off without inference."""
    if not isinstance(value, GraphExpr):
        return None
    found = value.struct_info_ or value.checked_type_
    if found is None and isinstance(value, relay.Var):
        found = value.type_annotation
    if found is None and isinstance(value, (relay.Constant, relax.Constant)):
        return value.data.dtype
    if isinstance(found, (TensorType, TensorStructInfo)) and not found.dtype.is_void:
        return found.dtype
    return None


def attribute(value: object) -> object:
    """An attribute's contents in plain Python: lists as tuples, literals and NumPy scalars as numbers."""
    if isinstance(value, (str, bool, int, float)) or value is None:
        return value
    if isinstance(value, (list, tuple)):
        return tuple(attribute(v) for v in value)
    if isinstance(value, (tir.IntImm, tir.FloatImm, tir.StringImm)):
        return bool(value.value) if value.dtype.is_bool else value.value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return attribute(value.tolist())
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return DataType(value)
    if isinstance(value, (relax.PrimValue, relax.StringImm, relax.DataTypeImm)):
        return attribute(value.value)
    if isinstance(value, relax.ShapeExpr):
        return tuple(attribute(v) for v in value.values)
    if isinstance(value, (relay.Constant, relax.Constant)):
        return attribute(value.data.data.tolist())
    return value
