"""Walk the nodes of an ONNX graph one by one: bind names to values, convert, and call the model's functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.agreements import check_agreement
from baton._src.frontends.onnx.attribute_values import value_of
from baton._src.frontends.onnx.attributes import check_attributes, check_values
from baton._src.frontends.onnx.control.branches import arms_disagree, forked
from baton._src.frontends.onnx.definitions import changed_between
from baton._src.frontends.onnx.functions import AS_INT64, EXPANDED, Expanded, body_of
from baton._src.frontends.onnx.initializers import Initializers
from baton._src.frontends.onnx.node import NOTHING, DynamicValueError, OnnxNode
from baton._src.frontends.onnx.old_opsets import as_of_later
from baton._src.frontends.onnx.operands import check_contributed, check_operands
from baton._src.frontends.onnx.strings import check_operator, mark_strings
from baton._src.frontends.onnx.supported import MAIN, FunctionKey, all_nodes, called, check_supported
from baton._src.frontends.onnx.symbolic import fold_dims, folded_dtype
from baton._src.frontends.onnx.table import DOMAINS
from baton._src.support.diagnostics import Diagnostic, DiagnosticError, InternalError, fail
from baton._src.support.suggestions import did_you_mean
from baton._src.values.dtype import INT64
from baton._src.values.meaning import PLAIN

MOST_FORKS = 3
"""So many Ifs, one behind the other, may repeat what follows in each arm: it is there eight times then."""


class Nodes:
    """Imports the nodes of one model, those of its subgraphs and functions among them."""

    def __init__(
        self,
        builder: GraphBuilder,
        initializers: Initializers,
        functions: dict[FunctionKey, Any],
        versions: dict[str, int],
    ) -> None:
        self.builder, self.initializers, self.functions = builder, initializers, functions
        self.model_versions = self.versions = versions
        """The version of each domain for the model, and for the nodes now being imported."""
        self.forks = 0
        """How many Ifs the nodes now being imported are repeated for in each arm."""
        self.calls: list[Any] = []
        """The functions whose bodies are being imported, the innermost last."""
        self.bodies: dict[int, tuple[Any, dict[str, Value], list[Any]]] = {}
        """Subgraphs that have been read, by id: (the graph, its constants, its other nodes)."""

    def run(
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
            self.run(rest, inner, outputs)
            return [inner[name] for name in wanted]

        self.forks += 1
        try:
            scope.update(zip(wanted, forked(node, finish), strict=True))
        finally:
            self.forks -= 1

    def _node(self, proto: Any, position: int, scope: dict[str, Value]) -> OnnxNode:
        title = proto.name or (proto.output[0] if proto.output else f"#{position}")
        inputs = [self._input(proto, title, name, scope) for name in proto.input]
        attributes = self._attributes(proto, title)
        names, opset, strings = tuple(proto.output), self.versions[""], self.initializers.strings

        def run_graph(graph: Any, bound: dict[str, Value]) -> list[Value]:
            return self._subgraph(graph, bound, scope, title)

        return OnnxNode(proto.op_type, title, opset, inputs, names, attributes, self.builder, run_graph, strings)

    def _input(self, proto: Any, title: str, name: str, scope: dict[str, Value]) -> Value | None:
        """What a node's operand stands for, None if it is left out."""
        if name and name not in scope:
            raise fail(
                "onnx-graph",
                f"{proto.op_type} node {title!r} uses {name!r}, which nothing before it defines",
                help=did_you_mean(name, scope, "a node must come after those whose results it uses"),
            )
        return scope[name] if name and scope[name] is not NOTHING else None

    def _subgraph(self, graph: Any, bound: dict[str, Value], scope: dict[str, Value], title: str) -> list[Value]:
        """The outputs of a subgraph of the node `title`, its inputs being `bound`."""
        if id(graph) not in self.bodies:
            self.bodies[id(graph)] = (graph, *self._read(graph, scope, title))
        _, constants, nodes = self.bodies[id(graph)]
        inner = {**scope, **constants, **bound}
        self.run(nodes, inner, [o.name for o in graph.output])
        for output in graph.output:
            if output.name not in inner:
                raise fail("onnx-graph", f"{graph.name!r} in {title!r} has no value for its output {output.name!r}")
        results = [inner[o.name] for o in graph.output]
        if any(v.meaning is not PLAIN for v in results):
            told = f"{graph.name!r} in {title!r} returns strings or dictionaries, which is not supported here"
            raise fail("onnx-dtype", told)
        return results

    def _read(self, graph: Any, scope: dict[str, Value], title: str) -> tuple[dict[str, Value], list[Any]]:
        """(the constants of a subgraph, its other nodes): what is unrolled has each weight once."""
        found, nodes = self.initializers.of_subgraph(graph, scope, title), []
        for position, proto in enumerate(graph.node):
            if proto.op_type == "Constant" and proto.domain in MAIN and called(proto, "Constant") not in self.functions:
                found.update(zip(proto.output, self._convert(self._node(proto, position, scope), proto)))
            else:
                nodes.append(proto)
        return found, nodes

    def _attributes(self, proto: Any, title: str) -> dict[str, Any]:
        """What the node's attributes hold, checked against ONNX's definition of its operator."""
        folder, strings = self.initializers.folder, self.initializers.strings
        try:
            if called(proto, proto.op_type) not in self.functions:
                check_values(proto.op_type, proto.attribute)
                version = self.versions.get(plain_domain(proto.domain))
                check_attributes(proto.domain, proto.op_type, proto.attribute, version)
            return {a.name: value_of(a, folder, strings is not None) for a in proto.attribute}
        except DiagnosticError as error:
            where = f"while reading the attributes of {proto.op_type} node {title!r}"
            raise DiagnosticError([d.within(where) for d in error.diagnostics]) from error

    def _convert(self, node: OnnxNode, proto: Any) -> Sequence[Value]:
        function = self.functions.get(called(proto, proto.op_type))
        if function is not None:
            self._check_versions(function, node)
            return self._call_function(function, node, proto.attribute)
        self.builder.hint = node.name
        try:
            if proto.domain in MAIN:
                check_operands(node)
                check_agreement(node)
            elif proto.domain == "com.microsoft":
                check_contributed(node)
            contents = [v.whole_numbers() if v is not None else None for v in node.inputs]
            dtypes = [v.dtype for v in node.given]
            dims = fold_dims(node.op_type, contents, dtypes, node.attributes)
            if dims is not None:
                dtype = folded_dtype(node.op_type, dtypes, node.attributes)
                if dtype.is_float:
                    return [self.builder.cast(self.builder.dims(dims), dtype)]
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
        except MemoryError as error:
            told = Diagnostic("onnx-node", f"{node.title}: what it makes of constants is too large: {error}")
            raise DiagnosticError(_located(DiagnosticError(told), node, proto)) from error
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise InternalError(f"{type(error).__name__}: {error}\n  {_place(node, proto)}") from error
        results = [found] if isinstance(found, Value) else list(found)
        mark_strings(node.op_type, node.inputs, results)
        return results

    def _check_versions(self, function: Any, node: OnnxNode) -> None:
        """Refuse a function of the model that is written for another opset than the model, where an operator changed in
        between: ONNX forbids it, and onnxruntime reads such a node as of the model's opset."""
        own = versions_of(function)
        for inner in all_nodes(function, {}):
            domain = plain_domain(inner.domain)
            version = own.get(domain)
            outer = self.model_versions.get(domain)
            if called(inner, inner.op_type) in self.functions or version is None or outer is None or version == outer:
                continue
            if changed_between(inner.domain, inner.op_type, version, outer):
                told = (
                    f"its function uses {inner.op_type} of opset {version}; in the model's, {outer}, it is another one"
                )
                help = "inline it: onnx.inliner.inline_local_functions(model, convert_version=True)"
                node.fail(told, code="onnx-opset", help=help)

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
        outer, self.versions = self.versions, {**self.versions, **versions_of(function)}
        self.calls.append(function)
        try:
            self.run(Expanded(function, attributes, left_out).node, scope, function.output)
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
        defaults, function = body_of(proto, self.versions[""], node.inputs)
        check_supported(function, self.functions)
        for place in AS_INT64.get(proto.op_type, ()):
            node.inputs[place] = self.builder.cast(node[place], INT64)
        return self._call_function(function, node, (*defaults, *proto.attribute))


def _located(error: DiagnosticError, node: OnnxNode, proto: Any) -> list[Diagnostic]:
    """The findings about a node, with what it is applied to."""
    return [d.within(_place(node, proto)) for d in error.diagnostics]


def _place(node: OnnxNode, proto: Any) -> str:
    shown = [f"{n}: {v}" for n, v in zip(proto.input[:6], node.inputs, strict=False) if v is not None]
    more = ["..."] if len(node.inputs) > 6 else []
    return f"while importing {node.title} ({', '.join(shown + more)})"


def versions_of(proto: Any) -> dict[str, int]:
    """What version of each domain a model or a function is written for."""
    return {plain_domain(entry.domain): int(entry.version) for entry in proto.opset_import}


def plain_domain(domain: str) -> str:
    return "" if domain in MAIN else domain
