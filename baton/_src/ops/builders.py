"""The functions users build calls with, for both languages, derived from the `OpDef`s: inputs in order, then
attributes.

    relax_op = relax_namespace(CATALOGUE);  relax_op.nn.softmax(x, axis=-1)  -> relax.Call
    relay_op = relay_namespace(CATALOGUE);  relay_op.nn.batch_norm(x, g, b, m, v)[0]  -> relay.TupleGetItem

An operator whose surface does not fit that scheme brings its own: `relax_builder(make, ...)` / `relay_builder(make,
...)`, plain functions whose first parameter is the `Maker` of the language.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import set_note
from baton._src.ir.op_def import Input, OpDef
from baton._src.ops.arguments import (
    attribute,
    relax_argument,
    relax_constant,
    relay_argument,
    relay_constant,
    visible_dtype,
)
from baton._src.ops.catalogue import CATALOGUE, Catalogue
from baton._src.ops.composites import RELAX_COMPOSITES, RELAY_COMPOSITES
from baton._src.ops.relax_surface import RELAX_SURFACES
from baton._src.ops.relay_surface import RELAY_SURFACES
from baton._src.ops.tuple_wrapper import TupleWrapper
from baton._src.relax import nodes as relax
from baton._src.relax.special_ops import special_op
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.relay import nodes as relay
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.support.spans import python_line
from baton._src.values.dtype import DataType

REQUIRED = inspect.Parameter.empty
_SURFACES = {"relax": RELAX_SURFACES, "relay": RELAY_SURFACES}
_OVERLOADS = "baton._src.ir.expr"
"""The module whose methods `x + y` calls, between the user's line and the builder."""


class Namespace:
    """Builder functions by name, nested as the operators' names are (`nn.relu`)."""

    def __init__(self, entries: Mapping[str, Any]) -> None:
        self.__dict__.update(entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.__dict__)

    def __getitem__(self, name: str) -> Any:
        return self.__dict__[name]

    def __contains__(self, name: object) -> bool:
        return name in self.__dict__

    def items(self) -> Iterator[tuple[str, Any]]:
        return iter(self.__dict__.items())

    def find(self, dotted: str) -> Any:
        """`find("nn.relu")`; None if there is no such builder."""
        found: Any = self
        for part in dotted.split("."):
            found = found.__dict__.get(part) if isinstance(found, Namespace) else None
        return found


