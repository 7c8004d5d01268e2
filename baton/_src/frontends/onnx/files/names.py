"""Names of a damaged file that are not valid text: protobuf returns them as bytes, which the importer does not
expect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from baton._src.support.diagnostics import fail


def check_names(model: Any) -> None:
    """Raise `DiagnosticError` (`onnx-file`) for a name in a `ModelProto` that is not UTF-8."""
    for name in _names(model):
        if isinstance(name, bytes):
            raise fail("onnx-file", f"the name {name!r} is not UTF-8", help="is the file damaged?")


def _names(model: Any) -> Iterator[str | bytes]:
    """All names by which parts of a model, its functions and their subgraphs are looked up."""
    pending = [model.graph]
    yield from (entry.domain for entry in model.opset_import)
    yield from _declared(model.graph)
    for function in model.functions:
        yield from (function.domain, function.name, *function.input, *function.output, *function.attribute)
        pending.append(function)
    while pending:
        for node in pending.pop().node:
            yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
            for attribute in node.attribute:
                yield from (attribute.name, attribute.ref_attr_name)
                for graph in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                    yield from _declared(graph)
                    pending.append(graph)


def _declared(graph: Any) -> Iterator[str | bytes]:
    """The names of a graph's inputs, outputs, weights, and symbolic sizes."""
    yield from (tensor.name for tensor in graph.initializer)
    for value in (*graph.input, *graph.output):
        yield value.name
        yield from (dim.dim_param for dim in value.type.tensor_type.shape.dim)
