"""Calls of operators in either language, by neutral names: operands and attributes converted, defaults filled in.

    make = RelayMaker(catalogue.get("nn.relu"), catalogue);  make(x)  -> relay.Call
    make.op("multiply", x, make.const(2))                             -> a call of another operator

Builders of users (`builders`), gradients and passes make their calls by it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from baton._src.ir.attrs import Attrs
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.op_def import Definition, Input
from baton._src.ir.tensor_info import Dim
from baton._src.ops.arguments import (
    attribute,
    relax_argument,
    relax_constant,
    relay_argument,
    relay_constant,
    visible_dtype,
)
from baton._src.ops.catalogue import Catalogue
from baton._src.ops.op_builder import Given
from baton._src.ops.tuple_wrapper import TupleWrapper
from baton._src.relax import nodes as relax
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relay import nodes as relay
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.values.dtype import DataType

R = TypeVar("R")


class Maker(Generic[R]):
    """Makes calls of one operator in one language, each a `R`; what a custom builder gets as its first argument."""

    __slots__ = ("catalogue", "definition")
    language: ClassVar[str]

    def __init__(self, definition: Definition, catalogue: Catalogue) -> None:
        self.definition = definition
        self.catalogue = catalogue

    def __call__(self, *args: Given, **attrs: object) -> R:
        """A call with these operands (in the order of `inputs`; trailing Nones are left out) and attributes."""
        return self.call(self.definition, args, attrs)

    def op(self, name: str, *args: Given, **attrs: object) -> R:
        """A call of another operator, by its neutral name."""
        return self.call(self.catalogue.get(name), args, attrs)

    def const(self, value: object, dtype: object = None) -> GraphExpr:
        """A literal."""
        raise NotImplementedError

    def full_like(self, x: GraphExpr, value: float) -> R:
        """A tensor like `x` with `value` everywhere; a number of 64 bits only where 32 do not hold it."""
        dtype = "float32" if float(np.float32(value)) == value else "float64"
        return self.op("full_like", x, self.const(value, dtype))

    def swap_last(self, x: GraphExpr, ndim: int) -> R:
        """The last two of `ndim` axes exchanged."""
        return self.op("permute_dims", x, axes=(*range(ndim - 2), ndim - 1, ndim - 2))

    def call(self, definition: Definition, args: Sequence[Given], attrs: Mapping[str, object]) -> R:
        """The call itself, operands and attributes converted."""
        raise NotImplementedError

    def converted(
        self,
        definition: Definition,
        args: Sequence[Given],
        convert: Callable[[Given, Input, DataType | None], GraphExpr],
    ) -> list[GraphExpr]:
        """The operands as expressions; numbers take the dtype of the tensors beside them."""
        found = list(args)
        while found and found[-1] is None:
            found.pop()
        dtypes = [d for d in map(visible_dtype, found) if d is not None]
        beside = next((d for d in dtypes if not d.is_bool), dtypes[0] if dtypes else None)
        inputs = operands_of(definition, self.language)
        return [convert(a, i, beside) for a, i in zip(found, inputs, strict=False)]


class RelaxMaker(Maker[relax.Call]):
    """Makes calls of Relax."""

    __slots__ = ()
    language = "relax"

    def call(self, definition: Definition, args: Sequence[Given], attrs: Mapping[str, object]) -> relax.Call:
        operands, record = self.converted(definition, args, relax_argument), make_attrs(definition, attrs)
        return relax.Call(definition.relax_op, operands, None if record is None else record.in_relax())

    def const(self, value: object, dtype: object = None) -> relax.Constant:
        return relax_constant(value, dtype)

    def tuple(self, *fields: GraphExpr) -> relax.Tuple:
        """(fields...)"""
        return relax.Tuple(fields)

    def item(self, value: GraphExpr, index: int) -> relax.Expr:
        """value[index]; a field of a tuple in sight is taken out at once."""
        return value.fields[index] if isinstance(value, relax.Tuple) else relax.TupleGetItem(value, index)

    def shape(self, dims: Iterable[Dim]) -> relax.ShapeExpr:
        """A shape as an operand."""
        return relax.ShapeExpr(tuple(dims))

    def shape_of(self, x: GraphExpr) -> relax.Expr:
        """The shape of `x` as an operand: its dims where they are known, else read at run time."""
        info = x.struct_info_
        if isinstance(info, TensorStructInfo) and isinstance(info.shape, (relax.ShapeExpr, relax.Var)):
            return info.shape
        return relax.Call(special_op("shape_of"), [x])


class RelayMaker(Maker[relay.Call | TupleWrapper]):
    """Makes calls of Relay; several results are wrapped, so that they unpack."""

    __slots__ = ()
    language = "relay"

    def call(
        self, definition: Definition, args: Sequence[Given], attrs: Mapping[str, object]
    ) -> relay.Call | TupleWrapper:
        operands, record = self.converted(definition, args, relay_argument), make_attrs(definition, attrs)
        call = relay.Call(definition.relay_op, operands, record)
        outputs = definition.outputs
        count = outputs(record) if callable(outputs) else outputs
        return call if count is None else TupleWrapper(call, count)

    def const(self, value: object, dtype: object = None) -> relay.Constant:
        return relay_constant(value, dtype)


def operands_of(definition: Definition, language: str) -> tuple[Input, ...]:
    """The inputs that a language passes as arguments."""
    return tuple(i for i in definition.inputs if language in i.languages)


def make_attrs(definition: Definition, values: Mapping[str, object]) -> Attrs | None:
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
        made: Attrs = definition.attrs(**given)
        return made
    except DiagnosticError as error:
        place = f"in the attributes of {definition.name}"
        raise type(error)([found.within(place) for found in error.diagnostics]) from error
    except (TypeError, ValueError) as error:  # a string for a number, a number for a list
        shown = ", ".join(f"{name}={content!r}" for name, content in given.items())
        message = f"{definition.name} cannot have these attributes: {error}"
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise fail("op-attribute", message, help=f"they are: {shown}", kind=kind) from error


def _check_kinds(definition: Definition, given: Mapping[str, object]) -> None:
    """Check that attributes declared as numbers, truth values or strings are such; symbolic sizes are refused."""
    for field in dataclasses.fields(definition.attrs):
        declared = definition.attrs.kinds[field.name]
        kind = _missed_kind(field, declared, given[field.name]) if field.name in given else None
        if kind is not None:
            message = f"{definition.name}: {field.name} is {kind}, got {given[field.name]!r}"
            raise fail("op-attribute", message, help=field.metadata.get("doc") or None, kind=TypeError)


def _missed_kind(field: dataclasses.Field[Any], declared: str, value: object) -> str | None:
    """The kind an attribute should have, if it has another; else None. A string that may be left out may be None."""
    if declared == "int" and (isinstance(value, bool) or not isinstance(value, int)):
        return "a number that is known when compiling" if isinstance(value, PrimExpr) else "an integer"
    if declared in ("float", "bool"):
        named = "a number" if declared == "float" else "a truth value"
        return None if isinstance(value, (int, float) if declared == "float" else int) else named
    left_out = value is None and field.default is not dataclasses.MISSING
    return "a text" if declared == "str" and not (left_out or isinstance(value, str)) else None
