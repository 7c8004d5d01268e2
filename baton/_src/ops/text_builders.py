"""`RELAX_TEXT`: the operators as Relax's text spells them, so that whatever is printed can be read.

Modules that come from Relay hold more than `relax.op` offers: operators that are Relay's alone (`R.log2`), and
attributes that are, which stand in one argument of their own:

    R.nn.conv2d(x, w, relay_attrs={"channels": 64, "kernel_size": [3, 3]})
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from baton._src.ir.op_def import Definition
from baton._src.ops.arguments import attribute
from baton._src.ops.builders import RELAX, derive
from baton._src.ops.catalogue import CATALOGUE, Catalogue
from baton._src.ops.namespace import Namespace
from baton._src.relax.nodes import Call
from baton._src.support.diagnostics import fail

RELAY_ATTRS = "relay_attrs"
"""The argument that holds a call's attributes which only Relay spells out."""


def relay_only(definition: Definition) -> tuple[str, ...]:
    """The attributes of an operator that Relax's builders do not have."""
    fields = dataclasses.fields(definition.attrs)
    return tuple(f.name for f in fields if "relax" not in f.metadata.get("languages", ("relax",)))


def text_namespace(catalogue: Catalogue, offered: Namespace) -> dict[str, Any]:
    """The builders of `offered`, those of Relay's own operators, and `relay_attrs` wherever it can stand: by dotted
    name."""
    found = dict(_flat(offered))
    for definition in catalogue:
        builder = found[definition.name] if definition.name in found else derive(definition, "relax", catalogue)
        found[definition.name] = _with_relay_attrs(builder, definition)
    return found


def _flat(names: Namespace, prefix: str = "") -> list[tuple[str, Any]]:
    return [
        row
        for name, entry in names.items()
        for row in (_flat(entry, f"{prefix}{name}.") if isinstance(entry, Namespace) else [(f"{prefix}{name}", entry)])
    ]


def _with_relay_attrs(builder: Callable[..., Any], definition: Definition) -> Callable[..., Any]:
    known = relay_only(definition)
    if not known:
        return builder

    def read(*args: Any, **kwargs: Any) -> Any:
        said: Mapping[str, Any] = kwargs.pop(RELAY_ATTRS, {})
        made = builder(*args, **kwargs)
        if not said:
            return made
        unknown = [name for name in said if name not in known]
        if unknown or not isinstance(made, Call):
            what = unknown[0] if unknown else RELAY_ATTRS
            raise fail("op-attribute", f"{definition.name} has no Relay attribute {what!r}", help=", ".join(known))
        changes = {name: attribute(value) for name, value in said.items()}
        return made.with_fields(attrs=made.attrs.with_attrs(**changes))

    read.__name__ = read.__qualname__ = builder.__name__
    read.__doc__ = builder.__doc__
    vars(read)["__signature__"] = inspect.signature(builder)
    return read


RELAX_TEXT = text_namespace(CATALOGUE, RELAX)
