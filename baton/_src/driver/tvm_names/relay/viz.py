"""Draw Relay programs as text or in Graphviz's language (`tvm.contrib.relay_viz`).

    RelayVisualizer(mod).render()                                   # printed
    RelayVisualizer(mod, params, DotPlotter()).render("model")      # model_main.gv, ...; `dot -Tsvg` draws it

A parser says what node stands for an expression; a plotter makes a graph of the nodes of each function. Both may be the
user's own: subclasses of `VizParser`, `Plotter` and `VizGraph`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from baton._src.driver.wiring import wire
from baton._src.ir.expr import GlobalVar, Op
from baton._src.ir.module import IRModule
from baton._src.relay.check.show import show_type
from baton._src.relay.expressions import parts, walk
from baton._src.relay.nodes import Call, Constant, Function, If, Let, Tuple, TupleGetItem, Var
from baton._src.support.dataclass import dataclass

Ids = Mapping[Any, str]


@dataclass(frozen=True)
class VizNode:
    """A node of the picture."""

    identity: str
    type_name: str
    detail: str = ""


@dataclass(frozen=True)
class VizEdge:
    """An arrow between nodes, by their identities."""

    start: str
    end: str


class VizParser:
    """Says what stands for an expression. None: nothing, and edges from it are drawn from nowhere."""

    def get_node_edges(self, node: Any, relay_param: Mapping[str, Any], node_to_id: Ids) -> tuple[Any, list[VizEdge]]:
        """The node that stands for `node`, and the edges that lead to it; `node_to_id` names expressions."""
        raise NotImplementedError


class VizGraph:
    """Takes nodes and edges of one function."""

    def node(self, viz_node: VizNode) -> None:
        """Take a node."""
        raise NotImplementedError

    def edge(self, viz_edge: VizEdge) -> None:
        """Take an edge."""
        raise NotImplementedError


class Plotter:
    """Makes a graph for each function, and renders them all."""

    def create_graph(self, name: str) -> VizGraph:
        """A new graph, for the function of this name."""
        raise NotImplementedError

    def render(self, filename: str | None) -> None:
        """Show all graphs, or write them to files whose names begin with `filename`."""
        raise NotImplementedError


class DefaultVizParser(VizParser):
    """Calls, variables, constants and everything else, with types and attributes as their details."""

    def get_node_edges(self, node: Any, relay_param: Mapping[str, Any], node_to_id: Ids) -> tuple[Any, list[VizEdge]]:
        edges = [VizEdge(node_to_id[p], node_to_id[node]) for p in parts(node) if p in node_to_id]
        return VizNode(node_to_id[node], *_described(node, relay_param)), edges


TermVizParser = DotVizParser = DefaultVizParser


def _described(node: Any, params: Mapping[str, Any]) -> tuple[str, str]:
    match node:
        case Var():
            kind = "Parameter" if node.name_hint in params else "Var"
            type_ = node.checked_type_ or node.type_annotation
            return f"{kind} {node.name_hint}", "" if type_ is None else show_type(type_)
        case Constant():
            tensor = node.data
            return "Constant", f"{tensor.dtype} {list(tensor.shape)}" if tensor.shape else str(tensor.numpy())
        case Call(op=Op(name=name)):
            attributes = ", ".join(f"{k}={v}" for k, v in (node.attrs.items() if node.attrs else ()))
            return f"Call {name}", attributes
        case Call(op=GlobalVar()):
            return f"Call @{node.op.name_hint}", ""
        case Function():
            inside = node.attrs.get("Composite") or node.attrs.get("Compiler") or ""
            return "Function", str(inside)
        case TupleGetItem():
            return "TupleGetItem", f"index: {node.index}"
        case Let():
            return "Let", node.var.name_hint
        case Tuple() | If() | _:
            return type(node).__name__, ""


class RelayVisualizer:
    """Draws a module: one graph a function, `main` first."""

    def __init__(
        self,
        relay_mod: IRModule,
        relay_param: Mapping[str, Any] | None = None,
        plotter: Plotter | None = None,
        parser: VizParser | None = None,
    ) -> None:
        wire()
        self._plotter = plotter or TermPlotter()
        self._parser = parser or DefaultVizParser()
        found = sorted(relay_mod.functions.items(), key=lambda item: item[0].name_hint != "main")
        for var, function in found:
            if isinstance(function, Function):
                self._add(var.name_hint, function, relay_param or {})

    def _add(self, name: str, function: Function, params: Mapping[str, Any]) -> None:
        graph = self._plotter.create_graph(name)
        drawn = [n for n in walk(function) if not isinstance(n, Op | GlobalVar)]
        ids = {node: str(number) for number, node in enumerate(drawn)}
        for node in drawn:
            viz_node, edges = self._parser.get_node_edges(node, params, ids)
            if viz_node is not None:
                graph.node(viz_node)
            for edge in edges:
                graph.edge(edge)

    def render(self, filename: str | None = None) -> None:
        """Show what was drawn: printed, or in files whose names begin with `filename`."""
        self._plotter.render(filename)


# ---- text


class TermGraph(VizGraph):
    """A function as an indented tree: each node above what it is computed from; what stood before is not repeated."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._nodes: dict[str, VizNode] = {}
        self._inputs: dict[str, list[str]] = {}

    def node(self, viz_node: VizNode) -> None:
        self._nodes[viz_node.identity] = viz_node

    def edge(self, viz_edge: VizEdge) -> None:
        self._inputs.setdefault(viz_edge.end, []).append(viz_edge.start)

    def render(self) -> str:
        """The text."""
        used = {i for inputs in self._inputs.values() for i in inputs}
        stack = [(identity, 0) for identity in reversed(self._nodes) if identity not in used]
        lines, seen = [f"@{self._name}"], set()
        while stack:
            identity, depth = stack.pop()
            node = self._nodes.get(identity)
            if node is None:
                continue
            again = identity in seen and bool(self._inputs.get(identity))
            detail = " (see above)" if again else f" {node.detail}" if node.detail else ""
            lines.append(f"{'  ' * (depth + 1)}#{identity} {node.type_name}{detail}")
            if not again:
                stack += [(i, depth + 1) for i in reversed(self._inputs.get(identity, []))]
            seen.add(identity)
        return "\n".join(lines)


