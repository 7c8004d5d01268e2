"""take: slices of a tensor along one axis, picked by indices of any rank; without an axis, of the flattened
tensor.

    out[b..., i..., j..., k...] = data[b..., i..., index(indices[b..., j...]), k...]

Indices beyond the ends: `clip` takes the nearest end, `wrap` counts modulo the extent (so negative ones count from
the end), `fast` promises that there are none: one there is ends the call with an error.
Source: facts relax-ops-passes-vm §1 (index), relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, PrimInfo, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.row_major import element_count, split_index
from baton._src.ops.samples import Arr, Sample
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray

MODES = ("clip", "wrap", "fast")
_NUMPY_MODES: dict[str, Literal["clip", "wrap"]] = {"clip": "clip", "wrap": "wrap", "fast": "clip"}


@attrs
class TakeAttrs(Attrs):
    """The axis, and how indices out of range are treated."""

    axis: int | None = attr(None, "the axis to index; None: the flattened tensor")
    batch_dims: int = attr(
        0, "how many leading axes data and indices share (negative: counted from the end)", relay_only=True
    )
    mode: str = attr("clip", 'indices outside: "clip", "wrap" or "fast" (an error)', beyond=True)


def indices_info(call: OpCall[Attrs], position: int = 1) -> TensorInfo:
    """Indices: a tensor of integers, or a host integer, which counts as one of rank 0."""
    found = call.args[position]
    info = TensorInfo((), found.dtype) if isinstance(found, PrimInfo) else call.tensor(position)
    if not info.dtype.is_void and not info.dtype.is_int:
        call.fail(f"indices must be integers, got {info.dtype}", code="op-dtype", help='astype(indices, "int64")')
    return info


def infer(call: OpCall[TakeAttrs]) -> Info:
    """The data's dims with those of the indices in place of the axis."""
    x, at, a = call.tensor(0), indices_info(call), call.attrs
    if a.mode not in MODES:
        call.fail(f"mode must be one of {', '.join(MODES)}, got {a.mode!r}", code="op-attribute")
    if a.axis is None:
        _check_elements(call, x, at, at.shape)
        return TensorInfo(at.shape, x.dtype, at.ndim, x.vdevice)
    if x.ndim < 0 or at.ndim < 0:
        return TensorInfo(None, x.dtype, -1, x.vdevice)
    axis, batch = normal_axis(call, a.axis, x.ndim), from_front(a.batch_dims, at.ndim)
    if not 0 <= batch <= min(axis, at.ndim):
        call.fail(f"batch_dims {a.batch_dims} must lie between 0 and the axis {axis}", code="op-attribute")
    if x.shape is None or at.shape is None:
        return TensorInfo(None, x.dtype, x.ndim + at.ndim - 1 - batch, x.vdevice)
    _check_batch(call, x.shape, at.shape, batch)
    shape = (*x.shape[:axis], *at.shape[batch:], *x.shape[axis + 1 :])
    _check_elements(call, x, at, shape)
    return TensorInfo(shape, x.dtype, vdevice=x.vdevice)


def _check_elements(call: OpCall[TakeAttrs], x: TensorInfo, at: TensorInfo, result: tuple[Dim, ...] | None) -> None:
    """Check that there are elements to read if the result has any: clipped or wrapped, each index refers to one."""
    axis = call.attrs.axis
    if x.shape is None or at.shape is None or result is None or not all(isinstance(d, int) and d > 0 for d in result):
        return
    extents = x.shape if axis is None else x.shape[normal_axis(call, axis, x.ndim) :][:1]
    if 0 in extents:
        call.fail(f"indices {show_shape(at.shape)} have nothing to pick from in {show_shape(x.shape)}, axis {axis}")


def _check_batch(call: OpCall[Attrs], x: tuple[Dim, ...], at: tuple[Dim, ...], batch: int) -> None:
    math = DimMath(call.prover)
    if any(math.equal(a, b) is False for a, b in zip(x[:batch], at[:batch])):
        call.fail(f"data {show_shape(x)} and indices {show_shape(at)} differ in their first {batch} axes")


