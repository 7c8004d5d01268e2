"""The interface of a model that takes or returns strings, dictionaries or sequences: the program itself only has
numeric tensors.

A string is represented by its index among the strings of the model; other strings of a run get the next numbers, so
that they can be compared and returned.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.driver.model.tensor_spec import TensorSpec
from baton._src.support.diagnostics import fail
from baton._src.values.meaning import PLAIN, STACK, STRING_IDS, Meaning, is_map
from baton._src.values.string_table import StringTable
from baton._src.values.tensor import AnyArray


class Border:
    """Converts the inputs and outputs of one function; numbers the strings that occur in the program."""

    def __init__(self, strings: Sequence[str], inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> None:
        self.numbers = {string: k for k, string in enumerate(strings)}
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)

    def enter(self, given: Sequence[Any]) -> tuple[list[Any], StringTable]:
        """(tensors, the strings of this run); `DiagnosticError` for items of the wrong class or of unequal shapes."""
        strings = StringTable(self.numbers)
        return [self._inside(spec, value, strings) for spec, value in zip(self.inputs, given, strict=True)], strings

    def _inside(self, spec: TensorSpec, given: Any, strings: StringTable) -> Any:
        if spec.meaning == STRING_IDS:
            return _numbered(spec.name, given, strings)
        if is_map(spec.meaning):
            return _values(spec, given, strings)
        return _stacked(spec, given) if spec.meaning == STACK else given

    def leave(self, tensors: Sequence[AnyArray], strings: StringTable) -> list[Any]:
        """The outputs as users see them: arrays of strings, lists of dictionaries, lists of arrays."""
        left = iter(tensors)
        return [_shown(spec.meaning, left, strings) for spec in self.outputs]


def _numbered(name: str, given: Any, strings: StringTable) -> AnyArray:
    array = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=object)
    found = [as_string(item, f"input {name} takes strings") for item in array.reshape(-1).tolist()]
    return strings.numbers(found).reshape(array.shape)


def _stacked(spec: TensorSpec, given: Any) -> AnyArray:
    """The items of a list stacked along a new first axis. For an empty list their shape must be known."""
    if not isinstance(given, (list, tuple, np.ndarray)):
        raise fail("value-mismatch", f"input {spec.name} takes a list of arrays, got {type(given).__name__}")
    items, sizes = [np.asarray(item) for item in given], (spec.shape or ())[1:]
    shapes = sorted({item.shape for item in items})
    if len(shapes) > 1:
        shown = " and ".join(map(str, shapes[:2]))
        raise fail("value-mismatch", f"input {spec.name} takes a list of arrays of one shape, got {shown}")
    known = tuple(size for size in sizes if isinstance(size, int))
    if not items and len(known) < len(sizes):
        raise fail("value-mismatch", f"input {spec.name} is an empty list: the shape of its items is unknown")
    return np.stack(items) if items else np.zeros((0, *known), spec.dtype.numpy)


def _values(spec: TensorSpec, given: Any, strings: StringTable) -> AnyArray:
    """The values of a dictionary in the order of the keys that the program knows, 0 or "" where it has none."""
    if not isinstance(given, Mapping):
        raise fail("value-mismatch", f"input {spec.name} takes a dictionary, got {type(given).__name__}")
    known = spec.meaning.keys
    if wrong := [key for key in given if (key not in known if known else not isinstance(key, (int, np.integer)))]:
        meant = (
            f"one of {', '.join(map(repr, known[:5]))}{', ...' if len(known) > 5 else ''}" if known else "an integer"
        )
        raise fail("value-mismatch", f"input {spec.name} has the key {wrong[0]!r}, which must be {meant}")
    keys = known or sorted(given)
    if spec.meaning.kind == "string map":
        return strings.numbers([as_string(given.get(k, ""), f"input {spec.name} takes strings") for k in keys])
    found = [given.get(k, 0) for k in keys]
    if wrong := [v for v in found if not isinstance(v, (int, float, np.number))]:
        raise fail("value-mismatch", f"input {spec.name} takes numbers; {wrong[0]!r} is a {type(wrong[0]).__name__}")
    return np.array(found, spec.dtype.numpy)


def as_string(item: Any, wanted: str = "strings are given as str or bytes") -> str:
    """The value, if it is a string; else a `DiagnosticError` (`value-mismatch`) whose text starts with `wanted`."""
    if isinstance(item, str):
        return item
    if isinstance(item, bytes):
        return item.decode("utf-8", "replace")
    raise fail("value-mismatch", f"{wanted}; {item!r} is a {type(item).__name__}")


def _shown(meaning: Meaning, left: Iterator[AnyArray], strings: StringTable) -> Any:
    if meaning.kind == "sequence":
        return [next(left) for _ in range(meaning.length)]
    tensor = next(left)
    if meaning == STRING_IDS:
        return strings.strings(tensor)
    if meaning == STACK:
        return list(tensor)
    if meaning.kind == "scores":
        return [dict(zip(meaning.keys, row, strict=True)) for row in tensor.tolist()]
    return tensor


def border_of(
    facts: Mapping[str, Any], function: str, inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]
) -> Border | None:
    """The border of a public function; None if all its inputs and outputs are tensors and it has no strings inside."""
    strings = facts.get("signatures", {}).get(function, {}).get("strings")
    if strings is None and all(spec.meaning == PLAIN for spec in (*inputs, *outputs)):
        return None
    return Border(strings or (), inputs, outputs)
