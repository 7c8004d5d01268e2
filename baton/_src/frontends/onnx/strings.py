"""Strings in a model become numbers: a string's place in the list of all strings that the model knows.

Operators that move elements, or compare whether they are equal, do with numbers what they do with strings. Some that
compute on strings call the VM, which knows the strings of a run; others are refused by name. Who imports a model
without a border that numbers the strings of a run (`baton.compile` makes one) is told at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.reader import STRING, WITHOUT_STRINGS
from baton._src.support.diagnostics import Diagnostic, DiagnosticError, fail
from baton._src.values.meaning import PLAIN, STRING_IDS
from baton._src.values.tensor import AnyArray

SHOWN = 4
"""How many users of a string are named."""
KEEPING = frozenset({
    "ArrayFeatureExtractor", "Compress", "Concat", "DepthToSpace", "Expand", "Flatten", "Gather",
    "GatherElements", "GatherND", "Identity", "Reshape", "ReverseSequence", "ScatterElements", "ScatterND", "Slice",
    "SpaceToDepth", "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze", "Where",
})  # fmt: skip
"""Operators that move elements about: what they give are strings if what they are given is."""
READING = frozenset({
    "Cast", "CategoryMapper", "Equal", "LabelEncoder", "OneHotEncoder", "RegexFullMatch", "Shape", "Size",
    "StringConcat", "StringNormalizer", "StringSplit", "TfIdfVectorizer", "Tokenizer",
})  # fmt: skip
"""Operators that tell one string from another, compute on them, or only count; they say themselves what they give."""
_ALIKE = {"Concat": 0, "Equal": 0, "Where": 1}
"""Operators whose operands, from this one on, are all strings or all none."""


class ModelStrings:
    """The strings of a model, numbered in the order of their first use.

    `used` says whether a run of the model needs them: it has some, or makes some by itself.
    """

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.used = False

    def numbered(self, content: Any) -> AnyArray:
        """The numbers of an array (or a list) of strings."""
        self.used = True
        array = np.asarray(content, dtype=object)
        found = [self.numbers.setdefault(str(string), len(self.numbers)) for string in array.reshape(-1)]
        return np.array(found, np.int64).reshape(array.shape)


def read_strings(tensor: Any) -> AnyArray:
    """The contents of a `TensorProto` of strings, as objects."""
    found = [content.decode("utf-8", "replace") for content in tensor.string_data]
    shape = tuple(tensor.dims)
    if any(d < 0 for d in shape) or int(np.prod(shape, dtype=object)) != len(found):
        raise fail("onnx-file", f"tensor {tensor.name!r} has {len(found)} strings for the shape {shape}")
    array = np.empty(len(found), dtype=object)
    array[:] = found
    return array.reshape(shape)


def string_constant(builder: GraphBuilder, strings: ModelStrings, content: Any) -> Value:
    """A constant of strings: their numbers."""
    return replace(builder.constant(strings.numbered(content)), meaning=STRING_IDS)


def check_operator(op_type: str, title: str, inputs: Sequence[Value | None]) -> None:
    """Raise `DiagnosticError` (`onnx-dtype`) for an operator that cannot be had on strings or dictionaries."""
    kinds = [PLAIN if v is None else v.meaning for v in inputs]
    if op_type in ("Identity", "DictVectorizer", "CastMap") or all(k is PLAIN for k in kinds):
        return
    alike = kinds[_ALIKE.get(op_type, len(kinds)) :]
    if any(k not in (PLAIN, STRING_IDS) for k in kinds):
        told = "only outputs of a model can be those of a ZipMap, only DictVectorizer and CastMap read those of inputs"
        raise fail("onnx-dtype", f"{title} uses dictionaries: {told}")
    if op_type not in KEEPING | READING:
        raise fail("onnx-dtype", f"{title} computes on strings, which is not supported", help=WITHOUT_STRINGS)
    if len({k.kind for k in alike}) > 1:
        raise fail("onnx-dtype", f"{title} mixes strings and numbers")


def mark_strings(op_type: str, inputs: Sequence[Value | None], found: Iterable[Value]) -> None:
    """Note that what an operator gives are strings, where it moves those of its operands."""
    given = [v.meaning for v in inputs if v is not None and v.meaning is not PLAIN]
    if given and op_type in KEEPING:
        for value in found:
            value.meaning = given[0]


def check_no_strings(graph: Any) -> None:
    """Raise `DiagnosticError` (`onnx-dtype`) for all inputs and weights of a graph that hold strings, at once."""
    inputs = [(i.name, "input") for i in graph.input if i.type.tensor_type.elem_type == STRING]
    weights = [(t.name, "tensor") for t in graph.initializer if t.data_type == STRING]
    found = [_refused(graph, name, what) for name, what in dict([*inputs, *weights]).items()]
    if found:
        raise DiagnosticError(found)


def _refused(graph: Any, name: str, what: str) -> Diagnostic:
    users = [f"{n.op_type} node {n.name or n.output[0]!r}" for n in graph.node if name in n.input]
    shown = ", ".join(users[:SHOWN]) + (", ..." if len(users) > SHOWN else "")
    used = f" (used by {shown})" if users else ""
    message = f"{what} {name!r} has element type string, which is not supported{used}"
    return Diagnostic("onnx-dtype", message, help=WITHOUT_STRINGS)
