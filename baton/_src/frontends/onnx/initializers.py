"""Initializers: the constants of a model's graph, and those of the subgraphs in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import SMALL, Value
from baton._src.frontends.onnx.files.model_folder import ModelFolder
from baton._src.frontends.onnx.files.reader import STRING, read_tensor, read_tensors
from baton._src.frontends.onnx.files.sparse import read_sparse
from baton._src.frontends.onnx.strings import ModelStrings, read_strings, string_constant
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray

_DECIDING = {"Clip": (1, 2), "Dropout": (1,), "Pad": (2,), "Resize": (1, 2), "Upsample": (1,)}
"""The operands of numbers that are attributes elsewhere: bounds, ratios, what borders hold, boxes and scales."""


def may_be_inputs(weights: Mapping[str, AnyArray], nodes: Iterable[Any]) -> dict[str, AnyArray]:
    """The weights that a program can take as inputs: not those that decide what it is, as shapes, axes and places do
    (few whole numbers), and bounds and scales of `nodes`. TVM's importer makes constants of such, too."""
    deciding = {name for n in nodes for k, name in enumerate(n.input) if k in _DECIDING.get(n.op_type, ())}
    return {
        name: content
        for name, content in weights.items()
        if name not in deciding and (content.size > SMALL or str(content.dtype) not in ("bool", "int32", "int64"))
    }


class Initializers:
    """Reads initializers of one model, whose external data lies in `folder`; strings are numbered in `strings`."""

    def __init__(self, builder: GraphBuilder, folder: ModelFolder | None, strings: ModelStrings | None) -> None:
        self.builder, self.folder, self.strings = builder, folder, strings

    def arrays(self, graph: Any) -> dict[str, AnyArray]:
        """The initializers of a graph that are numbers, by name. `DiagnosticError` (`onnx-graph`) for two of one
        name."""
        names = Counter([*(t.name for t in graph.initializer), *(t.values.name for t in graph.sparse_initializer)])
        if twice := [name for name, times in names.items() if times > 1]:
            raise fail("onnx-graph", f"the graph has two initializers {twice[0]!r}", help="rename one of them")
        found = read_tensors([t for t in graph.initializer if t.data_type != STRING], self.folder)
        return found | {t.values.name: read_sparse(t, self.folder) for t in graph.sparse_initializer}

    def of_strings(self, graph: Any) -> dict[str, Value]:
        """The initializers of a graph that are strings, by name."""
        return {t.name: self._constant(t) for t in graph.initializer if t.data_type == STRING}

    def of_subgraph(self, graph: Any, scope: Mapping[str, Value], title: str) -> dict[str, Value]:
        """Those of a subgraph of the node `title`. An outer value of the same name in `scope` must be equal: tools
        differ in which of the two they use.
        """
        own = {t.values.name: self.builder.constant(read_sparse(t, self.folder)) for t in graph.sparse_initializer}
        own.update((t.name, self._constant(t)) for t in graph.initializer)
        for name in own.keys() & scope.keys():
            inner, outer = own[name].array, scope[name].array
            if inner is None or outer is None or inner.dtype != outer.dtype or not np.array_equal(inner, outer):
                told = f"{graph.name!r} in {title!r} has an initializer {name!r}, a name that another value outside has"
                raise fail("onnx-graph", told, help="rename one of them")
        return own

    def _constant(self, tensor: Any) -> Value:
        if tensor.data_type != STRING or self.strings is None:
            return self.builder.constant(read_tensor(tensor, self.folder))
        return string_constant(self.builder, self.strings, read_strings(tensor))
