"""`flex_attention` as PyTorch computes it without a kernel: all scores at once, modified by the user's functions."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.support.diagnostics import fail

_NAME = "flex_attention"


def write_out_attention(module: Any, decompositions: Callable[[], Any]) -> None:
    """Replace calls of `flex_attention` in a graph module by operators, none of which `decompositions` takes apart."""
    for node in [n for n in module.graph.nodes if n.op == "call_function" and _is_flexible(n.target)]:
        with module.graph.inserting_before(node):
            results = _written_out(module, node, decompositions())
        for user in list(node.users):
            user.replace_all_uses_with(results[user.args[1]])
            module.graph.erase_node(user)
        module.graph.erase_node(node)


def _is_flexible(target: Any) -> bool:
    return isinstance(target, torch_library()._ops.HigherOrderOperator) and target.name() == _NAME


def _written_out(module: Any, node: Any, decompositions: Any) -> list[Any]:
    """The nodes of the results, new in the graph.

    The user's functions see one score; PyTorch's own `math_attention` makes them see all, which is traced here.
    """
    torch = torch_library()
    math_attention = import_module("torch._higher_order_ops.flex_attention").math_attention
    make_fx = import_module("torch.fx.experimental.proxy_tensor").make_fx
    leaves, structure = torch.utils._pytree.tree_flatten(node.args)
    places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, torch.fx.Node) and leaf.op != "get_attr"]
    given = [_graph_within(module, leaf) if k not in places else None for k, leaf in enumerate(leaves)]
    examples = [leaves[k].meta["val"] for k in places]

    if any(not isinstance(size, int) for x in examples for size in getattr(x, "shape", (x,))):
        help = "fix the sizes of queries, keys and values: no Dim for them, torch.compile(..., dynamic=False)"
        raise fail("torch-symbol", f"{_NAME} of open sizes is not supported, as PyTorch would fix them", help=help)

    def dense(*tensors: Any) -> Any:
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        return math_attention(*torch.utils._pytree.tree_unflatten(given, structure))

    traced = make_fx(torch.func.functionalize(dense), decomposition_table=decompositions)(*examples)
    for inner in traced.graph.nodes:
        inner.meta["stack_trace"] = node.meta.get("stack_trace")
        if inner.op == "get_attr":
            name = f"{node.name}_{inner.target}"
            setattr(module, name, getattr(traced, inner.target))
            inner.target = name
    placeholders = traced.graph.find_nodes(op="placeholder")
    copies = dict(zip(placeholders, (leaves[k] for k in places), strict=True))
    results: list[Any] = module.graph.graph_copy(traced.graph, copies)
    return results


def _graph_within(module: Any, leaf: Any) -> Any:
    """A graph that a node of the graph stands for; other constants as they are."""
    return getattr(module, leaf.target) if isinstance(leaf, torch_library().fx.Node) else leaf
