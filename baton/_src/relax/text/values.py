"""Python values (attributes of calls, functions and modules) as literals that read back to the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs
from baton._src.ir.expr import PrimExpr
from baton._src.ir.global_info import DummyGlobalInfo, VDevice
from baton._src.ir.target import Target
from baton._src.relax.text.scalars import scalar_text
from baton._src.support.python_text import tuple_text
from baton._src.tir.index_map import IndexMap, index_map_text
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray


def value_text(value: Any, scalar: Callable[[PrimExpr], str], tensor: Callable[[NDArray], str]) -> str:
    """`value` as an expression; `scalar` and `tensor` print what they hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, str):
        return quoted(str(value))
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f'float("{value!r}")'
    if isinstance(value, (tuple, list)):
        parts = [value_text(v, scalar, tensor) for v in value]
        return f"[{', '.join(parts)}]" if isinstance(value, list) else tuple_text(parts)
    if isinstance(value, dict):
        inner = ", ".join(f"{value_text(k, scalar, tensor)}: {value_text(v, scalar, tensor)}" for k, v in value.items())
        return "{" + inner + "}"
    if isinstance(value, PrimExpr):
        return scalar(value)
    if isinstance(value, (NDArray, np.ndarray)):
        return tensor(value if isinstance(value, NDArray) else NDArray(value))
    if isinstance(value, DataType):
        return quoted(str(value))
    if isinstance(value, IndexMap):
        return index_map_text(value, lambda index: scalar_text(index, lambda var: var.name))
    if isinstance(value, Target):
        host = "" if value.host is None else f", host={quoted(str(value.host))}"
        return f"T.target({quoted(str(value))}{host})"
    if isinstance(value, (VDevice, DummyGlobalInfo)):
        return value.script()
    return repr(value)


def quoted(text: str) -> str:
    """A string literal in double quotes, as TVMScript writes them."""
    body = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{body}"'


def _same(value: Any, default: Any) -> bool:
    """Whether two values are equal and of one kind: True is no 1, and 1.0 none either."""
    alike = isinstance(value, type(default)) and isinstance(value, bool) is isinstance(default, bool)
    return alike and value == default


def attr_arguments(record: Attrs | None, text: Callable[[Any], str]) -> list[str]:
    """The attributes of a call as keyword arguments, sequences as lists.

    Attributes that TVM has are always shown, as TVM does; others only where they differ from the default. Those that
    only Relay's calls spell out are in `relay_attrs={...}`, since operands of Relax may have the same names.
    """
    if record is None:
        return []
    found: list[str] = []
    foreign: list[str] = []
    fields = getattr(type(record), "__dataclass_fields__", {})
    for name in record.relax_order or record.names:
        value = getattr(record, name)
        told, default = fields[name].metadata, fields[name].default
        shown = "relax" in told.get("languages", ("relax",))
        if told.get("same_as"):
            continue
        quiet = not shown or told.get("beyond", False)
        if quiet and (value is default or _same(value, default)):
            continue
        said = text(list(value) if isinstance(value, tuple) else value)
        if shown:
            found.append(f"{told.get('relax_name') or name}={said}")
        else:
            foreign.append(f"{quoted(name)}: {said}")
    return [*found, f"relay_attrs={{{', '.join(foreign)}}}"] if foreign else found
