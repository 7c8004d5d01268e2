"""Conditions of TorchScript over elements of tensors: each branch becomes a graph of its own, as for `torch.cond`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.support.diagnostics import fail

Branch = Callable[[Mapping[str, Any]], list[Any]]
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


def cond(condition: Any, branches: Sequence[Branch], given: Mapping[str, Any], line: str) -> list[Any]:
    """The outputs of one of two branches, which are to be alike: tensors, or lists and tuples of tensors.

    A whole number that one of them gives is a tensor behind them; what is None is None on both. Error `torch-script`,
    with the `line` of the script: the branches give different things.
    """
    torch = torch_library()
    operands, places = tensor_operands(given)
    graphs = [_Graph(branch, given, places, line) for branch in branches]
    found = torch.ops.higher_order.cond(condition.reshape(()).bool(), *(g.run for g in graphs), tuple(operands))
    first, second = (g.outputs for g in graphs)
    if first != second:
        message = f"{line} chooses by the elements of a tensor between things of different kinds"
        raise fail("torch-script", message, help="assign tensors to the same variables in both branches")
    assert first is not None  # both were traced
    structure, missing = first
    results = iter(found)
    outputs: list[Any] = torch.utils._pytree.tree_unflatten(
        [None if none else next(results) for none in missing], structure
    )
    return outputs


def tensor_operands(given: Mapping[str, Any]) -> tuple[list[Any], dict[int, int]]:
    """(the tensors among values and what they hold, each once; which of them every leaf is, by its place)"""
    torch = torch_library()
    operands: dict[int, Any] = {}
    places: dict[int, int] = {}
    for place, leaf in enumerate(torch.utils._pytree.tree_leaves(dict(given))):
        if isinstance(leaf, torch.Tensor):
            operands.setdefault(id(leaf), leaf)
            places[place] = list(operands).index(id(leaf))
    return list(operands.values()), places


def with_tensors(given: Mapping[str, Any], places: Mapping[int, int], tensors: Sequence[Any]) -> dict[str, Any]:
    """The values with other tensors for those that `tensor_operands` found."""
    tree = torch_library().utils._pytree
    leaves, spec = tree.tree_flatten(dict(given))
    found: dict[str, Any] = tree.tree_unflatten(
        [tensors[places[k]] if k in places else leaf for k, leaf in enumerate(leaves)], spec
    )
    return found


class _Graph:
    """One branch as a function of the tensors among the values `given`, which PyTorch traces.

    `outputs` is known once it was traced: the structure of what it gives, and which parts of that are None.
    """

    def __init__(self, branch: Branch, given: Mapping[str, Any], places: Mapping[int, int], line: str) -> None:
        self.branch, self.given, self.places, self.line = branch, given, places, line
        self.outputs: tuple[Any, list[bool]] | None = None

    def run(self, *tensors: Any) -> tuple[Any, ...]:
        """The tensors that the branch gives. They are copies: what a graph gives may be no operand itself."""
        own = with_tensors(self.given, self.places, tensors)
        found, structure = torch_library().utils._pytree.tree_flatten(self.branch(own))
        self.outputs = (structure, [f is None for f in found])
        return tuple(_tensor(f, self.line).clone() for f in found if f is not None)


def _tensor(value: Any, line: str) -> Any:
    torch = torch_library()
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, (int, torch.SymInt)):
        return torch.scalar_tensor(value, dtype=torch.bool if isinstance(value, bool) else torch.int64)
    message = f"{line} chooses {value!r}, which is not a tensor, by the elements of one"
    raise fail("torch-script", message, help="convert it to a tensor before the condition")
