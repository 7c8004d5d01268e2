"""Texts in a model: refused before anything is read, with the nodes that use them and what to do instead."""

from __future__ import annotations

from typing import Any

from baton._src.frontends.onnx.files.reader import STRING, WITHOUT_TEXTS
from baton._src.support.diagnostics import Diagnostic, DiagnosticError

SHOWN = 4
"""How many users of a text are named."""


def check_no_texts(graph: Any) -> None:
    """Raise `DiagnosticError` (`onnx-dtype`) for all inputs and weights of a graph that hold texts, at once."""
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
    return Diagnostic("onnx-dtype", message, help=WITHOUT_TEXTS)
