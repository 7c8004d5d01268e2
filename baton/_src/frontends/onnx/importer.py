"""Walk an ONNX graph node by node: bind names to values, convert, and report every unsupported operator at once."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.language import Language
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.attribute_values import value_of
from baton._src.frontends.onnx.attributes import check_attributes, check_values
from baton._src.frontends.onnx.control.branches import arms_disagree, forked
from baton._src.frontends.onnx.files.model_folder import ModelFolder
from baton._src.frontends.onnx.files.reader import STRING, onnx_library, read_tensor, read_tensors
from baton._src.frontends.onnx.files.sparse import read_sparse
from baton._src.frontends.onnx.functions import EXPANDED, Expanded, body_of
from baton._src.frontends.onnx.inputs import Inputs
from baton._src.frontends.onnx.node import NOTHING, DynamicValueError, OnnxNode
from baton._src.frontends.onnx.old_opsets import as_of_later
from baton._src.frontends.onnx.operands import CONTRIBUTED_RANKS, check_operands, check_ranks
from baton._src.frontends.onnx.order import in_order
from baton._src.frontends.onnx.strings import ModelStrings, check_no_strings, check_operator, mark_strings, read_strings
from baton._src.frontends.onnx.supported import MAIN, called, check_supported
from baton._src.frontends.onnx.symbolic import fold_dims, folded_dtype
from baton._src.frontends.onnx.table import DOMAINS
from baton._src.support.diagnostics import Diagnostic, DiagnosticError, fail
from baton._src.values.meaning import PLAIN, STACK, is_map
from baton._src.values.tensor import AnyArray

MOST_FORKS = 3
"""So many Ifs, one behind the other, may repeat what follows in each arm: it is there eight times then."""


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
        self.model, self.folder = model, folder
        self.builder = GraphBuilder(language)
        self.inputs = Inputs(self.builder, shape, dtype, values, shown, strings)
        self.strings = strings
        self.versions = _versions_of(model)
        """The version of each domain for the nodes now being imported."""
        newest = onnx_library().defs.onnx_opset_version()
        # As in onnxruntime, a model that names other domains only means the newest of this one; once none was named.
        given = self.versions.get("", newest if self.versions else 1)
        self.versions[""] = opset or given
        if self.opset < given:
            warnings.warn(
                f"the model is of opset {given}; read as of opset {opset} it may mean something else", stacklevel=3
            )
        if self.opset > newest:
            help = "upgrade the onnx package, or convert the model (onnx.version_converter)"
            raise fail(
                "onnx-opset", f"the model is of opset {self.opset} and the newest one supported is {newest}", help=help
            )
        self.functions = {called(f, f.name): f for f in model.functions}
        self.forks = 0
        """How many Ifs the nodes now being imported are repeated for in each arm."""
        self.calls: list[Any] = []
        """The functions whose bodies are being imported, the innermost last."""

    @property
    def opset(self) -> int:
        """The version of ONNX's own domain."""
        return self.versions[""]

    def run(
        self, keep_weights: bool = False
    ) -> tuple[list[tuple[str, Value]], list[tuple[str, Value]], dict[str, AnyArray]]:
        """(inputs, outputs, weights): the values to make a program of, in the model's order, and all initializers.

        With `keep_weights` the initializers become inputs behind the model's own instead of constants.
        """
        check_supported(self.model.graph, self.functions)
        graph = self.model.graph
        if not graph.output:
            raise fail(
                "onnx-graph",
                f"the graph {graph.name!r} has no outputs",
                help="list its results among the outputs of the graph",
            )
        if self.strings is None:
            check_no_strings(graph)
        weights = self._weights(graph)
        scope: dict[str, Value] = {n: self.builder.constant(a) for n, a in weights.items()}
        scope.update({t.name: self._tensor(t) for t in graph.initializer if t.data_type == STRING})
        scope.update(self.inputs.bound(graph, weights))
        inputs: list[tuple[str, Value]] = []
        self.inputs.check(graph, weights)
        for declared in graph.input:
            if declared.name not in scope:
                value, scope[declared.name] = self.inputs.declare(declared, graph.node)
                inputs.append((declared.name, value))
        if keep_weights:
            scope.update({name: self.inputs.tensor(name, scope[name].info) for name in weights})
        self.builder.language.start()
        self._nodes(in_order(graph.node), scope, [o.name for o in graph.output], set(scope))
        outputs = []
        for output in graph.output:
            if output.name not in scope:
                near = get_close_matches(output.name, scope, n=1)
                help = f"did you mean {near[0]!r}?" if near else f"the last node gives {', '.join(list(scope)[-1:])!r}"
                raise fail("onnx-graph", f"the graph's output {output.name!r} is computed by no node", help=help)
            outputs.append((output.name, self._output(output.name, scope[output.name])))
        return inputs, outputs, weights

    def _weights(self, graph: Any) -> dict[str, AnyArray]:
        """The initializers that are numbers, by name."""
        names = Counter([*(t.name for t in graph.initializer), *(t.values.name for t in graph.sparse_initializer)])
        if twice := [name for name, times in names.items() if times > 1]:
            raise fail("onnx-graph", f"the graph has two initializers {twice[0]!r}", help="rename one of them")
        weights = read_tensors([t for t in graph.initializer if t.data_type != STRING], self.folder)
        return weights | {t.values.name: read_sparse(t, self.folder) for t in graph.sparse_initializer}

    def _output(self, name: str, value: Value) -> Value:
        """What the program gives: of a sequence that stacks its items the stack, if there is a border."""
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

    def _tensor(self, tensor: Any) -> Value:
        """A constant of numbers or strings."""
        if tensor.data_type != STRING or self.strings is None:
            return self.builder.constant(read_tensor(tensor, self.folder))
        return self.inputs.numbered(read_strings(tensor))

    def _nodes(
        self, nodes: Sequence[Any], scope: dict[str, Value], outputs: Sequence[str], defined: set[str] | None = None
    ) -> None:
        """Bind what nodes give; `outputs` are wanted of them, `defined` are names that they must not define again."""
        defined = set() if defined is None else defined
        for position, proto in enumerate(nodes):
            node = self._node(proto, position, scope)
            found = self._convert(node, proto)
            if self.forks < MOST_FORKS and arms_disagree(node, found):
                return self._fork(node, nodes[position + 1 :], scope, outputs)
            for name, value in zip(node.outputs, found, strict=False):
                if name in defined:
                    node.fail(f"{name!r} is defined a second time", code="onnx-graph")
                if name:
                    defined.add(name)
                    scope[name] = value

    def _fork(self, node: OnnxNode, rest: Sequence[Any], scope: dict[str, Value], outputs: Sequence[str]) -> None:
        """What stands behind an If whose arms give different ranks becomes part of each arm: there they are known."""
        made = {*node.outputs, *(name for proto in rest for name in proto.output)}
        wanted = [name for name in dict.fromkeys(outputs) if name in made]

        def finish(results: list[Value]) -> list[Value]:
            inner = {**scope, **dict(zip(node.outputs, results, strict=False))}
            self._nodes(rest, inner, outputs)
            return [inner[name] for name in wanted]

        self.forks += 1
        try:
            scope.update(zip(wanted, forked(node, finish), strict=True))
        finally:
            self.forks -= 1

    def _node(self, proto: Any, position: int, scope: dict[str, Value]) -> OnnxNode:
        inputs: list[Value | None] = []
        title = proto.name or (proto.output[0] if proto.output else f"#{position}")
        for name in proto.input:
            if name and name not in scope:
                near = get_close_matches(name, scope, n=1)
                raise fail(
                    "onnx-graph",
                    f"{proto.op_type} node {title!r} uses {name!r}, which nothing before it defines",
                    help=f"did you mean {near[0]!r}?" if near else "a node must come after those whose results it uses",
                )
            inputs.append(scope[name] if name and scope[name] is not NOTHING else None)
        try:
            check_values(proto.op_type, proto.attribute)
            if called(proto, proto.op_type) not in self.functions and _plain(proto.domain) in self.versions:
                version = self.versions[_plain(proto.domain)]
                check_attributes(proto.domain, proto.op_type, proto.attribute, version)
            attributes = {a.name: value_of(a, self.folder, self.strings is not None) for a in proto.attribute}
        except DiagnosticError as error:
            where = f"while reading the attributes of {proto.op_type} node {title!r}"
            raise DiagnosticError([d.within(where) for d in error.diagnostics]) from error

        def run_graph(graph: Any, bound: dict[str, Value]) -> list[Value]:
            inner = {**scope, **self._own_weights(graph, scope, title), **bound}
            self._nodes(graph.node, inner, [o.name for o in graph.output])
            for output in graph.output:
                if output.name not in inner:
                    raise fail("onnx-graph", f"{graph.name!r} in {title!r} has no value for its output {output.name!r}")
            results = [inner[o.name] for o in graph.output]
            if any(v.meaning is not PLAIN for v in results):
                raise fail(
                    "onnx-dtype",
                    f"{graph.name!r} in {title!r} returns strings or dictionaries, which is not supported here",
                )
            return results

        names = tuple(proto.output)
        return OnnxNode(
            proto.op_type, title, self.opset, inputs, names, attributes, self.builder, run_graph, self.strings
        )

    def _own_weights(self, graph: Any, scope: Mapping[str, Value], title: str) -> dict[str, Value]:
        """The initializers of a subgraph of the node `title`; what `scope` has by the same name must be the same."""
        own = {t.values.name: self.builder.constant(read_sparse(t, self.folder)) for t in graph.sparse_initializer}
        own.update((t.name, self._tensor(t)) for t in graph.initializer)
        for name in own.keys() & scope.keys():
            inner, outer = own[name].array, scope[name].array
            if inner is None or outer is None or inner.dtype != outer.dtype or not np.array_equal(inner, outer):
                told = f"{graph.name!r} in {title!r} has an initializer {name!r}, a name that another value outside has"
                raise fail("onnx-graph", told, help="rename one of them")
        return own

    def _convert(self, node: OnnxNode, proto: Any) -> Sequence[Value]:
        function = self.functions.get(called(proto, proto.op_type))
        if function is not None:
            return self._call_function(function, node, proto.attribute)
        self.builder.hint = node.name
        try:
            if proto.domain in MAIN:
                check_operands(node)
            else:
                check_ranks(node, CONTRIBUTED_RANKS)
            contents = [v.contents() if v is not None else None for v in node.inputs]
            dims = fold_dims(node.op_type, contents, node.attributes)
            if dims is not None:
                dtype = folded_dtype(node.op_type, [v.dtype for v in node.given], node.attributes)
                return [self.builder.dims(dims, dtype)]
            if (proto.domain, proto.op_type) in EXPANDED:
                return self._expand(node, proto)
            check_operator(node.op_type, node.title, node.inputs)
            if proto.domain in MAIN:
                as_of_later(node)
            found = DOMAINS[proto.domain][proto.op_type](node)
        except DynamicValueError as error:
            raise DynamicValueError(_located(error, node, proto), error.inputs) from error
        except DiagnosticError as error:
            raise DiagnosticError(_located(error, node, proto)) from error
        results = [found] if isinstance(found, Value) else list(found)
        mark_strings(node.op_type, node.inputs, results)
        return results

    def _call_function(self, function: Any, node: OnnxNode, attributes: Iterable[Any]) -> list[Value]:
        """A function of the model or of ONNX: its nodes, inline, with its own names and opset."""
        if any(f is function for f in self.calls):
            node.fail("its function calls itself, which ONNX does not allow", code="onnx-graph")
        if any(v is not None for v in node.inputs[len(function.input) :]):
            takes = ", ".join(function.input)
            node.fail(f"it has {len(node.inputs)} inputs, its function takes ({takes})", code="onnx-graph")
        if any(node.outputs[len(function.output) :]):
            gives = ", ".join(function.output)
            node.fail(f"it has {len(node.outputs)} outputs, its function returns ({gives})", code="onnx-graph")
        scope = {name: value for name, value in zip(function.input, node.inputs, strict=False) if value is not None}
        left_out = frozenset(function.input) - scope.keys()
        outer, self.versions = self.versions, {**self.versions, **_versions_of(function)}
        self.calls.append(function)
        try:
            self._nodes(Expanded(function, attributes, left_out).node, scope, function.output)
        finally:
            self.calls.pop()
            self.versions = outer
        # An output that the caller leaves out may be missing from a body of ONNX's standard.
        wanted = [bool(name) for name in node.outputs] + [False] * len(function.output)
        found: list[Value] = []
        for name, needed in zip(function.output, wanted, strict=False):
            if name not in scope and needed:
                node.fail(f"its function has no output {name!r}", code="onnx-graph")
            found.append(scope[name] if name in scope else self.builder.constant(np.zeros(0)))
        return found

    def _expand(self, node: OnnxNode, proto: Any) -> list[Value]:
        """An operator that ONNX defines by other operators."""
        defaults, function = body_of(proto, self.opset, node.inputs)
        check_supported(function, self.functions)
        return self._call_function(function, node, (*defaults, *proto.attribute))


def _located(error: DiagnosticError, node: OnnxNode, proto: Any) -> list[Diagnostic]:
    """The findings about a node, with what it is applied to."""
    shown = [f"{n}: {v}" for n, v in zip(proto.input[:6], node.inputs, strict=False) if v is not None]
    more = ["..."] if len(node.inputs) > 6 else []
    return [d.within(f"while importing {node.title} ({', '.join(shown + more)})") for d in error.diagnostics]


def _versions_of(proto: Any) -> dict[str, int]:
    """What version of each domain a model or a function is written for."""
    return {_plain(entry.domain): int(entry.version) for entry in proto.opset_import}


def _plain(domain: str) -> str:
    return "" if domain in MAIN else domain
