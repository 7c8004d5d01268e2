"""A graph of `torch.compile` with operators that baton has no converters for: PyTorch runs these, one by one, and what
stands between them is compiled.

Such are operators of the user's (`torch.library`), random numbers that elements decide (`torch.poisson`), effects
(prints), and control flow that contains one of these.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from baton._src.driver.frontends.torch_draws import is_drawn_before
from baton._src.frontends.torch.importer import is_supported
from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.program import checked_by, name_of, source_of
from baton._src.support.dataclass import dataclass

Compiled = Callable[..., Sequence[Any]]


@dataclass(frozen=True)
class _Piece:
    """Nodes of the graph that are compiled together, or one that PyTorch runs with what takes its results apart."""

    nodes: list[Any]
    compiled: bool


@dataclass(frozen=True)
class _Step:
    """A piece as a function: what it takes and gives, as nodes of the whole graph."""

    call: Compiled
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


class Pieces:
    """Called as a `CompiledGraph` is; `compile_graph` makes one of a graph module."""

    def __init__(self, module: Any, pieces: Iterable[_Piece], compile_graph: Callable[[Any], Compiled]) -> None:
        nodes = list(module.graph.nodes)
        self.inputs = [n for n in nodes if n.op == "placeholder"]
        self.results = nodes[-1].args[0]
        self.constants = {n: operator.attrgetter(n.target)(module) for n in nodes if n.op == "get_attr"}
        make = partial(_compiled, module, compile_graph)
        self.steps = [step for p in pieces for step in ([make(p.nodes)] if p.compiled else map(_alone, p.nodes))]

    def __call__(self, *given: Any) -> list[Any]:
        values = {**self.constants, **dict(zip(self.inputs, given, strict=True))}
        for step in self.steps:
            found = step.call(*(values[n] for n in step.inputs))
            values.update(zip(step.outputs, found, strict=True))
        return [values[r] if isinstance(r, torch_library().fx.Node) else r for r in self.results]


def pieces_of(module: Any) -> list[_Piece]:
    """The pieces of a graph in their order, with a warning if there are some that PyTorch runs; else one piece."""
    found: list[_Piece] = []
    places: dict[Any, _Piece] = {}
    for node in [n for n in module.graph.nodes if n.op == "call_function"]:
        if node.target is operator.getitem and node.args[0] in places:
            piece = places[node.args[0]]
        else:
            compiled = _is_compiled(module, node)
            if not (compiled and found and found[-1].compiled):
                found.append(_Piece([], compiled))
            piece = found[-1]
        piece.nodes.append(node)
        places[node] = piece
    apart = [p.nodes[0] for p in found if not p.compiled]
    if apart:
        listed = "; ".join(dict.fromkeys(f"{name_of(n.target)} ({source_of(n)})" for n in apart))
        warnings.warn(f"PyTorch runs what baton has no converters for: {listed}", stacklevel=2)
    return found


def _is_compiled(module: Any, node: Any) -> bool:
    """Whether everything is known in a call, and in the graphs that it takes."""
    inner = [getattr(module, a.target) for a in node.all_input_nodes if a.op == "get_attr" and "." not in a.target]
    graphs = [m for m in inner if isinstance(m, torch_library().fx.GraphModule)]
    known = is_supported(name_of(node.target)) or is_drawn_before(node) or checked_by(node) is not None
    return known and all(is_supported(name_of(call.target)) for call in _calls(graphs))


def _calls(modules: Iterable[Any]) -> Iterator[Any]:
    graphs = [m for whole in modules for m in whole.modules() if isinstance(m, torch_library().fx.GraphModule)]
    return (n for m in graphs for n in m.graph.nodes if n.op == "call_function")


def _alone(node: Any) -> _Step:
    """A call that PyTorch runs."""
    inputs = tuple(node.all_input_nodes)
    fill = torch_library().fx.node.map_arg

    def call(*given: Any) -> tuple[Any]:
        values = dict(zip(inputs, given, strict=True))
        args, kwargs = fill((node.args, node.kwargs), values.__getitem__)
        return (node.target(*args, **kwargs),)

    return _Step(call, inputs, (node,))


def _compiled(module: Any, compile_graph: Callable[[Any], Compiled], nodes: Sequence[Any]) -> _Step:
    """These nodes as a graph of their own."""
    fx = torch_library().fx
    graph, own = fx.Graph(), set(nodes)
    inputs = list(dict.fromkeys(_outer(nodes, own, [n for n in module.graph.nodes if n.op == "placeholder"])))
    copies: dict[Any, Any] = {}
    for node in inputs:
        copies[node] = graph.placeholder(node.name)
        copies[node].meta = dict(node.meta)
    constants = {a for n in nodes for a in n.all_input_nodes if a.op == "get_attr"}
    for node in [n for n in module.graph.nodes if n in own | constants]:
        copies[node] = graph.node_copy(node, copies.__getitem__)
    outputs = tuple(n for n in nodes if any(user not in own for user in n.users) and not _is_tuple(n))
    graph.output(tuple(copies[n] for n in outputs))
    return _Step(compile_graph(fx.GraphModule(module, graph)), tuple(inputs), outputs)


def _is_tuple(node: Any) -> bool:
    return isinstance(node.meta.get("val"), (tuple, list))


def _outer(nodes: Sequence[Any], own: set[Any], placeholders: Sequence[Any]) -> Iterator[Any]:
    """What a piece takes: all numbers that the graph is given, by which PyTorch names sizes, and what its nodes use."""
    tensor = torch_library().Tensor
    yield from (n for n in placeholders if not isinstance(n.meta["val"], tensor))
    yield from (a for n in nodes for a in n.all_input_nodes if a not in own and a.op != "get_attr")
