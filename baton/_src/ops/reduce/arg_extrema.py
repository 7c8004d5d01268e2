"""Where extrema lie: argmax and argmin, along one axis or (axis None) over all elements in row-major order.

The first of equal elements wins (Relay's `select_last_index`: the last), and NaN before all numbers, as by NumPy.
Relax's results are int64, Relay's int32, so they are two operators each. Source: facts relax-ops-passes-vm §1 (search),
relay-language §6 level 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from baton._src.ir.op_def import Definition, Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.layouts import Folds
from baton._src.ops.reduce.attributes import ArgAttrs, RelayArgAttrs, folded_axes
from baton._src.ops.reduce.folds import full_indices, infer_fold
from baton._src.ops.samples import Arr, Sample
from baton._src.te import computation, reduction
from baton._src.tir.kept_pair import Pair, is_kept
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

R = TypeVar("R", ArgAttrs, RelayArgAttrs)


def _define(name: str, is_max: bool, dtype: DataType, record: type[R]) -> OpDef[R]:
    def infer(call: OpCall[R]) -> Info:
        found = infer_fold(call)
        assert isinstance(found, TensorInfo)
        _check_not_empty(call)
        return TensorInfo(found.shape, dtype, found.ndim, found.vdevice)

    def compute(inputs: Sequence[k.Tensor], a: R, out: k.Result) -> k.Tensor:
        (x,) = inputs
        axes = folded_axes(x.ndim, a)
        found = _extremum(x, axes, a, out.shape, is_max)
        return k.compute(out.shape, lambda *i: k.cast(dtype, found(*i)), f"{x.name}_red", axes="ax")

    def reference(inputs: Sequence[AnyArray], a: R) -> AnyArray:
        return _reference(np.asarray(inputs[0]), a, is_max).astype(dtype.numpy)

    relay_only = record is RelayArgAttrs
    return OpDef(
        name,
        record,
        inputs=(Input("x", relay_name="data"),),
        infer=infer,
        compute=compute,
        reference=reference,
        gradient=NotApplicable("not differentiable"),
        fusion=Fusion.COMM_REDUCE,
        layout=Folds(numbered=True),
        relay_name=name.removesuffix("_int32") if relay_only else NotApplicable("Relay's indices are int32"),
        in_relax=not relay_only,
        samples=lambda: _samples(record),
        summary=f"The index of the {'largest' if is_max else 'smallest'} element.",
    )


def _reference(x: AnyArray, a: ArgAttrs | RelayArgAttrs, is_max: bool) -> AnyArray:
    """The index of the extremum, by NumPy along one axis that takes the place of the searched ones."""
    axes = folded_axes(x.ndim, a)
    kept = [i for i in range(x.ndim) if i not in axes]
    count = math.prod(x.shape[i] for i in axes)
    rows = x.transpose([*kept, *axes]).reshape(*(x.shape[i] for i in kept), count)
    if a.select_last_index:
        rows = rows[..., ::-1]
    found = (np.argmax if is_max else np.argmin)(rows, axis=-1)
    if a.select_last_index:
        found = rows.shape[-1] - 1 - found
    shape = [1 if i in axes else d for i, d in enumerate(x.shape)] if a.keepdims else [x.shape[i] for i in kept]
    return np.asarray(found).reshape(shape)


def _check_not_empty(call: OpCall[ArgAttrs | RelayArgAttrs]) -> None:
    """No element is the largest of none; an axis of open size is looked at when the program runs."""
    x, sizes = call.tensor(0), DimMath(call.prover)
    if x.shape is None:
        return
    for axis in folded_axes(x.ndim, call.attrs):
        if sizes.at_most(1, x.shape[axis]) is False:
            call.fail(f"axis {axis} of {show_shape(x.shape)} has no elements to search")


def arg_reducer(*, is_max: bool, last: bool = False) -> reduction.Reducer:
    """The reduction of (position, value) pairs to an extremum. The schedule `arg_extrema` recognises it."""

    def pick(left: Pair, right: Pair) -> Pair:
        keep = is_kept(left, right, is_max=is_max, last=last)
        return k.select(keep, left[0], right[0]), k.select(keep, left[1], right[1])

    def nothing(_: DataType, dtype: DataType) -> Pair:
        return k.const(-1 if last else 2**63 - 1, "int64"), k.lowest(dtype) if is_max else k.highest(dtype)

    return reduction.comm_reducer(pick, nothing, "argmax" if is_max else "argmin")


def _extremum(
    x: k.Tensor, axes: tuple[int, ...], a: ArgAttrs | RelayArgAttrs, shape: Sequence[Dim], is_max: bool
) -> k.Tensor:
    """The row-major position of the extremum within the searched axes, as int64."""
    reduced = {i: k.reduce_axis(x.shape[i], f"k{i}") for i in axes}
    along = {i: axis.var for i, axis in reduced.items()}
    reducer = arg_reducer(is_max=is_max, last=a.select_last_index)

    def body(*indices: k.Scalar) -> tuple[k.Scalar, ...]:
        position = k.index(0)
        for axis in reduced.values():
            position = position * axis.extent + axis.var
        return reducer((position, x(*full_indices(indices, x.ndim, along, a.keepdims))), list(reduced.values()))

    names = [f"ax{n}" for n in range(len(shape))]
    return computation.compute(k.dims(shape), body, f"{x.name}_red_temp", varargs_names=names)[0]


def _samples(record: type[ArgAttrs] | type[RelayArgAttrs]) -> tuple[Sample, ...]:
    calls = [
        Sample((Arr(("n", 5)),), record(axis=1)),
        Sample((Arr((3, "m"), "int32", 0, 3),), record(axis=0, keepdims=True)),
        Sample((Arr((2, 3, 4)),), record()),
    ]
    if record is RelayArgAttrs:
        calls.append(Sample((Arr((3, 8), "int32", 0, 3),), record(axis=1, select_last_index=True)))
    return tuple(calls)


_INT32, _INT64 = DataType("int32"), DataType("int64")
ARG_EXTREMA: tuple[Definition, ...] = (
    _define("argmax", True, _INT64, ArgAttrs),
    _define("argmin", False, _INT64, ArgAttrs),
    _define("argmax_int32", True, _INT32, RelayArgAttrs),
    _define("argmin_int32", False, _INT32, RelayArgAttrs),
)
