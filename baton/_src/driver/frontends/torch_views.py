"""How results of a graph of `torch.compile` lie in memory, which programs see: strides, and what shares elements.

Results that are views PyTorch makes itself, of the tensors that they look at; so does it with one that is given twice,
or is an input. What is compiled writes new tensors by rows: a result whose axes lie in another order is written with
its axes in that order, and looked at with the ones that it has.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from baton._src.driver.frontends.torch_complex import is_complex
from baton._src.driver.frontends.torch_draws import described, filled
from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.programs.program import name_of
from baton._src.support.dataclass import dataclass


@dataclass(frozen=True)
class View:
    """The calls, in order, that make a view of what `root` gives."""

    root: Any
    calls: tuple[Any, ...]

    def of(self, tensor: Any, sizes: Mapping[Any, int]) -> Any:
        """The view of a tensor, where symbols have these sizes.

        An input that is a result is a tensor of its own over the same memory: PyTorch notes on results what is open.
        """
        torch = torch_library()
        if not self.calls and self.root.op == "placeholder" and isinstance(tensor, torch.Tensor):
            return torch.ops.aten.alias.default(tensor)
        for call in self.calls:
            _, *rest = call.args
            given = filled(described(rest), sizes)
            tensor = call.target(tensor, *given, **filled(described(call.kwargs), sizes))
        return tensor


@dataclass(frozen=True)
class Written:
    """A result as it is written: `node` has its axes in the order of memory; `axes` gives them the order they have.

    `parts`: of a complex result, as a last axis.
    """

    node: Any
    axes: tuple[int, ...] | None = None
    parts: bool = False

    def seen(self, tensor: Any) -> Any:
        whole = torch_library().view_as_complex(tensor) if self.parts else tensor
        return whole if self.axes is None else whole.permute(self.axes)


def laid_out(node: Any) -> Written:
    """A result, its axes brought to the order of memory that PyTorch says it has."""
    aten, order, axes = torch_library().ops.aten, _order(node.meta["val"]), None
    if order is not None:
        node, axes = _called(aten.permute.default, node, order), tuple(order.index(a) for a in range(len(order)))
    if not is_complex(node.meta["val"]):
        return Written(node, axes)
    return Written(_called(aten.view_as_real.default, node), axes, parts=True)


def _called(operator: Any, node: Any, *rest: Any) -> Any:
    """A call behind all others."""
    with node.graph.inserting_before(node.graph.output_node()):
        found = node.graph.call_function(operator, (node, *rest))
    found.meta = {**node.meta, "val": operator(node.meta["val"], *rest)}
    return found


def _order(value: Any) -> list[int] | None:
    """The axes of a tensor, the widest first, if its elements are dense in another order than by rows.

    Sizes that are open are asked for by what they were while tracing: a question would be one more guard.
    """
    if not isinstance(value, torch_library().Tensor):
        return None
    sizes, strides = ([_hint(n) for n in each] for each in (value.shape, value.stride()))
    axes = range(len(sizes))
    wide = sorted((a for a in axes if sizes[a] != 1), key=lambda a: strides[a], reverse=True)
    if (
        wide == sorted(wide)
        or 0 in sizes
        or any(strides[a] != math.prod(sizes[b] for b in wide[k + 1 :]) for k, a in enumerate(wide))
    ):
        return None
    places = iter(wide)
    return [next(places) if sizes[a] != 1 else a for a in axes]


def _hint(size: Any) -> int:
    """A size, or what it was while tracing; what only elements decide is taken to be long."""
    if isinstance(size, int):
        return size
    return int(size.node.hint) if size.node.has_hint() else sys.maxsize


def views_of(placeholders: Sequence[Any], outputs: Mapping[int, Any], symbols: Collection[Any]) -> dict[int, View]:
    """The outputs, by place, that are inputs, outputs again, or views of either; their sizes are made of `symbols`."""
    roots, met = {*placeholders, *outputs.values()}, set(placeholders)
    found = {}
    for place, node in outputs.items():
        view = View(node, ()) if node in met else view_of(node, roots, symbols)
        met.add(node)
        if view is not None:
            found[place] = view
    return found


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
