"""Results of a graph of `torch.compile` that are views: PyTorch makes them itself, of the tensors that they look at.

Where sizes are open, it takes the strides and the offset of such a result and looks at its own tensor with them. What
is compiled gives new tensors, whose order is another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from baton._src.driver.frontends.torch_draws import described, filled
from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.program import name_of


@dataclass(frozen=True)
class View:
    """The calls, in order, that make a view of what `root` gives."""

    root: Any
    calls: tuple[Any, ...]

    def of(self, tensor: Any, sizes: Mapping[Any, int]) -> Any:
        """The view of a tensor, where symbols have these sizes."""
        for call in self.calls:
            _, *rest = call.args
            given = filled(described(rest), sizes)
            tensor = call.target(tensor, *given, **filled(described(call.kwargs), sizes))
        return tensor


def view_of(node: Any, roots: Collection[Any], symbols: Collection[Any]) -> View | None:
    """A node as a view of one of `roots`, if it is one and its sizes are made of `symbols`."""
    calls: list[Any] = []
    while not calls or node not in roots:
        if not _is_view(node) or not _is_known([*node.args[1:], *node.kwargs.values()], symbols):
            return None
        calls.append(node)
        node = node.args[0]
    return View(node, tuple(reversed(calls)))


def _is_view(node: Any) -> bool:
    """Whether a call looks at its first operand's memory; what takes one of several such results does, too."""
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], torch_library().fx.Node):
        return False
    if name_of(node.target) == "_operator.getitem":
        return _is_view(node.args[0])
    schema = getattr(node.target, "_schema", None)
    infos = [r.alias_info for r in schema.returns] if schema is not None else []
    return any(i is not None and not i.is_write for i in infos)


def _is_known(arguments: Any, symbols: Collection[Any]) -> bool:
    """Whether all sizes among arguments are made of symbols whose values calls tell, and none is a tensor."""
    torch = torch_library()
    if isinstance(arguments, (tuple, list)):
        return all(_is_known(a, symbols) for a in arguments)
    found = described(arguments)
    if isinstance(found, torch.SymInt):
        return all(s in symbols for s in found.node.expr.free_symbols)
    return not isinstance(found, torch.Tensor)
