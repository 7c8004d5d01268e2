"""The functions users build calls with, for both languages, derived from the `OpDef`s: inputs in order, then
attributes.

    relax_op = relax_namespace(CATALOGUE);  relax_op.nn.softmax(x, axis=-1)  -> relax.Call
    relay_op = relay_namespace(CATALOGUE);  relay_op.nn.batch_norm(x, g, b, m, v)[0]  -> relay.TupleGetItem

An operator whose surface does not fit that scheme brings its own: `relax_builder(make, ...)` / `relay_builder(make,
...)`, plain functions whose first parameter is the maker of the language.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeVar

from baton._src.ir.node import set_note
from baton._src.ir.op_def import Definition
from baton._src.ir.operators import Operators
from baton._src.ops.call_maker import RelaxMaker, RelayMaker, operands_of
from baton._src.ops.catalogue import CATALOGUE, Catalogue
from baton._src.ops.composites import RELAX_COMPOSITES, RELAY_COMPOSITES
from baton._src.ops.namespace import Namespace
from baton._src.ops.op_builder import OpBuilder
from baton._src.ops.relax_surface import RELAX_SURFACES
from baton._src.ops.relay_surface import RELAY_SURFACES
from baton._src.ops.tuple_wrapper import TupleWrapper
from baton._src.relax import nodes as relax
from baton._src.relay import nodes as relay
from baton._src.support.spans import python_line

REQUIRED = inspect.Parameter.empty
_MAKERS: dict[str, type[RelaxMaker | RelayMaker]] = {"relax": RelaxMaker, "relay": RelayMaker}
_SURFACES = {"relax": RELAX_SURFACES, "relay": RELAY_SURFACES}
T = TypeVar("T")
_OVERLOADS = Operators.__module__
"""The module whose methods `x + y` calls, between the user's line and the builder."""


def signature(definition: Definition, language: str) -> inspect.Signature:
    """The signature of the derived builder."""
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


def derive(definition: Definition, language: str, catalogue: Catalogue) -> Callable[..., Any]:
    """The builder of one operator in one language."""
    make = _MAKERS[language](definition, catalogue)
    custom = definition.relay_builder if language == "relay" else definition.relax_builder
    found = _derived(definition, make) if custom is None else _custom(custom, make)
    name = _public_name(definition, language)
    found.__name__ = name.rpartition(".")[2]
    found.__qualname__ = name
    found.__doc__ = documentation(definition, language)
    return found


def _custom(custom: Callable[..., Any], make: OpBuilder) -> Callable[..., Any]:
    def builder(*args: Any, **kwargs: Any) -> Any:
        return located(custom(make, *args, **kwargs))

    original = inspect.signature(custom)
    vars(builder)["__signature__"] = original.replace(parameters=list(original.parameters.values())[1:])
    return builder


def _derived(definition: Definition, make: RelaxMaker | RelayMaker) -> Callable[..., Any]:
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


def located(made: T) -> T:
    """A builder's result with the span of the user's line that called the builder, for error messages."""
    node = made.tuple_value if isinstance(made, TupleWrapper) else made
    if isinstance(node, (relay.Call, relax.Call)) and node.span is None:
        line = python_line(2, through=_OVERLOADS)
        if line is not None:
            set_note(node, "span", line)
    return made


def documentation(definition: Definition, language: str) -> str:
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


def _public_name(definition: Definition, language: str) -> str:
    if language == "relay" and definition.relay_op is not None:
        return definition.relay_op.name
    return definition.name


def relax_namespace(catalogue: Catalogue) -> Namespace:
    """`relax.op`: every operator that Relax offers."""
    offered = {d.name: partial(derive, d, "relax", catalogue) for d in catalogue if d.in_relax}
    return _nested(offered, RELAX_COMPOSITES)


def relay_namespace(catalogue: Catalogue) -> Namespace:
    """`relay.op`: every operator that Relay offers."""
    offered = {d.relay_op.name: partial(derive, d, "relay", catalogue) for d in catalogue if d.relay_op is not None}
    return _nested(offered, RELAY_COMPOSITES)


def _nested(builders: Mapping[str, Callable[[], Any]], helpers: Mapping[str, Callable[..., Any]]) -> Namespace:
    """Namespaces of what makes `builders`, and of functions that compose them: `{"nn.relu": ..., "add": ...}`."""
    composed = {dotted: partial(_composed, dotted, helper, lambda: whole) for dotted, helper in helpers.items()}
    whole: Namespace = _as_namespace(as_tree({**builders, **composed}))
    return whole


def as_tree(flat: Mapping[str, Any]) -> dict[str, Any]:
    """What has dotted names as mappings in mappings: `{"nn.relu": f}` becomes `{"nn": {"relu": f}}`."""
    tree: dict[str, Any] = {}
    for dotted, entry in flat.items():
        *path, last = dotted.split(".")
        place = tree
        for part in path:
            place = place.setdefault(part, {})
        place[last] = entry
    return tree


def _as_namespace(tree: Mapping[str, Any]) -> Namespace:
    inner = {name: _as_namespace(entry) for name, entry in tree.items() if isinstance(entry, dict)}
    return Namespace(inner, {name: entry for name, entry in tree.items() if name not in inner})


def _composed(dotted: str, helper: Callable[..., Any], namespace: Callable[[], Namespace]) -> Any:
    """A function that composes operators of the namespace, at its dotted name."""
    builder = _custom(helper, namespace())
    builder.__name__, builder.__qualname__, builder.__doc__ = dotted.rpartition(".")[2], dotted, helper.__doc__
    return builder


RELAX = relax_namespace(CATALOGUE)
RELAY = relay_namespace(CATALOGUE)
