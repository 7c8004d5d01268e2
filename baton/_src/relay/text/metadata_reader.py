"""The metadata section of Relay's text: baton's own, and the one of TVM, whose objects are a table of nodes.

baton:  {"relay.Constant": [{"dtype": "float32", "shape": [2], "data": base64}], "attrs": [...]}
TVM:    {"root": 1, "nodes": [{"type_key": "Map", "keys": [...], "data": [numbers]}, ...], "b64ndarrays": [...]}

Of TVM's objects constants, numbers, strings, lists and maps are read as what they are, devices as the name of their
kind; others as their attributes by name, which is what attributes of calls can hold.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.relay.nodes import Constant
from baton._src.relay.text.cursor import Cursor
from baton._src.relay.text.lexer import Kind, Token
from baton._src.support.diagnostics import DiagnosticError
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray
from baton._src.values.tvm_format import Bytes, read_tensor

_SCALARS = {"IntImm": int, "tir.IntImm": int, "FloatImm": float, "tir.FloatImm": float}
_STRINGS = ("runtime.String", "tir.StringImm", "StringImm")
MAX_DEPTH = 100


class MetadataSection:
    """What `meta[Key][i]` refers to: objects given with the text, and those of its section, read when first asked."""

    def __init__(self, cursor: Cursor, given: Mapping[str, Sequence[Any]] | None = None) -> None:
        self._cursor = cursor
        self._given = {key: list(objects) for key, objects in (given or {}).items()}
        self._all: dict[str, list[Any]] | None = None

    def objects(self) -> dict[str, list[Any]]:
        """The objects by key; of a key in both, those of the text."""
        if self._all is None:
            written = next((t for t in reversed(self._cursor.tokens) if t.kind is Kind.METADATA), None)
            self._all = {**self._given, **(self._read(written) if written is not None else {})}
        return self._all

    def _read(self, token: Token) -> dict[str, list[Any]]:
        try:
            return read_metadata(token.text)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, DiagnosticError) as error:
            self._cursor.error(f"the metadata section cannot be read: {error}", self._cursor.span_of(token))
            return {}


def read_metadata(text: str) -> dict[str, list[Any]]:
    """The objects of a section by key; `ValueError` and its kin, or `DiagnosticError`, where it is malformed."""
    content = json.loads(text)
    if "nodes" in content:
        return _Table(content).sections()
    return {
        "relay.Constant": [Constant(NDArray(_array(entry))) for entry in content.get("relay.Constant", [])],
        "attrs": list(content.get("attrs", [])),
    }


def _array(entry: dict[str, Any]) -> Any:
    """A tensor as the printer writes it: dtype, shape, little-endian bytes in base64."""
    dtype = DataType(entry["dtype"])
    shape = tuple(int(d) for d in entry["shape"])
    raw = base64.b64decode(entry["data"], validate=True)
    if any(d < 0 for d in shape) or math.prod(shape) * dtype.numpy.itemsize != len(raw):
        raise ValueError(f"{len(raw)} bytes for shape {shape} of {dtype}")
    return np.frombuffer(raw, dtype.numpy).reshape(shape).copy()


class _Table:
    """TVM's table of nodes: fields refer to nodes by number, tensors stand apart."""

    def __init__(self, content: dict[str, Any]) -> None:
        self._nodes = content["nodes"]
        self._root = int(content.get("root", 1))
        self._tensors = content.get("b64ndarrays", [])

    def sections(self) -> dict[str, list[Any]]:
        """The map that the root is: from keys to lists."""
        root = self._node(self._root)
        return {key: list(self._object(int(number), 0)) for key, number in zip(root["keys"], root["data"])}

    def _node(self, number: int) -> dict[str, Any]:
        if not 0 <= number < len(self._nodes):
            raise ValueError(f"there is no node {number}")
        found: dict[str, Any] = self._nodes[number]
        return found

    def _object(self, number: int, depth: int) -> Any:
        node = self._node(number)
        kind, fields = node.get("type_key", ""), node.get("attrs", {})
        if depth > MAX_DEPTH:
            raise ValueError(f"node {number} is nested more than {MAX_DEPTH} deep")
        if kind == "relay.Constant":
            return Constant(self._tensor(int(fields["data"])))
        if kind in _SCALARS:
            return _SCALARS[kind](fields["value"])
        if kind in _STRINGS:
            return str(node.get("repr_str", fields.get("value", "")))
        if kind == "Array":
            return tuple(self._object(int(item), depth + 1) for item in node.get("data", []))
        if kind == "Map":
            return {k: self._object(int(n), depth + 1) for k, n in zip(node.get("keys", []), node.get("data", []))}
        if kind == "VirtualDevice":
            return "cpu"
        return None if not kind else {name: str(value) for name, value in fields.items()}

    def _tensor(self, number: int) -> NDArray:
        return read_tensor(Bytes(base64.b64decode(self._tensors[number])))
