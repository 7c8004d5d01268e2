"""Dictionaries as inputs of a model: DictVectorizer and CastMap convert them to rows of numbers or strings.

A program takes tensors only. So the nodes that read a dictionary determine the keys and their order, and the caller of
the program passes a tensor of the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.attribute_values import value_of
from baton._src.frontends.onnx.files.reader import STRING
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.frontends.onnx.tensors.casts import cast
from baton._src.support.diagnostics import fail
from baton._src.values.meaning import PLAIN, STRING_IDS, values_by_key

_CASTS = {"TO_FLOAT": 1, "TO_STRING": STRING, "TO_INT64": 7}
"""CastMap's result types, by ONNX's numbers of element types."""


def keys_wanted(name: str, nodes: Iterable[Any]) -> tuple[str | int, ...]:
    """The keys that the nodes (protos) of a graph read from the input `name`; () for all keys, in ascending order.

    `DiagnosticError` (`onnx-input`) if no node determines them or two disagree.
    """
    users = [n for n in nodes if name in n.input and n.op_type in DICTIONARIES]
    found = {_keys(n.op_type, {a.name: value_of(a, None, True) for a in n.attribute}) for n in users}
    if len(found) != 1:
        said = "no DictVectorizer or CastMap reads it" if not found else "the nodes that read it want different keys"
        help = "remove the input if nothing needs it" if not found else "give each of the nodes an input of its own"
        raise fail("onnx-input", f"input {name!r} is a dictionary; {said}", help=help)
    return found.pop()


def _keys(op_type: str, attributes: Mapping[str, Any]) -> tuple[str | int, ...]:
    if op_type == "DictVectorizer":
        return tuple(attributes.get("string_vocabulary") or attributes.get("int64_vocabulary") or ())
    return tuple(range(int(attributes.get("max_map", 1)))) if attributes.get("map_form") == "SPARSE" else ()


def _row(node: OnnxNode) -> Value:
    """The values as (1, keys): onnxruntime's shape, which the following nodes of scikit-learn's models need."""
    x = node[0]
    keys = _keys(node.op_type, node.attributes)
    if x.meaning not in (values_by_key(keys), values_by_key(keys, strings=True)):
        node.fail(f"its input is {x}, it must be a dictionary that is an input of the model")
    found = node.graph.reshape(replace(x, meaning=PLAIN), (1, -1))
    found.meaning = STRING_IDS if x.meaning == values_by_key(keys, strings=True) else PLAIN
    return found


def dict_vectorizer(node: OnnxNode) -> Value:
    """The value of each key of the vocabulary, 0 (or the empty string) for keys missing from the dictionary."""
    if bool(node.attr("string_vocabulary")) is bool(node.attr("int64_vocabulary")):
        node.fail("it needs one vocabulary, of strings or of integers")
    return _row(node)


def cast_map(node: OnnxNode) -> Value:
    """The values by ascending key, or (`SPARSE`) each at the index that is its key, as floats, integers or strings."""
    to, form = str(node.attr("cast_to", "TO_FLOAT")), str(node.attr("map_form", "DENSE"))
    if to not in _CASTS or form not in ("DENSE", "SPARSE"):
        node.fail(f"cast_to is {to!r} and map_form {form!r}", help=f"{', '.join(_CASTS)}; DENSE or SPARSE")
    row = _row(node)
    if row.meaning is STRING_IDS and form == "SPARSE" and to != "TO_STRING":
        node.fail(f"strings, some of which may be missing, cannot be read as numbers ({to})", help="use DENSE")
    return cast(replace(node, inputs=[row], attributes={"to": _CASTS[to]}))


DICTIONARIES: dict[str, Converter] = {"DictVectorizer": dict_vectorizer, "CastMap": cast_map}
