"""Slices whose bounds are tensors: dynamic_strided_slice (all axes), Relay's dyn.strided_slice.

Constant bounds give a known shape; otherwise Relax knows the rank, Relay which dims are unknown.
Source: facts relax-ops-passes-vm §1 (index), relay-language §6 (dyn).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from baton._src.ir.attrs import Attrs
from baton._src.ir.op_def import Definition, Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front
from baton._src.ops.dims import DimMath
from baton._src.ops.operand_checks import check_integers, check_ranks
from baton._src.ops.shape.slice_bounds import bounds, length
from baton._src.ops.shape.slicing import StridedSliceAttrs, cuts, python_slices
from baton._src.tir.expr import AnyDim, IntImm
from baton._src.values.tensor import AnyArray


def infer_dynamic(call: OpCall[Attrs]) -> Info:
    """The rank; the dims too where the bounds are constants."""
    x = call.tensor(0)
    check_ranks(call, None, 1, 1, 1)
    check_integers(call, 1, 2, 3)
    if x.ndim < 0:
        return TensorInfo(None, x.dtype, -1, x.vdevice)
    known = [v for v in call.values[1:4] if v is not None]
    if x.shape is not None and len(known) == 3:
        return _static_slice(call, x, known)
    if call.op.in_relax:
        return TensorInfo(None, x.dtype, x.ndim, x.vdevice)
    return TensorInfo(_cut_dims(call, x), x.dtype, x.ndim, x.vdevice)


def _cut_dims(call: OpCall[Attrs], x: TensorInfo) -> tuple[Dim, ...] | None:
    """Relay: unknown where an axis is cut."""
    if x.shape is None:
        return None
    count = call.tensor(1).shape
    number = count[0] if count is not None and isinstance(count[0], int) else x.ndim
    axes = getattr(call.attrs, "axes", None)
    gone = range(number) if axes is None else [from_front(a, x.ndim) for a in axes]
    return tuple(AnyDim() if i in gone else d for i, d in enumerate(x.shape))


def _static_slice(call: OpCall[Attrs], x: TensorInfo, known: Sequence[npt.ArrayLike]) -> TensorInfo:
    assert x.shape is not None
    a = _dynamic_attrs(call.attrs)
    math, shape = DimMath(call.prover), list(x.shape)
    for c in cuts(_dynamic_given(known, call.attrs), a, x.ndim):
        start, stop = bounds(math, c.begin, c.end, c.stride, shape[c.axis], False)
        shape[c.axis] = length(math, start, stop, c.stride, False)
    return TensorInfo(tuple(shape), x.dtype, vdevice=x.vdevice)


def _dynamic_given(values: Sequence[npt.ArrayLike], a: Attrs) -> tuple[tuple[int, ...], ...]:
    lists = [tuple(int(v) for v in np.asarray(x).reshape(-1)) for x in values]
    axes = getattr(a, "axes", None)
    return (tuple(range(len(lists[0]))) if axes is None else axes, *lists)


def _dynamic_attrs(a: Attrs) -> StridedSliceAttrs:
    return StridedSliceAttrs(slice_mode=getattr(a, "slice_mode", "end"))


def compute_dynamic(inputs: Sequence[k.Tensor], a: Attrs, out: k.Result) -> k.Tensor:
    """Bounds are read, counted from the front and clipped when the kernel runs."""
    x, begin, _, strides = inputs
    axes = getattr(a, "axes", None)
    named = tuple(range(x.ndim)) if axes is None else tuple(from_front(v, x.ndim) for v in axes)
    count = begin.shape[0].value if isinstance(begin.shape[0], IntImm) else len(named)
    named = named[:count]

    def place(axis: int, i: k.Scalar) -> k.Scalar:
        if axis not in named:
            return i
        at = k.index(named.index(axis))
        step = k.cast("int64", strides(at)) if getattr(a, "slice_mode", "end") == "end" else k.index(1)
        return _runtime_start(k.cast("int64", begin(at)), step, k.index(x.shape[axis])) + i * step

    return k.compute(
        out.shape, lambda *i: x(*(place(axis, j) for axis, j in enumerate(i))), "T_strided_slice_dynamic", axes="ax"
    )


def _runtime_start(begin: k.Scalar, step: k.Scalar, dim: k.Scalar) -> k.Scalar:
    start = k.select(begin < k.index(0), begin + dim, begin)
    forward = step > k.index(0)
    low = k.select(forward, k.index(0), k.index(-1))
    high = k.select(forward, dim, dim - k.index(1))
    return k.maximum(low, k.minimum(start, high))


def reference_dynamic(inputs: Sequence[AnyArray], a: Attrs) -> AnyArray:
    """Python's slices."""
    x = inputs[0]
    found = cuts(_dynamic_given(inputs[1:4], a), _dynamic_attrs(a), x.ndim)
    return np.ascontiguousarray(x[python_slices(found, x.shape)])


_TENSOR_BOUNDS = (Input("begin"), Input("end"), Input("strides"))

DYNAMIC_STRIDED_SLICE: Definition = OpDef(
    "dynamic_strided_slice",
    inputs=(Input("x"), *_TENSOR_BOUNDS),
    infer=infer_dynamic,
    compute=compute_dynamic,
    reference=reference_dynamic,
    gradient=NotApplicable("the cut is known only when it runs"),
    fusion=Fusion.INJECTIVE,
    relay_name=NotApplicable("Relay's is dyn.strided_slice"),
    shape_values=(1, 2, 3),
    samples=lambda: (),
    summary="Slice along all axes, with bounds computed at run time.",
)

DYN_STRIDED_SLICE = OpDef(
    "dyn.strided_slice",
    StridedSliceAttrs,
    inputs=(Input("data"), *_TENSOR_BOUNDS),
    infer=infer_dynamic,
    compute=compute_dynamic,
    reference=reference_dynamic,
    gradient=NotApplicable("the cut is known only when it runs"),
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    shape_values=(1, 2, 3),
    samples=lambda: (),
    summary="Slice with bounds computed at run time.",
)

DYNAMIC_SLICES = (DYNAMIC_STRIDED_SLICE, DYN_STRIDED_SLICE)
