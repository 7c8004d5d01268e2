"""Import an ONNX model as a whole: its opsets, inputs, weights and outputs. `nodes` imports the nodes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.language import Language
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.model_folder import ModelFolder
from baton._src.frontends.onnx.files.reader import onnx_library
from baton._src.frontends.onnx.initializers import Initializers, may_be_inputs
from baton._src.frontends.onnx.inputs import Inputs
from baton._src.frontends.onnx.node import NOTHING
from baton._src.frontends.onnx.nodes import Nodes, versions_of
from baton._src.frontends.onnx.order import in_order
from baton._src.frontends.onnx.strings import ModelStrings, check_no_strings
from baton._src.frontends.onnx.supported import all_nodes, called, check_expansion, check_supported
from baton._src.support.diagnostics import fail
from baton._src.support.suggestions import did_you_mean
from baton._src.values.meaning import STACK, is_map
from baton._src.values.tensor import AnyArray


class Importer:
    """Imports one model through `language`.

    `shape`, `dtype`, `values` and `shown` are as of `Inputs`. (One dtype for all, which scripts written for TVM pass by
    default, overrides nothing there either.) With `strings` it may have strings, which are numbered there, inputs
    that are sequences, and results that are dictionaries or sequences of any length: values whose `meaning` somebody at
    the border heeds.
    """

    def __init__(
        self,
        model: Any,
        folder: ModelFolder | None,
        language: Language,
        shape: Mapping[str, Sequence[Any]] | None = None,
        dtype: object = None,
        opset: int | None = None,
        values: Mapping[str, Any] | None = None,
        shown: Mapping[str, str] | None = None,
        strings: ModelStrings | None = None,
    ) -> None:
        self.model, self.strings = model, strings
        self.builder = GraphBuilder(language)
        self.inputs = Inputs(self.builder, shape, dtype, values, shown, strings)
        self.initializers = Initializers(self.builder, folder, strings)
        self.functions = {called(f, f.name): f for f in model.functions}
        self.versions = _versions(model, opset)

    def run(
        self, keep_weights: bool = False
    ) -> tuple[list[tuple[str, Value]], list[tuple[str, Value]], dict[str, AnyArray]]:
        """(inputs, outputs, weights): the values to make a program of, in the model's order, and all initializers.

        With `keep_weights` the initializers become inputs behind the model's own instead of constants, except for those
        that must be known (`may_be_inputs`); `weights` are those that do.
        """
        graph = self.model.graph
        check_supported(graph, self.functions)
        check_expansion(graph, self.functions)
        if not graph.output:
            help = "list its results among the outputs of the graph"
            raise fail("onnx-graph", f"the graph {graph.name!r} has no outputs", help=help)
        if self.strings is None:
            check_no_strings(graph)
        weights = self.initializers.arrays(graph)
        inputs, scope = self._bound(graph, weights)
        if keep_weights:
            weights = may_be_inputs(weights, all_nodes(graph, self.functions))
            weights = {name: content for name, content in weights.items() if name not in self.inputs.values}
            scope.update({name: self.inputs.tensor(name, scope[name].info) for name in weights})
        self.builder.language.start()
        nodes = Nodes(self.builder, self.initializers, self.functions, self.versions)
        nodes.run(in_order(graph.node), scope, [o.name for o in graph.output], set(scope))
        return inputs, [(o.name, self._output(o.name, scope)) for o in graph.output], weights

    def _bound(self, graph: Any, weights: Mapping[str, AnyArray]) -> tuple[list[tuple[str, Value]], dict[str, Value]]:
        """(the program's inputs, what nodes see by the names of inputs and initializers)"""
        scope: dict[str, Value] = {n: self.builder.constant(a) for n, a in weights.items()}
        scope.update(self.initializers.of_strings(graph))
        scope.update(self.inputs.bound(graph, weights))
        self.inputs.check(graph, weights)
        inputs: list[tuple[str, Value]] = []
        for declared in graph.input:
            if declared.name not in scope:
                value, scope[declared.name] = self.inputs.declare(declared, graph.node)
                inputs.append((declared.name, value))
        return inputs, scope

    def _output(self, name: str, scope: Mapping[str, Value]) -> Value:
        """A result of the program: for a sequence that stacks its items the stack, if the interface supports it."""
        if name not in scope:
            help = did_you_mean(name, scope, f"the last node gives {', '.join(list(scope)[-1:])!r}")
            raise fail("onnx-graph", f"the graph's output {name!r} is computed by no node", help=help)
        value = scope[name]
        if value is NOTHING:
            raise fail("onnx-output", f"output {name!r} is an optional without a value", help="leave the output out")
        if is_map(value.meaning):
            raise fail("onnx-output", f"output {name!r} is a dictionary that is an input, too", help="leave it out")
        if value.stack is not None and self.strings is not None:
            return replace(value.stack, meaning=STACK)
        if value.stack is not None or value.grows:
            help = "return its tensors, or one that ConcatFromSequence makes of them"
            raise fail(
                "onnx-output", f"output {name!r} is a sequence whose length is known only at run time", help=help
            )
        return value


def _versions(model: Any, opset: int | None) -> dict[str, int]:
    """The version of each domain that the model uses; the caller may override that of ONNX's own."""
    found = versions_of(model)
    newest = onnx_library().defs.onnx_opset_version()
    # As in onnxruntime, a model that names other domains only means the newest of this one; once none was named.
    given = found.get("", newest if found else 1)
    found[""] = opset or given
    if found[""] < given:
        warnings.warn(
            f"the model is of opset {given}; read as of opset {opset} it may mean something else", stacklevel=4
        )
    if found[""] > newest:
        help = "upgrade the onnx package, or convert the model (onnx.version_converter)"
        raise fail(
            "onnx-opset", f"the model is of opset {found['']} and the newest one supported is {newest}", help=help
        )
    return found
