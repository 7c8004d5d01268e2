"""Functions within a graph module that the user converts: operators meanwhile, which PyTorch's exporter leaves whole.

%relu : call_function[torch.relu](%x)   ->   call_function[torch.ops.baton_user.relu_0]([%x])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from itertools import count
from typing import Any

from baton._src.frontends.graph_builder.relax_graph import RelaxGraph
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.tensors import dtype_of
from baton._src.ir.tensor_info import TensorInfo
from baton._src.relax.info import to_info
from baton._src.relax.nodes import Var

_SPACE = "baton_user"
_NUMBERS = count()
UserConverter = Callable[[Any, "Context"], Any]
"""From a node of the graph and the context to a Relax expression."""


class Context:
    """What converters for TVM's importer take: the expressions of the nodes so far, and where to emit."""

    def __init__(self, block_builder: Any, env: dict[Any, Any]) -> None:
        self.block_builder = block_builder
        self.env = env

    def retrieve_args(self, node: Any) -> Any:
        """The arguments of a node, with expressions for nodes."""
        return torch_library().fx.node.map_arg(node.args, self.env.__getitem__)


def held_whole(model: Any, functions: Mapping[str, UserConverter]) -> tuple[Any, dict[str, Converter], Any]:
    """(the model with an operator for every call of these functions, their converters, the library that keeps them).

    A function is called as TVM calls it: the name of the node, without the number behind it. Methods of tensors and
    modules are not converted, nor is what the graph does not call.
    """
    torch = torch_library()
    library = torch.library.Library(_SPACE, "FRAGMENT")
    graph, originals = deepcopy(model.graph), {n.name: n for n in model.graph.nodes}
    found = [n for n in graph.nodes if n.op == "call_function" and _name(n) in functions]
    converters = {}
    for node in found:
        original = originals[node.name]
        operator = _operator(library, original)
        with graph.inserting_before(node):
            node.replace_all_uses_with(graph.call_function(operator, (list(node.all_input_nodes),)))
        graph.erase_node(node)
        converters[f"{_SPACE}.{operator.__name__}"] = _converter(original, functions[_name(original)])
    return torch.fx.GraphModule(model, graph), converters, library


def _name(node: Any) -> str:
    name: str = node.name
    return name.rstrip("0123456789_")


def _operator(library: Any, node: Any) -> Any:
    """An operator of a list of tensors that does what the node does."""
    torch, inputs = torch_library(), node.all_input_nodes

    def run(tensors: Any) -> Any:
        given = dict(zip(inputs, tensors, strict=True)).__getitem__
        return node.target(*torch.fx.node.map_arg(node.args, given), **torch.fx.node.map_arg(node.kwargs, given))

    name = f"{_name(node)}_{next(_NUMBERS)}"
    library.define(f"{name}(Tensor[] tensors) -> Tensor")
    library.impl(name, run, "CPU")
    torch.library.register_fake(f"{_SPACE}::{name}", run, lib=library)
    return getattr(getattr(torch.ops, _SPACE), name).default


def _converter(original: Any, function: UserConverter) -> Converter:
    """The user's function on the node as it was; what it gives must be of the dtype and rank that PyTorch says."""

    def convert(node: AtenNode, tensors: tuple[Value, ...]) -> Value:
        g, (expected,) = node.graph, node.results
        env = {n: g.expr(t) for n, t in zip(original.all_input_nodes, tensors, strict=True)}
        assert isinstance(g.language, RelaxGraph)  # `from_fx` imports into Relax
        builder = g.language.builder
        expr = function(original, Context(builder, env))
        expr = expr if isinstance(expr, Var) else builder.emit(expr)
        info = to_info(expr.struct_info)
        shape, dtype = tuple(expected.shape), dtype_of(expected.dtype)
        if not isinstance(info, TensorInfo) or info.ndim != len(shape) or info.dtype != dtype:
            node.fail(f"the converter of {original.name!r} gives {expr.struct_info}, the function {dtype} {shape}")
        return Value(info, expr=expr)

    return convert
