"""Bounds of slices that depend on symbolic sizes: PyTorch knows on which side of the axis limits they are.

It decided that while tracing, and guards or asserts the decision: a negative bound counts from the end, one beyond the
axis is clipped, an end before the beginning gives an empty slice. For bounds that depend on elements, this is decided
at run time.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.complex.pair import Pair
from baton._src.frontends.torch.library import torch_library
from baton._src.ir.tensor_info import Dim
from baton._src.tir.operators import max as tir_max
from baton._src.tir.operators import min as tir_min

_BOUNDS = {
    "aten.slice.Tensor": (1, 2, 3),
    "aten.slice_scatter.default": (2, 3, 4),
    "aten.select.int": (1, 2),
    "aten.select_scatter.default": (2, 3),
    "aten.narrow.default": (1, 2),
}
"""The positions of the axis and of the bounds among the operands."""


def within(node: Any, name: str, operands: Sequence[Any]) -> list[Any]:
    """The operands of a node, symbolic bounds among them counted from the front and within the axis."""
    found, torch = list(operands), torch_library()
    if name not in _BOUNDS:
        return found
    axis, *places = _BOUNDS[name]
    tensor = found[0].real if isinstance(found[0], Pair) else found[0]
    if not isinstance(tensor, Value) or tensor.shape is None:
        return found
    size, own = node.args[0].meta["val"].shape[found[axis]], tensor.shape[found[axis]]
    known = []
    for place in places:
        bound = _meaning(node.args[place] if place < len(node.args) else None)
        if isinstance(bound, torch.SymInt):
            if _is(bound < 0):
                bound, found[place] = (0, 0) if _is(bound + size < 0) else (bound + size, found[place] + own)
            elif _is(bound > size):
                bound, found[place] = size, own
            elif not (_is(bound >= 0) and _is(bound <= size)):
                found[place] = _from_either_end(found[place], own, cut_off=len(places) == 2)
        elif isinstance(bound, int) and bound < 0 and len(places) == 2:
            bound, found[place] = bound + size, _from_either_end(bound, own, cut_off=True)
        known.append(bound)
    if len(known) == 2 and _is_open(known):
        first, begin = (0 if b is None else b for b in (known[0], found[places[0]]))
        if _is(known[1] < first):
            found[places[1]] = begin
        elif not _is(known[1] >= first):
            found[places[1]] = tir_max(begin, found[places[1]])
    return found


def _from_either_end(place: Dim, size: Dim, cut_off: bool) -> Dim:
    """A position that counts from the end if it is negative at run time; clipped to the axis if `cut_off`."""
    place = place + size * tir_min(tir_max(0 - place, 0), 1)
    return tir_max(tir_min(place, size), 0) if cut_off else place


def _is_open(bounds: Sequence[Any]) -> bool:
    """Whether a slice has an end, and one of its bounds is symbolic."""
    symbol = torch_library().SymInt
    return bounds[1] is not None and any(isinstance(b, symbol) for b in bounds)


def _meaning(argument: Any) -> Any:
    return argument.meta["val"] if isinstance(argument, torch_library().fx.Node) else argument


def _is(condition: Any) -> bool:
    """PyTorch's decision; False if it is known only at run time."""
    return bool(import_module("torch.fx.experimental.symbolic_shapes").guard_or_false(condition))
