"""Operators that PyTorch keeps whole, in its own terms: what is scanned, strides, windows, writes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from baton._src.frontends.torch.library import torch_library
from baton._src.frontends.torch.scans import Scanned, scanned


def running_extreme(better: str) -> Callable[[Any, int], Any]:
    """The greatest (`ge`) or least (`le`) element up to each one and its place; the last of several, NaN before all."""

    def take_apart(x: Any, dim: int) -> Any:
        torch = torch_library()
        if not x.dim():
            return x.clone(), torch.zeros((), dtype=torch.int64)

        def joined(before: Scanned, here: Scanned) -> Scanned:
            wins = getattr(torch, better)(here[0], before[0])
            if x.is_floating_point():
                wins = here[0].isnan() | (wins & ~before[0].isnan())
            return tuple(torch.where(wins, b, a) for a, b in zip(before, here, strict=True))

        shape = [1] * x.dim()
        shape[dim] = -1
        places = torch.arange(x.shape[dim]).view(shape).expand(x.shape)
        return scanned((x, places), dim, joined)

    return take_apart


def log_running_sum(x: Any, dim: int) -> Any:
    """log(cumsum(exp(x))), where every step keeps what is small."""
    torch = torch_library()
    if not x.dim():
        return x.clone()
    return scanned((x,), dim, lambda a, b: (torch.logaddexp(a[0], b[0]),))[0]


def strided(x: Any, size: Sequence[Any], stride: Sequence[Any], storage_offset: Any = None) -> Any:
    """Elements by where they lie in memory, as far as they are elements of a tensor without gaps."""
    offset = 0 if storage_offset is None else storage_offset - x.storage_offset()
    order = _by_memory(x)
    if order is None:
        return NotImplemented
    flat = x.permute(order).reshape(-1)
    wide = [k for k in range(len(size)) if size[k] != 1]
    sorted_axes = sorted(wide, key=lambda k: stride[k], reverse=True)
    sizes = [size[k] for k in sorted_axes]
    if offset == 0 and _dense(sizes, [stride[k] for k in sorted_axes]) and math.prod(sizes) == flat.shape[0]:
        back = [sorted_axes.index(k) for k in wide]
        return flat.reshape(sizes).permute(back).reshape(tuple(size))
    places = _places(size, stride, offset, flat.shape[0])
    return NotImplemented if places is None else flat[places]


def strided_written(x: Any, source: Any, size: Sequence[Any], stride: Sequence[Any], storage_offset: Any = None) -> Any:
    """`x` with `source` written to elements by where they lie in memory."""
    order = _by_memory(x)
    if order is None:
        return NotImplemented
    offset = 0 if storage_offset is None else storage_offset - x.storage_offset()
    places = _places(size, stride, offset, x.numel())
    if places is None:
        return NotImplemented
    sorted_x = x.permute(order)
    flat = sorted_x.reshape(-1).index_put((places,), source.to(x.dtype).expand(places.shape))
    return flat.view(sorted_x.shape).permute([order.index(a) for a in range(x.dim())])


def _by_memory(x: Any) -> list[int] | None:
    """The axes of a tensor without gaps, the widest first."""
    axes = [a for a in range(x.dim()) if x.shape[a] != 1]
    order = sorted(axes, key=lambda a: x.stride(a), reverse=True)
    dense = _dense([x.shape[a] for a in order], [x.stride(a) for a in order])
    return [*order, *(a for a in range(x.dim()) if a not in axes)] if dense else None


def _places(size: Sequence[Any], stride: Sequence[Any], offset: Any, length: Any) -> Any:
    """Where elements are in memory of `length`, a tensor of `size`; None if only a run can tell, or beyond."""
    torch = torch_library()
    if not all(isinstance(n, int) for n in (*size, *stride, offset, length)) or 0 in size:
        return None
    last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    if offset < 0 or last >= length:
        return None
    places = torch.full((1,) * len(size), offset)
    for axis, (count, step) in enumerate(zip(size, stride, strict=True)):
        shape = [1] * len(size)
        shape[axis] = count
        places = places + (torch.arange(count) * step).view(shape)
    return places


def _dense(sizes: Sequence[Any], strides: Sequence[Any]) -> bool:
    """Whether axes, the widest first, cover memory without gaps and without overlap."""
    expected: Any = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if stride != expected:
            return False
        expected = expected * size
    return True


def windows(x: Any, dimension: int, size: int, step: int) -> Any:
    """Windows along an axis, every `step` elements; their elements are the last axis."""
    torch = torch_library()
    if not x.dim():
        return x.reshape(1)
    axis = dimension % x.dim()
    count = (x.shape[axis] - size) // step + 1
    places = (torch.arange(count) * step)[:, None] + torch.arange(size)
    found = x.index_select(axis, places.reshape(-1))
    return found.reshape(*x.shape[:axis], count, size, *x.shape[axis + 1 :]).movedim(axis + 1, -1)


def batches_added(x: Any, batch1: Any, batch2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * x + alpha * the sum of all products; whole numbers have whole factors."""
    if not (x.is_floating_point() or x.is_complex()):
        beta, alpha = int(beta), int(alpha)
    rows, columns = batch1.transpose(0, 1).flatten(1), batch2.flatten(0, 1)
    total = torch_library().mm(rows, columns)  # one product, whose sums are not rounded batch by batch
    total = total if alpha == 1 else total * alpha
    if beta == 0:
        return total
    return total + (x if beta == 1 else x * beta)