class TermPlotter(Plotter):
    """Prints every function, or writes `<filename>.txt`."""

    def __init__(self) -> None:
        self._graphs: list[TermGraph] = []

    def create_graph(self, name: str) -> TermGraph:
        self._graphs.append(TermGraph(name))
        return self._graphs[-1]

    def render(self, filename: str | None = None) -> None:
        text = "\n\n".join(graph.render() for graph in self._graphs)
        if filename:
            Path(f"{filename}.txt").write_text(text + "\n", encoding="utf-8")
        else:
            print(text)


# ---- Graphviz


Style = Mapping[str, str]


def _style(attributes: Style) -> str:
    return ", ".join(f"{key}={_quoted(value)}" for key, value in attributes.items())


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


class DotGraph(VizGraph):
    """A function in the DOT language."""

    def __init__(
        self, name: str, graph_attr: Style, node_attr: Style, edge_attr: Style, own: Callable[[VizNode], Style]
    ) -> None:
        self.name = name
        self._own = own
        styles = (("graph", graph_attr), ("node", node_attr), ("edge", edge_attr))
        self._lines = [f"    {kind} [{_style(given)}]" for kind, given in styles if given]

    def node(self, viz_node: VizNode) -> None:
        label = viz_node.type_name + (f"\n{viz_node.detail}" if viz_node.detail else "")
        self._lines.append(f"    {viz_node.identity} [{_style({'label': label, **self._own(viz_node)})}]")

    def edge(self, viz_edge: VizEdge) -> None:
        self._lines.append(f"    {viz_edge.start} -> {viz_edge.end}")

    def digraph(self) -> str:
        """The text."""
        return "\n".join([f"digraph {_quoted(self.name)} {{", *self._lines, "}"])


def _plain(node: VizNode) -> Style:
    return {}


class DotPlotter(Plotter):
    """Writes `<filename>_<function>.gv` for every function, in the DOT language. Styles are Graphviz's attributes."""

    def __init__(
        self,
        graph_attr: Style | None = None,
        node_attr: Style | None = None,
        edge_attr: Style | None = None,
        get_node_attr: Callable[[VizNode], Style] | None = None,
    ) -> None:
        self._styles = (graph_attr or {}, node_attr or {"shape": "box"}, edge_attr or {})
        self._own = get_node_attr or _plain
        self._graphs: list[DotGraph] = []

    def create_graph(self, name: str) -> DotGraph:
        self._graphs.append(DotGraph(name, *self._styles, self._own))
        return self._graphs[-1]

    def render(self, filename: str | None = None) -> None:
        for graph in self._graphs:
            Path(f"{filename or 'relay'}_{graph.name}.gv").write_text(graph.digraph() + "\n", encoding="utf-8")
