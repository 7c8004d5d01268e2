"""`relay.var`: variables from shapes and dtypes."""

from __future__ import annotations

from typing import Any

from baton._src.ir.types import TensorType, not_a_dim
from baton._src.relay.nodes.expressions import Var
from baton._src.support.diagnostics import fail
from baton._src.support.spans import Span
from baton._src.tir.expr import literal
from baton._src.values.dtype import DataType


def var(
    name_hint: str,
    type_annotation: Any = None,
    shape: Any = None,
    dtype: object = "float32",
    span: Span | None = None,
) -> Var:
    """A variable. With `shape` (ints, PrimExprs or `relay.Any()`) a tensor of `dtype`; without, its type is inferred.

    A string as `type_annotation` is the dtype of a scalar. Source: `relay.var`, seed 003.
    """
    if type_annotation is not None and shape is not None:
        raise fail("api", "relay.var takes either a type or a shape, not both", kind=ValueError)
    if shape is not None:
        type_annotation = TensorType(tensor_shape(shape), DataType(dtype))
    elif isinstance(type_annotation, str):
        type_annotation = TensorType((), DataType(type_annotation))
    return Var(name_hint, type_annotation, span=span)


def tensor_shape(shape: Any) -> Any:
    """Dims as PrimExprs: ints become int32 immediates. Error: `api` for strings and floats."""
    dims = shape if isinstance(shape, (tuple, list)) else (shape,)
    for dim in dims:
        if isinstance(dim, (str, float)):
            raise not_a_dim(dim)
    return tuple(literal(d) for d in dims)
