"""Imports the first graph of a model; graphs that it calls are imported where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.language import Language
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.tflite.node import Converter, Node
from baton._src.frontends.tflite.reader import Graph, Operator, Tensor
from baton._src.frontends.tflite.symbolic import fold_sizes
from baton._src.ir.tensor_info import TensorInfo
from baton._src.support.diagnostics import DiagnosticError, fail


class Importer:
    """`table` has a converter for each operator. `as_stored`: inputs have the sizes that the model says, so that what
    it says of other tensors holds as well.
    """

    def __init__(
        self, graphs: Sequence[Graph], language: Language, table: Mapping[str, Converter], as_stored: bool
    ) -> None:
        self.graphs, self.table, self.as_stored = graphs, table, as_stored
        self.builder = GraphBuilder(language)
        self.check()

    def check(self) -> None:
        """Error `tflite-unsupported-op`: every operator at once that has no converter."""
        missing = sorted({op.name for graph in self.graphs for op in graph.operators} - self.table.keys())
        if missing:
            raise fail("tflite-unsupported-op", f"these operators are not supported: {', '.join(missing)}")

    def run(self, infos: Mapping[str, TensorInfo]) -> list[Value]:
        """The results of the model, whose inputs have these types."""
        inputs = [self.builder.input(name, info) for name, info in infos.items()]
        self.builder.language.start()
        return self.graph(0, inputs)

    def graph(self, number: int, given: Sequence[Value]) -> list[Value]:
        """The results of a graph."""
        if not 0 <= number < len(self.graphs):
            raise fail("tflite-file", f"the model has no graph {number}")
        graph = self.graphs[number]
        if len(given) != len(graph.inputs):
            raise fail(
                "tflite-file", f"graph {graph.name!r} has {len(graph.inputs)} inputs, but {len(given)} are given"
            )
        scope = {place: self._sized(value, graph.tensors[place]) for place, value in zip(graph.inputs, given)}
        for op in graph.operators:
            try:
                self._operator(graph, op, scope)
            except DiagnosticError as error:
                where = f"while importing operator {op.index}, {op.name}, which gives {_result_name(graph, op)!r}"
                raise DiagnosticError([d.within(where) for d in error.diagnostics]) from error
        return [self._value(graph, place, scope) for place in graph.outputs]

    def _value(self, graph: Graph, place: int, scope: dict[int, Value]) -> Value:
        """The tensor numbered `place`: computed before, or a constant."""
        if place in scope:
            return scope[place]
        if not 0 <= place < len(graph.tensors):
            raise fail("tflite-file", f"graph {graph.name!r} has no tensor {place}")
        tensor = graph.tensors[place]
        data = tensor.data
        if data is None and (tensor.is_variable or 0 in tensor.shape):  # a state, as the first run finds it
            data = np.zeros(tensor.shape, tensor.dtype.numpy)
        if data is None:
            raise fail("tflite-file", f"tensor {tensor.name!r} has no value here")
        scope[place] = self.builder.constant(data)
        return scope[place]

    def _operator(self, graph: Graph, op: Operator, scope: dict[int, Value]) -> None:
        self.builder.hint = _result_name(graph, op) or op.name
        operands = [None if place < 0 else self._value(graph, place, scope) for place in op.inputs]
        tensors = [None if place < 0 else graph.tensors[place] for place in op.inputs]
        results = [graph.tensors[place] for place in op.outputs]
        node = Node(self.builder, op, operands, tensors, results, self.graph)
        sizes = fold_sizes(node)
        found = self.table[op.name](node) if sizes is None else self.builder.dims(sizes, results[0].dtype)
        values = [found] if isinstance(found, Value) else list(found)
        for place, value in zip(op.outputs, values, strict=True):
            scope[place] = self._sized(value, graph.tensors[place])

    def _sized(self, value: Value, tensor: Tensor) -> Value:
        """A value with the sizes that the model says where they do not follow from its operands; a run checks them."""
        if not self.as_stored or value.shape is None or len(value.shape) != len(tensor.sizes):
            return value
        sizes = [own if isinstance(own, int) or said < 0 else said for own, said in zip(value.shape, tensor.sizes)]
        return self.builder.of_shape(value, tuple(sizes))


def _result_name(graph: Graph, op: Operator) -> str:
    return graph.tensors[op.outputs[0]].name if op.outputs else ""
