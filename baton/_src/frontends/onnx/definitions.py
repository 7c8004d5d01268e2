"""ONNX's own definition of an operator, at the version of its domain that a model names."""

from __future__ import annotations

from functools import cache
from typing import Any

from baton._src.frontends.onnx.files.reader import onnx_library
from baton._src.support.diagnostics import fail

EARLIER = frozenset({"LayerNormalization", "MeanVarianceNormalization", "ThresholdedRelu"})
"""Operators that onnxruntime had in ONNX's domain before ONNX defined them, with the same meaning."""


@cache
def definition(domain: str, operator: str, version: int) -> Any:
    """The `OpSchema`; None where ONNX knows no such operator (of other domains, functions, what others added to its
    own). `DiagnosticError` (`onnx-opset`) for what only later versions have: there it is refused by onnxruntime, too,
    since nothing says which of them is meant."""
    definitions = onnx_library().defs
    domain = "" if domain == "ai.onnx" else domain
    try:
        return definitions.get_schema(operator, version, domain)
    except definitions.SchemaError:
        first = _first_version(domain, operator)
    if first is None or operator in EARLIER:
        return None
    help = f"if the file names a wrong opset, set it (model.opset_import); opset {first} has {operator}"
    raise fail(
        "onnx-opset", f"operator {operator} is not in opset {version}, the model's; it came with {first}", help=help
    )


def changed_between(domain: str, operator: str, version: int, other: int) -> bool:
    """Whether the definition of an operator differs between two versions of its domain."""
    one, two = (definition(domain, operator, v) for v in (version, other))
    return one is not None and two is not None and one.since_version != two.since_version


def _first_version(domain: str, operator: str) -> int | None:
    """The first version that has the operator, None if none has."""
    return min((s.since_version for s in _history().get((domain, operator), ())), default=None)


@cache
def _history() -> dict[tuple[str, str], list[Any]]:
    """All versions of each operator."""
    found: dict[tuple[str, str], list[Any]] = {}
    for schema in onnx_library().defs.get_all_schemas_with_history():
        found.setdefault((schema.domain, schema.name), []).append(schema)
    return found