def distance(x: Any, y: Any, p: Any = 2) -> Any:
    """The p-norm of the difference."""
    return torch_library().linalg.vector_norm(x - y, p)


def diagonal_scatter(x: Any, source: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """`x` with a diagonal replaced."""
    torch = torch_library()
    places = torch.arange(x.numel()).view(x.shape).diagonal(offset, dim1, dim2)
    flat = x.reshape(-1).index_copy(0, places.reshape(-1), source.to(x.dtype).expand(places.shape).reshape(-1))
    return flat.view(x.shape)


def narrowed(x: Any, dim: int, start: Any, length: Any) -> Any:
    return x.narrow(dim, start, length)


def index_reduce(x: Any, dim: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Any:
    """`scatter_reduce` of whole slices."""
    if not x.dim():
        row = index_reduce(x.reshape(1), 0, index.reshape(-1), source.reshape(-1), reduce, include_self=include_self)
        return row.reshape(())
    shape = [1] * x.dim()
    shape[dim] = -1
    places = index.view(shape).expand(source.shape)
    return x.scatter_reduce(dim, places, source, reduce, include_self=include_self)


def median_of_numbers(x: Any, dim: int, keepdim: bool = False) -> Any:
    """(the lower one of two in the middle, its place), without NaN, which is sorted behind all numbers."""
    torch = torch_library()
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64)
    values, places = x.sort(dim)
    counts = torch.isnan(x).logical_not().sum(dim, keepdim=True)
    middle = torch.div(counts - 1, 2, rounding_mode="floor").clamp(min=0)
    found = tuple(part.gather(dim, middle) for part in (values, places))
    return found if keepdim else tuple(part.squeeze(dim) for part in found)


def whole_median_of_numbers(x: Any) -> Any:
    return median_of_numbers(x.reshape(-1), 0)[0]


def most_frequent(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """(the least of the most frequent elements, its last place): in order, equal ones are side by side."""
    torch = torch_library()
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64)
    values, places = torch.sort(x, dim=dim, stable=True)
    row, at = values.movedim(dim, -1), places.movedim(dim, -1)
    first = torch.searchsorted(row.contiguous(), row.contiguous())
    behind = torch.searchsorted(row.contiguous(), row.contiguous(), right=True)
    chosen = (behind - first).argmax(-1, keepdim=True)
    last = behind.gather(-1, chosen) - 1
    found = tuple(part.gather(-1, last).movedim(-1, dim) for part in (row, at))
    return found if keepdim else tuple(part.squeeze(dim) for part in found)


def put(x: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """Elements written to places in the flattened tensor."""
    flat = x.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1), accumulate)
    return flat.view(x.shape)


def times_power_of_two(x: Any, exponent: Any) -> Any:
    return x * torch_library().pow(2.0, exponent)


def nonzero_static(x: Any, *, size: int, fill_value: int = -1) -> Any:
    """[size, rank]: the places of the first elements that are not zero; what is left is filled."""
    torch = torch_library()
    if not all(isinstance(n, int) for n in (size, *x.shape)):
        return NotImplemented
    if not x.dim():
        return torch.zeros(size, 0, dtype=torch.int64)
    seen = x.reshape(-1) != 0
    turn = torch.cumsum(seen.to(torch.int64), 0) - 1
    turn = torch.where(seen & (turn < size), turn, size)
    places = torch.full((size + 1,), -1).scatter(0, turn, torch.arange(x.numel()))[:size]
    columns = [torch.div(places, math.prod(x.shape[a + 1 :]), rounding_mode="floor") % n for a, n in enumerate(x.shape)]
    return torch.where((places < 0)[:, None], fill_value, torch.stack(columns, 1))


def resized(x: Any, size: Sequence[Any], *, memory_format: Any = None) -> Any:
    """The first elements in memory in another shape. More of them than there are would be whatever lies there."""
    if not all(isinstance(n, int) for n in (*size, *x.shape)) or math.prod(size) > x.numel():
        return NotImplemented
    flat = x.reshape(-1)
    return flat[: math.prod(size)].reshape(tuple(size)) if x.is_contiguous() else NotImplemented


def within_norm(weight: Any, indices: Any, max_norm: float, norm_type: float) -> Any:
    """Rows of a table that are looked up are scaled down to a norm of `max_norm`."""
    torch = torch_library()
    size = torch.linalg.vector_norm(weight, norm_type, 1, keepdim=True)
    used = torch.zeros(weight.shape[0], 1, dtype=torch.bool).index_fill(0, indices.reshape(-1), True)
    return torch.where(used & (size > max_norm), weight * (max_norm / (size + 1e-7)), weight)
