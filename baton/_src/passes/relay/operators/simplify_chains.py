"""SimplifyExpr's rules about chains of operators that only move or convert elements.

reshape(reshape(x))         reshape(x)          cast(cast(x, "int8"...))   one cast where nothing is lost
transpose(transpose(x))     one, or none        layout_transform(layout_transform(x))      one, or none
layout_transform(transpose(x, [0, 3, 1, 2]), "NCHW", "NCHW4c")    layout_transform(x, "NHWC", "NCHW4c")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ops.shape.layout import moved_axes
from baton._src.passes.relay.building import Build, dtype_of, is_call, shape_of
from baton._src.relay.nodes import Call
from baton._src.values.dtype import DataType

RESHAPES = ("reshape", "contrib_reverse_reshape")


def reshapes(build: Build, call: Call) -> Any:
    """Remove a reshape to the same shape, or one before another reshape."""
    shape = shape_of(call) if is_call(call, *RESHAPES) else None
    if shape is None:
        return None
    x = call.args[0]
    if shape == shape_of(x):
        return x
    return build.op("reshape", x.args[0], newshape=shape) if is_call(x, *RESHAPES) else None


def transposes(build: Build, call: Call) -> Any:
    """Combine transposes, or remove those that cancel."""
    order = _order(call)
    if order is None:
        return _onward(build, call)
    if _is_in_place(order):
        return call.args[0]
    inner = call.args[0]
    before = _order(inner)
    if before is None:
        return _to_another_order(build, inner, order)
    both = [before[axis] for axis in order]
    return inner.args[0] if _is_in_place(both) else build.op("transpose", inner.args[0], axes=tuple(both))


def _order(call: Any) -> tuple[int, ...] | None:
    """The axes of its operand in the order of the result's, if `call` moves whole axes."""
    if is_call(call, "permute_dims", "transpose"):
        axes = call.attrs.axes if call.attrs is not None else None
        rank = len(call.checked_type.shape)
        return tuple(reversed(range(rank))) if axes is None else tuple(a % rank for a in axes)
    return moved_axes(call.attrs) if is_call(call, "relay_layout_transform") else None


def _is_in_place(order: Sequence[int]) -> bool:
    return list(order) == list(range(len(order)))


def _onward(build: Build, call: Call) -> Any:
    """Apply a blocking after a transpose or layout change directly to the original layout."""
    if not is_call(call, "relay_layout_transform"):
        return None
    source, target, inner = str(call.attrs.src_layout), str(call.attrs.dst_layout), call.args[0]
    order = _order(inner)
    if order is not None and source.isalpha():
        source = "".join(source[order.index(axis)] for axis in range(len(order)))
    elif is_call(inner, "relay_layout_transform") and inner.attrs.dst_layout == source:
        source = str(inner.attrs.src_layout)
    else:
        return None
    return _transformed(build, inner.args[0], source, target)


def _to_another_order(build: Build, inner: Any, order: Sequence[int]) -> Any:
    """Combine the unblocking of axes with the transpose after it."""
    if not is_call(inner, "relay_layout_transform") or not str(inner.attrs.dst_layout).isalpha():
        return None
    target = "".join(str(inner.attrs.dst_layout)[axis] for axis in order)
    return _transformed(build, inner.args[0], str(inner.attrs.src_layout), target)


def _transformed(build: Build, x: Any, source: str, target: str) -> Any:
    return x if source == target else build.op("relay_layout_transform", x, src_layout=source, dst_layout=target)


def casts(build: Build, call: Call) -> Any:
    """Remove a cast to the same dtype, or one before another cast that loses nothing."""
    if not is_call(call, "cast"):
        return None
    inner = call.args[0]
    if dtype_of(inner) == dtype_of(call):
        return inner
    if is_call(inner, "cast") and keeps_all(dtype_of(inner.args[0]), dtype_of(inner)):
        return build.op("cast", inner.args[0], dtype=dtype_of(call))
    return None


def keeps_all(source: DataType, target: DataType) -> bool:
    """Whether every value of `source` is one of `target`."""
    if source.kind in ("bfloat", "bool") or target.kind == "bfloat":
        return source.is_bool
    if source.is_int:
        return holds_integers(target, *source.int_range)  # NumPy calls int64 to float64 safe, which rounds
    return bool(np.can_cast(source.numpy, target.numpy, "safe"))


def holds_integers(dtype: DataType, low: float, high: float) -> bool:
    """Whether every integer between these bounds is a value of the dtype."""
    if dtype.is_float:
        return dtype.numpy.kind == "f" and max(abs(low), abs(high)) <= 2 ** (np.finfo(dtype.numpy).nmant + 1)
    least, most = dtype.int_range
    return dtype.is_int and least <= low and high <= most