def in_range(position: Dim, extent: Dim, mode: str) -> k.Scalar:
    """`position` as a valid int64 index of an axis of this extent; `fast`: as it is, to be checked where it is used."""
    found, dim = k.index(position), k.index(extent)
    if mode == "fast":
        return found
    if mode == "wrap":
        return k.tir.FloorMod(found, dim)
    return k.maximum(k.index(0), k.minimum(found, dim - k.index(1)))


def compute(inputs: tuple[k.Tensor, k.Operand | int], a: TakeAttrs, out: k.Result) -> k.Tensor:
    """One read an element."""
    x, at = inputs
    rank = at.ndim if isinstance(at, k.Tensor) else 0

    def picked(indices: k.Indices, extent: k.Scalar) -> k.Scalar:
        value = at(*indices) if isinstance(at, k.Tensor) else at
        return in_range(value, extent, a.mode)

    if a.axis is None:
        total = element_count(x.shape)
        return k.compute(out.shape, lambda *i: x(*split_index(picked(i, total), x.shape)), "T_take", axes="ax")
    axis, batch = from_front(a.axis, x.ndim), from_front(a.batch_dims, rank)

    def body(*i: k.Scalar) -> k.Scalar:
        middle = i[axis : axis + rank - batch]
        position = picked((*i[:batch], *middle), x.shape[axis])
        return x(*i[:axis], position, *i[axis + rank - batch :])

    return k.compute(out.shape, body, "T_take", axes="ax")


def reference(inputs: Sequence[AnyArray], a: TakeAttrs) -> AnyArray:
    """`numpy.take`, batch by batch. Indices of a result without elements are not looked at."""
    x, at = np.asarray(inputs[0]), np.asarray(inputs[1]).astype(np.int64)
    if a.axis is None:
        x, axis, batch = x.reshape(-1), 0, 0
    else:
        axis, batch = from_front(a.axis, x.ndim), from_front(a.batch_dims, at.ndim)
    found = np.empty((*x.shape[:axis], *at.shape[batch:], *x.shape[axis + 1 :]), x.dtype)
    if not found.size:
        return found
    extent, mode = x.shape[axis], _NUMPY_MODES[a.mode]
    if a.mode == "fast" and not (at.min() >= 0 and at.max() < extent):
        raise IndexError(f"take: indices from {at.min()} to {at.max()} for an axis of {extent} elements")
    for place in np.ndindex(*x.shape[:batch]):
        found[place] = np.take(x[place], at[place], axis=axis - batch, mode=mode)
    return found


def gradient(b: CallMaker, args: Exprs, a: TakeAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Elements taken several times get several contributions; indices get no gradient."""
    if a.batch_dims:
        raise fail("op-gradient", "take has no gradient with batch_dims")
    return [b.op("grad.take_backward", grad, args[0], args[1], axis=a.axis, mode=a.mode), None]


def samples() -> tuple[Sample, ...]:
    return (
        Sample((Arr(("n", 4)), Arr((2, "m"), "int64", 0, 3)), TakeAttrs(axis=0)),
        Sample((Arr(("n", 5)), Arr((3,), "int32", -2, 9)), TakeAttrs(axis=-1)),
        Sample((Arr((3, 5)), Arr((3,), "int32", -4, 9)), TakeAttrs(axis=1, mode="wrap")),
        Sample((Arr((2, 3)), Arr((2, 2), "int64", -1, 9)), TakeAttrs()),
        Sample((Arr(("n", 3)), Arr((), "int64", 0, 2)), TakeAttrs(axis=0)),
        Sample((Arr(("n", 3)), 1), TakeAttrs(axis=1)),
        Sample((Arr((2, 3, 4)), Arr((2, 5), "int32", 0, 3)), TakeAttrs(axis=1, batch_dims=1)),
        Sample((Arr((2, 3, 4)), Arr((2, 5), "int32", 0, 3)), TakeAttrs(axis=-1, batch_dims=-1)),
    )


TAKE = OpDef(
    "take",
    TakeAttrs,
    inputs=(Input("x", "the data", relay_name="data"), Input("indices", "integer indices, or a host integer")),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=gradient,
    fusion=Fusion.INJECTIVE,
    samples=samples,
    summary="Take slices along an axis, by indices.",
)

TAKES = (TAKE,)