class Maker:
    """Makes calls of one operator in one language; what a custom builder gets as its first argument."""

    __slots__ = ("catalogue", "definition", "language")

    def __init__(self, language: str, definition: OpDef[Any], catalogue: Catalogue) -> None:
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
        """A tensor like `x` with `value` everywhere."""
        return self.op("full_like", x, self.const(float(value), "float32"))

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

    def call(self, definition: OpDef[Any], args: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """The call itself, operands and attributes converted."""
        inputs = operands_of(definition, self.language)
        found = list(args)
        while found and found[-1] is None:
            found.pop()
        beside = next((d for d in map(visible_dtype, found) if d is not None), None)
        converted = [self._argument(a, i, beside) for a, i in zip(found, inputs, strict=False)]
        record = make_attrs(definition, attrs)
        if self.language == "relax":
            return relax.Call(definition.relax_op, converted, record)
        call = relay.Call(definition.relay_op, converted, record)
        if definition.outputs is None:
            return call
        count = definition.outputs if isinstance(definition.outputs, int) else definition.outputs(record)
        return call if count is None else TupleWrapper(call, count)

    def _argument(self, value: Any, operand: Input, beside: DataType | None) -> Any:
        if self.language == "relay":
            return relay_argument(value, operand, beside)
        return relax_argument(value, operand, beside)


def operands_of(definition: OpDef[Any], language: str) -> tuple[Input, ...]:
    """The inputs that a language passes as arguments."""
    return tuple(i for i in definition.inputs if language in i.languages)


def make_attrs(definition: OpDef[Any], values: Mapping[str, Any]) -> Any:
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


def _check_kinds(definition: OpDef[Any], given: Mapping[str, Any]) -> None:
    """Check that attributes declared as integers or strings are such: bools and symbolic sizes are refused."""
    for field in dataclasses.fields(definition.attrs):
        kind = _missed_kind(field, given[field.name]) if field.name in given else None
        if kind is not None:
            message = f"{definition.name}: {field.name} is {kind}, got {given[field.name]!r}"
            raise fail("op-attribute", message, help=field.metadata.get("doc") or None, kind=TypeError)


def _missed_kind(field: dataclasses.Field[Any], value: Any) -> str | None:
    """The kind an attribute should have, if it has another; else None. A string that may be left out may be None."""
    if field.type == "int" and (isinstance(value, bool) or not isinstance(value, int)):
        return "a number that is known when compiling" if isinstance(value, PrimExpr) else "an integer"
    left_out = value is None and field.default is not dataclasses.MISSING
    return "a text" if field.type == "str" and not (left_out or isinstance(value, str)) else None


def signature(definition: OpDef[Any], language: str) -> inspect.Signature:
    """What the derived builder takes."""
    parameters: list[inspect.Parameter] = []
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for operand in operands_of(definition, language):
        default = operand.default if operand.optional or operand.default is not None else REQUIRED
        parameters.append(inspect.Parameter(operand.named(language), kind, default=default))
    for field in dataclasses.fields(definition.attrs):
        taken = any(parameter.name == field.name for parameter in parameters)
        if not taken and language in field.metadata.get("languages", ("relay", "relax")):
            missing = field.default is dataclasses.MISSING
            parameters.append(inspect.Parameter(field.name, kind, default=REQUIRED if missing else field.default))
    seen_default = False
    for position, parameter in enumerate(parameters):
        seen_default = seen_default or parameter.default is not REQUIRED
        if seen_default and parameter.default is REQUIRED:
            parameters[position] = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
    derived = inspect.Signature(sorted(parameters, key=lambda p: p.kind))
    surface = _SURFACES[language].get(definition.name)
    return derived if surface is None else surface.applied(derived)


def derive(definition: OpDef[Any], language: str, catalogue: Catalogue) -> Callable[..., Any]:
    """The builder of one operator in one language."""
    make = Maker(language, definition, catalogue)
    custom = definition.relay_builder if language == "relay" else definition.relax_builder
    found = _derived(definition, make) if custom is None else _custom(custom, make)
    name = _public_name(definition, language)
    found.__name__ = name.rpartition(".")[2]
    found.__qualname__ = name
    found.__doc__ = documentation(definition, language)
    return found


def _custom(custom: Callable[..., Any], make: Any) -> Callable[..., Any]:
    def builder(*args: Any, **kwargs: Any) -> Any:
        return located(custom(make, *args, **kwargs))

    original = inspect.signature(custom)
    vars(builder)["__signature__"] = original.replace(parameters=list(original.parameters.values())[1:])
    return builder


def _derived(definition: OpDef[Any], make: Maker) -> Callable[..., Any]:
    shape = signature(definition, make.language)
    operands = [(i.named(make.language), i.default) for i in operands_of(definition, make.language)]
    positional = [p.name for p in shape.parameters.values() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    required = [p.name for p in shape.parameters.values() if p.default is REQUIRED]
    title = _public_name(definition, make.language)
    surface = _SURFACES[make.language].get(definition.name)
    own_defaults = {} if surface is None else surface.defaults

    def builder(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(positional):
            raise TypeError(f"{title}() takes {len(positional)} positional arguments, got {len(args)}")
        given = dict(zip(positional, args))
        for name, value in kwargs.items():
            if name not in shape.parameters:
                near = get_close_matches(name, shape.parameters, n=1)
                guess = f"; did you mean {near[0]!r}?" if near else ""
                raise TypeError(f"{title}() has no parameter {name!r}; it takes {shape}{guess}")
            if name in given:
                raise TypeError(f"{title}() got {name!r} twice")
            given[name] = value
        missing = [name for name in required if name not in given]
        if missing:
            raise TypeError(f"{title}() is missing {', '.join(missing)}; it takes {shape}")
        given = {**own_defaults, **given}
        if "out_layout" in own_defaults and given["out_layout"] is None:  # None: as the data
            name = "layout" if "layout" in shape.parameters else "data_layout"
            given["out_layout"] = given.get(name) or shape.parameters[name].default
        values = tuple(given.pop(name, default) for name, default in operands)
        said = definition.attrs.said_in_relay(given) if make.language == "relay" else given
        return located(make.call(definition, values, said))

    vars(builder)["__signature__"] = shape
    return builder


def located(made: Any) -> Any:
    """What a builder made, with the line of the user's program that called the builder, for error messages."""
    node = made.tuple_value if isinstance(made, TupleWrapper) else made
    if isinstance(node, (relay.Call, relax.Call)) and node.span is None:
        line = python_line(2, through=_OVERLOADS)
        if line is not None:
            set_note(node, "span", line)
    return made


def documentation(definition: OpDef[Any], language: str) -> str:
    """The docstring of a builder: what the operator does, its operands and attributes."""
    lines = [definition.doc, ""]
    operands = operands_of(definition, language)
    if operands:
        lines += ["Operands:"] + [f"    {i.named(language)}: {i.doc or i.kind}" for i in operands] + [""]
    fields = [
        f for f in dataclasses.fields(definition.attrs) if language in f.metadata.get("languages", ("relay", "relax"))
    ]
    if fields:
        lines += ["Attributes:"] + [f"    {f.name}: {f.metadata.get('doc', '')}".rstrip(": ") for f in fields]
    return "\n".join(lines).rstrip()


def _public_name(definition: OpDef[Any], language: str) -> str:
    if language == "relay" and definition.relay_op is not None:
        return definition.relay_op.name
    return definition.name


def _nest(builders: Mapping[str, Callable[..., Any]]) -> Namespace:
    """`{"nn.relu": f, "add": g}` as nested namespaces."""
    tree: dict[str, Any] = {}
    for dotted, builder in builders.items():
        *path, last = dotted.split(".")
        place = tree
        for part in path:
            place = place.setdefault(part, {})
        place[last] = builder
    return _as_namespace(tree)


def _as_namespace(tree: Mapping[str, Any]) -> Namespace:
    return Namespace({name: _as_namespace(v) if isinstance(v, dict) else v for name, v in tree.items()})


def relax_namespace(catalogue: Catalogue) -> Namespace:
    """`relax.op`: every operator that Relax offers."""
    found = _nest({d.name: derive(d, "relax", catalogue) for d in catalogue if d.in_relax})
    return _with_helpers(found, RELAX_COMPOSITES)


def relay_namespace(catalogue: Catalogue) -> Namespace:
    """`relay.op`: every operator that Relay offers."""
    found = _nest({d.relay_op.name: derive(d, "relay", catalogue) for d in catalogue if d.relay_op is not None})
    return _with_helpers(found, RELAY_COMPOSITES)


def _with_helpers(namespace: Namespace, helpers: Mapping[str, Callable[..., Any]]) -> Namespace:
    """The namespace, with functions that compose its operators, at their (dotted) names."""
    for dotted, helper in helpers.items():
        parent, _, name = dotted.rpartition(".")
        builder = _custom(helper, namespace)
        builder.__name__, builder.__qualname__, builder.__doc__ = name, dotted, helper.__doc__
        place = namespace.find(parent) if parent else namespace
        place.__dict__[name] = builder
    return namespace


RELAX = relax_namespace(CATALOGUE)
RELAY = relay_namespace(CATALOGUE)
