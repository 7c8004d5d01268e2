"""Nodes by themselves as JSON data: a table of all that a value is made of, parts first, and the value.

Parts refer to one another by their place in the table, so what is shared stays shared: variables above all. Spans are
left out. Whole modules are saved as their text (`node_json`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum
from importlib import import_module
from typing import Any

from baton._src.driver.tvm_names.json_values import as_data, from_data
from baton._src.ir.array import Array
from baton._src.ir.attrs import Attrs
from baton._src.ir.expr import Op
from baton._src.ir.node import Node, init_field
from baton._src.ir.traverse import post_order
from baton._src.ir.types import TypeKind
from baton._src.support.diagnostics import fail
from baton._src.tir.expr.leaves import IterVar, axis_kind
from baton._src.tir.stmt import ForKind
from baton._src.values.dtype import DataType

_SOURCES = "baton._src."
_ENUMS: dict[str, type[IntEnum]] = {kind.__name__: kind for kind in (ForKind, TypeKind)}


def to_table(value: Any) -> dict[str, Any]:
    """The table of `value`. Error `api`: something in it is neither a node nor data."""
    order = post_order([value], below=lambda node: list(_inside([getattr(node, name) for name in _saved(type(node))])))
    places = {node: index for index, node in enumerate(order)}
    owners = {id(node.attrs): node.op.name for node in order if isinstance(getattr(node, "attrs", None), Attrs)}

    def reference(part: Any) -> Any:
        if isinstance(part, Op):
            return {"op": part.name}
        if isinstance(part, Node):
            return {"node": places[part]}
        if isinstance(part, DataType):
            return {"dtype": str(part)}
        if isinstance(part, Attrs):
            return {"attrs_of": owners[id(part)], "attrs": as_data(dict(part.items()), reference)}
        if isinstance(part, IntEnum):
            return {"enum": type(part).__name__, "name": part.name}
        raise fail("api", f"a {type(part).__name__} cannot be saved", help="save what it was made of")

    return {"table": [_entry(node, reference) for node in order], "root": as_data(value, reference)}


def _entry(node: Node, reference: Callable[[Any], Any]) -> dict[str, Any]:
    kind = type(node)
    fields = {name: as_data(getattr(node, name), reference) for name in _saved(kind)}
    return {"class": f"{kind.__module__.removeprefix(_SOURCES)}.{kind.__name__}", "fields": fields}


def from_table(table: Mapping[str, Any]) -> Any:
    """The value of `to_table`. `KeyError`, `TypeError`, `ValueError`, `IndexError` or `AttributeError`: it is no such
    table, or that of a version with other classes.
    """
    nodes: list[Node] = []

    def made(data: Mapping[str, Any]) -> Any:
        if "node" in data:
            return nodes[data["node"]]
        if "attrs_of" in data:
            record = Op.get(data["attrs_of"]).definition.attrs(**from_data(data["attrs"], made))
            return record if data["attrs_of"].startswith("relax.") else record.in_relay()
        if "enum" in data:
            return _ENUMS[data["enum"]][data["name"]]
        return Op.get(data["op"]) if "op" in data else DataType(data["dtype"])

    for entry in table["table"]:
        kind = _class(entry["class"])
        node = object.__new__(kind)
        for name in kind.field_names:
            content = from_data(entry["fields"].get(name), made)
            content = axis_kind(content) if kind is IterVar and name == "iter_type" else content
            init_field(node, name, Array(content) if isinstance(content, tuple) else content)
        nodes.append(node)
    return from_data(table["root"], made)


def _class(name: str) -> type[Node]:
    """The class of nodes that an entry names; `ValueError` for anything else."""
    module, _, called = name.rpartition(".")
    if module.partition(".")[0] not in ("ir", "relay", "relax", "tir"):
        raise ValueError(name)
    found = getattr(import_module(_SOURCES + module), called)
    if not (isinstance(found, type) and issubclass(found, Node)):
        raise ValueError(name)
    return found


def _saved(kind: type[Node]) -> list[str]:
    """The fields that an entry has."""
    return [name for name in kind.field_names if name != "span"]


def _inside(content: Any) -> Iterator[Node]:
    """The nodes directly inside the fields of a node, or a value of lists and dicts; operators are known by name."""
    if isinstance(content, Node):
        if not isinstance(content, Op):
            yield content
    elif isinstance(content, (list, tuple)):
        for item in content:
            yield from _inside(item)
    elif isinstance(content, (Mapping, Attrs)):
        for key, item in content.items():
            yield from _inside(key)
            yield from _inside(item)
