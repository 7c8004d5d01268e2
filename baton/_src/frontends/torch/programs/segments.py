"""Histograms, and reductions of segments, in terms of PyTorch: what elements are gathered into numbered places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library


def histogram(
    x: Any, bins: int = 100, *, range: Sequence[float] | None = None, weight: Any = None, density: bool = False
) -> tuple[Any, Any]:
    """(how many elements, or what weights, each of equally wide bins has; the edges of the bins)."""
    rows = x.reshape(-1, 1)
    (edges,) = bin_edges(rows, (bins,), range=range)
    return histogram_between(x, edges, weight=weight, density=density)


def histogram_between(x: Any, edges: Any, *, weight: Any = None, density: bool = False) -> tuple[Any, Any]:
    """(how many elements there are between every two edges that follow each other, the edges)."""
    return histogram_of_rows(x.reshape(-1, 1), (edges,), weight=weight, density=density), edges


def histogram_in_bins(
    x: Any, bins: Sequence[int], *, range: Sequence[float] | None = None, weight: Any = None, density: bool = False
) -> Any:
    """`histogram_of_rows` in equally wide bins."""
    return histogram_of_rows(x, bin_edges(x, bins, range=range), weight=weight, density=density)


def bin_edges(
    x: Any, bins: Sequence[int], *, range: Sequence[float] | None = None, weight: Any = None, density: bool = False
) -> list[Any]:
    """The edges of equally wide bins for each column, from its least element to its greatest where `range` is None."""
    ends = _ends(x.reshape(-1, len(bins)), range)
    return [evenly_spaced(low, high, count + 1, dtype=x.dtype) for (low, high), count in zip(ends, bins, strict=True)]


def _ends(rows: Any, range: Sequence[float] | None) -> list[tuple[Any, Any]]:
    """Where the bins of each column begin and end; one number alone lies in the middle of a bin that is 1 wide."""
    torch, columns = torch_library(), rows.shape[1]
    if range is None and rows.shape[0]:
        low, high = rows.amin(0), rows.amax(0)
        finite = (torch.isfinite(low) & torch.isfinite(high)).all()
        torch.ops.aten._assert_async.msg(finite, "the range of a histogram is not finite")
        half = torch.where(low == high, 0.5, 0.0).to(rows.dtype)
        return list(zip((low - half).unbind(), (high + half).unbind(), strict=True))
    numbers = iter((0.0, 1.0) * columns if range is None else range)
    return [(low - 0.5, high + 0.5) if low == high else (low, high) for low, high in zip(numbers, numbers, strict=True)]


def evenly_spaced(start: Any, end: Any, steps: int, *, dtype: Any = None, **_: Any) -> Any:
    """`steps` numbers from one to the other, each counted from the end that is nearer; whole ones by float64."""
    torch = torch_library()
    dtype = dtype or torch.get_default_dtype()
    wide = dtype if dtype.is_floating_point else torch.float64
    first, last = (
        (b.to(dtype) if isinstance(b, torch.Tensor) else torch.full((), b, dtype=dtype)).to(wide) for b in (start, end)
    )
    place = torch.arange(steps)
    step = (last - first) / max(steps - 1, 1)
    half = steps // 2 + (steps == 1)
    return torch.where(place < half, first + step * place, last - step * (steps - 1 - place)).to(dtype)


def histogram_of_rows(x: Any, edges: Sequence[Any], *, weight: Any = None, density: bool = False) -> Any:
    """How many rows lie in each box: between two edges in every column; the last ones have their upper end, too.

    With `density` divided by their sum and by the sizes of the boxes.
    """
    torch = torch_library()
    rows, shape = x.reshape(-1, len(edges)), [edge.shape[0] - 1 for edge in edges]
    place, inside = torch.zeros(rows.shape[0], dtype=torch.int64), torch.ones(rows.shape[0], dtype=torch.bool)
    for column, (edge, count) in enumerate(zip(edges, shape, strict=True)):
        numbers = rows[:, column].contiguous()
        inside = inside & (numbers >= edge[0]) & (numbers <= edge[-1])
        place = place * count + (torch.searchsorted(edge, numbers, right=True) - 1).clamp(0, count - 1)
    counted = torch.ones_like(place, dtype=x.dtype) if weight is None else weight.reshape(-1)
    counted = torch.where(inside, counted, 0)
    found = torch.zeros(math.prod(shape), dtype=x.dtype).index_add(0, place, counted).reshape(shape)
    return _density(found, edges) if density else found


def _density(found: Any, edges: Sequence[Any]) -> Any:
    """Shares of the whole for one unit of the space."""
    found = found / found.sum()
    for axis, edge in enumerate(edges):
        widths = [1] * len(edges)
        widths[axis] = -1
        found = found / (edge[1:] - edge[:-1]).reshape(widths)
    return found


_REDUCTIONS = {
    "sum": ("sum", 0.0), "mean": ("sum", 0.0), "prod": ("prod", 1.0), "max": ("amax", -math.inf),
    "min": ("amin", math.inf),
}  # fmt: skip
"""(what scattering calls it, what nothing gives)"""


def segment_reduce(
    data: Any, reduce: str, *, lengths: Any = None, indices: Any = None, offsets: Any = None, axis: int = 0,
    unsafe: bool = False, initial: Any = None,
) -> Any:  # fmt: skip
    """What is made of each segment along `axis`: as long as `lengths` say, or between every two `offsets`."""
    torch = torch_library()
    if indices is not None:
        return NotImplemented
    size = data.shape[axis]
    if offsets is None:
        offsets = torch.cat((torch.zeros_like(lengths[..., :1]), lengths.cumsum(-1)), -1)
        if not unsafe:
            whole = (lengths >= 0).all() & (offsets[..., -1] == size).all()
            torch.ops.aten._assert_async.msg(whole, "the lengths of segments do not add up to the size of the axis")
    count = offsets.shape[axis] - 1
    turn = (offsets[..., None, :] <= torch.arange(size)[:, None]).sum(-1) - 1
    turn = torch.where(turn < 0, count, turn)  # what no segment has is gathered behind the last one
    trailing = (1,) * (data.dim() - axis - 1)
    way, start = _REDUCTIONS[reduce]
    shape = (*data.shape[:axis], count + 1, *data.shape[axis + 1 :])
    begun = torch.full(shape, start if initial is None else initial, dtype=data.dtype)
    places = turn.reshape(*turn.shape, *trailing).expand(data.shape)
    found = begun.scatter_reduce(axis, places, data, way).narrow(axis, 0, count)
    if reduce != "mean":
        return found
    sizes = (offsets[..., 1:] - offsets[..., :-1]).to(data.dtype)
    sizes = sizes if initial is None else sizes.clamp(min=1)
    return found / sizes.reshape(*sizes.shape, *trailing)
