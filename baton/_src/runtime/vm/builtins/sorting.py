"""TVM's packed functions that sort: `tvm.contrib.sort.*`, for kernels and scripts that call them by name.

Elements that are equal keep their order. Results are written to the arguments that stand for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray, NDArray


def _order(data: AnyArray, axis: int, is_ascend: bool) -> AnyArray:
    if is_ascend:
        return np.argsort(data, axis, kind="stable")
    last = data.shape[axis] - 1
    return np.flip(last - np.argsort(np.flip(data, axis), axis, kind="stable"), axis)


def _axis(data: NDArray, axis: int) -> int:
    if not -len(data.shape) <= axis < len(data.shape):
        raise fail("sort-axis", f"axis {axis} is none of a tensor of shape {tuple(data.shape)}")
    return axis % len(data.shape)


def argsort(data: NDArray, out: NDArray, axis: int, is_ascend: bool) -> None:
    """The places of the elements in order."""
    out.data[...] = _order(data.data, _axis(data, axis), is_ascend)


def sort(data: NDArray, out: NDArray, axis: int, is_ascend: bool) -> None:
    """The elements in order."""
    place = _axis(data, axis)
    out.data[...] = np.take_along_axis(data.data, _order(data.data, place, is_ascend), place)


def argsort_nms(data: NDArray, sort_num: NDArray, out: NDArray, axis: int, is_ascend: bool) -> None:
    """The places of the first `sort_num` elements of each row in order, then those of the others as they are."""
    place = _axis(data, axis)
    rows, found = np.moveaxis(data.data, place, -1), np.moveaxis(out.data, place, -1)
    counts = sort_num.data.reshape(rows.shape[:-1])
    for row in np.ndindex(counts.shape):
        count = int(counts[row])
        found[row] = np.arange(rows.shape[-1])
        found[row][:count] = _order(rows[row][:count], 0, is_ascend)


def topk(data: NDArray, *rest: Any) -> None:
    """The `k` first elements and their places: outputs, then k (below 1: all), axis, what is wanted, whether ascending.

    Wanted are "both" (two outputs), "values" or "indices".
    """
    *outs, k, axis, ret_type, is_ascend = rest
    place = _axis(data, axis)
    if k > data.shape[place]:
        raise fail("sort-results", f"axis {place} of a tensor of shape {tuple(data.shape)} has no {k} elements")
    order = _order(data.data, place, is_ascend)
    order = order.take(range(k), place) if k >= 1 else order
    found = {"values": np.take_along_axis(data.data, order, place), "indices": order}
    wanted = ("values", "indices") if ret_type == "both" else (ret_type,)
    if len(wanted) != len(outs) or not set(wanted) <= set(found):
        raise fail("sort-results", f"topk of {ret_type!r} has {len(outs)} outputs", help="both, values or indices")
    for name, out in zip(wanted, outs):
        out.data[...] = found[name]


TABLE: Mapping[str, Callable[..., Any]] = {
    f"tvm.contrib.sort.{function.__name__}": function for function in (argsort, sort, argsort_nms, topk)
}
