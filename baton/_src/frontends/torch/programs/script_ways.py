"""Conditions of TorchScript over elements of tensors: both ways become graphs of their own, as `torch.cond` has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.support.diagnostics import fail

Way = Callable[[Mapping[str, Any]], list[Any]]
"""Runs a block where these values have other tensors than outside; its outputs."""


def nodes_of(blocks: Sequence[Any]) -> Iterator[Any]:
    """All nodes, those of blocks within the blocks too, in the order of the program."""
    for block in blocks:
        for node in block.nodes():
            yield node
            yield from nodes_of(list(node.blocks()))


def used_in(blocks: Sequence[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values from outside that blocks use."""
    inner = [v for block in blocks for v in block.outputs()]
    names = [v.debugName() for v in (*inner, *(i for node in nodes_of(blocks) for i in node.inputs()))]
    outputs = [o.debugName() for node in nodes_of(blocks) if node.kind() == "prim::GetAttr" for o in node.outputs()]
    return {name: values[name] for name in (*names, *outputs) if name in values}


def chosen(condition: Any, ways: Sequence[Way], given: Mapping[str, Any], line: str) -> list[Any]:
    """The outputs of one of two ways, which are to be alike: tensors, or lists and tuples of tensors.

    A whole number that one of them gives is a tensor behind them; what is None is None on both.
    """
    torch = torch_library()
    tree = torch.utils._pytree
    leaves, spec = tree.tree_flatten(dict(given))
    places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    structures: list[Any] = []

    def graph(way: Way) -> Callable[..., tuple[Any, ...]]:
        def run(*tensors: Any) -> tuple[Any, ...]:
            own = list(leaves)
            for place, tensor in zip(places, tensors, strict=True):
                own[place] = tensor
            found, structure = tree.tree_flatten(way(tree.tree_unflatten(own, spec)))
            structures.append((structure, [f is None for f in found]))
            return tuple(
                _tensor(f, line).clone() for f in found if f is not None
            )  # what is given may be no operand itself

        return run

    operands = tuple(leaves[k] for k in places)
    found = torch.ops.higher_order.cond(condition.reshape(()).bool(), *(graph(w) for w in ways), operands)
    structure, missing = structures[0]
    if any(other != structures[0] for other in structures):
        help = "give the same variables tensors on both ways"
        raise fail(
            "torch-script", f"{line} chooses by the elements of a tensor between things of different kinds", help=help
        )
    results = iter(found)
    outputs: list[Any] = tree.tree_unflatten([None if none else next(results) for none in missing], structure)
    return outputs


def _tensor(value: Any, line: str) -> Any:
    torch = torch_library()
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, (int, torch.SymInt)):
        return torch.scalar_tensor(value, dtype=torch.bool if isinstance(value, bool) else torch.int64)
    message = f"{line} chooses {value!r}, which is no tensor, by the elements of one"
    raise fail("torch-script", message, help="make a tensor of it before the condition")
