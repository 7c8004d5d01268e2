"""A node's attributes against ONNX's own definition of its operator: those it must have, and their types."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from baton._src.frontends.onnx.files.reader import onnx_library
from baton._src.support.diagnostics import fail


def check_attributes(operator: str, attributes: Iterable[Any], opset: int) -> None:
    """Refuse attributes (protos) of another type than ONNX says, and nodes without one they need (`onnx-node`).

    Operators that ONNX does not define at this opset are not looked at.
    """
    kinds, required = _defined(operator, opset)
    given = {a.name: a.type for a in attributes}
    for name, kind in given.items():
        wanted = kinds.get(name, kind)
        if kind != wanted:
            say = onnx_library().AttributeProto.AttributeType.Name
            raise fail("onnx-node", f"attribute {name!r} is {say(kind)}; {operator} takes {say(wanted)} for it")
    missing = sorted(required - given.keys())
    if missing:
        raise fail("onnx-node", f"attribute {missing[0]!r} is missing", help=f"{operator} needs it in opset {opset}")


@cache
def _defined(operator: str, opset: int) -> tuple[dict[str, int], frozenset[str]]:
    """The types of an operator's attributes by name, and the names of those that have no default."""
    definitions = onnx_library().defs
    try:
        found = definitions.get_schema(operator, opset, "").attributes
    except definitions.SchemaError:
        return {}, frozenset()
    return {n: int(a.type.value) for n, a in found.items()}, frozenset(n for n, a in found.items() if a.required)
