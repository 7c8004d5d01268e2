"""Calls of operators in either language, by neutral names: operands and attributes converted, defaults filled in.

    make = Maker("relay", catalogue.get("nn.relu"), catalogue);  make(x)  -> relay.Call
    make.op("multiply", x, make.const(2))                                 -> a call of another operator

Builders of users (`builders`), gradients and passes make their calls by it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.ir.op_def import Definition, Input
from baton._src.ops.arguments import (
    attribute,
    relax_argument,
    relax_constant,
    relay_argument,
    relay_constant,
    visible_dtype,
)
from baton._src.ops.catalogue import Catalogue
from baton._src.ops.tuple_wrapper import TupleWrapper
from baton._src.relax import nodes as relax
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relay import nodes as relay
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.values.dtype import DataType


class Maker:
    """Makes calls of one operator in one language; what a custom builder gets as its first argument."""

    __slots__ = ("catalogue", "definition", "language")

    def __init__(self, language: str, definition: Definition, catalogue: Catalogue) -> None:
        self.language = language
        self.definition = definition
        self.catalogue = catalogue

    def __call__(self, *args: Any, **attrs: Any) -> Any:
        """A call with these operands (in the order of `inputs`; trailing Nones are left out) and attributes."""
        return self.call(self.definition, args, attrs)

    def op(self, name: str, *args: Any, **attrs: Any) -> Any:
        """A call of another operator, by its neutral name."""
        return self.call(self.catalogue.get(name), args, attrs)

    def const(self, value: Any, dtype: object = None) -> Any:
        """A literal."""
        return relay_constant(value, dtype) if self.language == "relay" else relax_constant(value, dtype)

    def full_like(self, x: Any, value: float) -> Any:
        """A tensor like `x` with `value` everywhere; a number of 64 bits only where 32 do not hold it."""
        dtype = "float32" if float(np.float32(value)) == value else "float64"
        return self.op("full_like", x, self.const(value, dtype))

    def tuple(self, *fields: Any) -> Any:
        """(fields...)"""
        return relay.Tuple(fields) if self.language == "relay" else relax.Tuple(fields)

    def item(self, value: Any, index: int) -> Any:
        """value[index]; a field of a tuple in sight is taken out at once."""
        if isinstance(value, TupleWrapper):
            return value[index]
        if isinstance(value, (relay.Tuple, relax.Tuple)):
            return value.fields[index]
        return relay.TupleGetItem(value, index) if self.language == "relay" else relax.TupleGetItem(value, index)

    def shape(self, dims: Any) -> Any:
        """A shape as an operand (Relax)."""
        return relax.ShapeExpr(tuple(dims))

    def shape_of(self, x: Any) -> Any:
        """The shape of `x` as an operand (Relax): its dims where they are known, else read at run time."""
        info = x.struct_info_
        if isinstance(info, TensorStructInfo) and isinstance(info.shape, (relax.ShapeExpr, relax.Var)):
            return info.shape
        return relax.Call(special_op("shape_of"), [x])

    def swap_last(self, x: Any, ndim: int) -> Any:
        """The last two of `ndim` axes exchanged."""
        return self.op("permute_dims", x, axes=(*range(ndim - 2), ndim - 1, ndim - 2))

    def call(self, definition: Definition, args: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """The call itself, operands and attributes converted."""
        inputs = operands_of(definition, self.language)
        found = list(args)
        while found and found[-1] is None:
            found.pop()
        dtypes = [d for d in map(visible_dtype, found) if d is not None]
        beside = next((d for d in dtypes if not d.is_bool), dtypes[0] if dtypes else None)
        converted = [self._argument(a, i, beside) for a, i in zip(found, inputs, strict=False)]
        record = make_attrs(definition, attrs)
        if self.language == "relax":
            return relax.Call(definition.relax_op, converted, None if record is None else record.in_relax())
        call = relay.Call(definition.relay_op, converted, record)
        if definition.outputs is None:
            return call
        count = definition.outputs if isinstance(definition.outputs, int) else definition.outputs(record)
        return call if count is None else TupleWrapper(call, count)

    def _argument(self, value: Any, operand: Input, beside: DataType | None) -> Any:
        if self.language == "relay":
            return relay_argument(value, operand, beside)
        return relax_argument(value, operand, beside)


def operands_of(definition: Definition, language: str) -> tuple[Input, ...]:
    """The inputs that a language passes as arguments."""
    return tuple(i for i in definition.inputs if language in i.languages)


def make_attrs(definition: Definition, values: Mapping[str, Any]) -> Any:
    """The attribute record of a call; None for an operator without attributes."""
    if not definition.attrs.names:
        if values:
            raise TypeError(f"{definition.name} has no attribute {next(iter(values))!r}")
        return None
    unknown = [name for name in values if name not in definition.attrs.names]
    if unknown:
        known = ", ".join(definition.attrs.names)
        raise TypeError(f"{definition.name} has no attribute {unknown[0]!r}; it has {known}")
    given = {name: attribute(value) for name, value in values.items()}
    _check_kinds(definition, given)
    try:
        return definition.attrs(**given)
    except DiagnosticError as error:
        place = f"in the attributes of {definition.name}"
        raise type(error)([found.within(place) for found in error.diagnostics]) from error
    except (TypeError, ValueError) as error:  # a string for a number, a number for a list
        shown = ", ".join(f"{name}={content!r}" for name, content in given.items())
        message = f"{definition.name} cannot have these attributes: {error}"
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise fail("op-attribute", message, help=f"they are: {shown}", kind=kind) from error


def _check_kinds(definition: Definition, given: Mapping[str, Any]) -> None:
    """Check that attributes declared as numbers, truth values or strings are such; symbolic sizes are refused."""
    for field in dataclasses.fields(definition.attrs):
        declared = definition.attrs.kinds[field.name]
        kind = _missed_kind(field, declared, given[field.name]) if field.name in given else None
        if kind is not None:
            message = f"{definition.name}: {field.name} is {kind}, got {given[field.name]!r}"
            raise fail("op-attribute", message, help=field.metadata.get("doc") or None, kind=TypeError)


def _missed_kind(field: dataclasses.Field[Any], declared: str, value: Any) -> str | None:
    """The kind an attribute should have, if it has another; else None. A string that may be left out may be None."""
    if declared == "int" and (isinstance(value, bool) or not isinstance(value, int)):
        return "a number that is known when compiling" if isinstance(value, PrimExpr) else "an integer"
    if declared in ("float", "bool"):
        named = "a number" if declared == "float" else "a truth value"
        return None if isinstance(value, (int, float) if declared == "float" else int) else named
    left_out = value is None and field.default is not dataclasses.MISSING
    return "a text" if declared == "str" and not (left_out or isinstance(value, str)) else None
