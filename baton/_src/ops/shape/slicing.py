"""Slices: strided_slice, dynamic_strided_slice (Relay: dyn.strided_slice), slice_like, strided_set.

Relax passes axes, begin, end and strides as tuples of host scalars, Relay as attributes (or as tensors: `dyn.strided_slice`);
`slice_mode="size"` makes Relay's `end` a number of elements, -1 for all that are left. Bounds: see `slice_bounds`.
Source: facts relax-ops-passes-vm §1 (index), relay-language §6 levels 4 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from baton._src.ir.attrs import NO_ATTRS, Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, PrimInfo, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axes
from baton._src.ops.dims import DimMath, is_any, show_shape
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.slice_bounds import bounds, length
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import AnyDim, IntImm


@attrs
class StridedSliceAttrs(Attrs):
    """Bounds (in Relay) and what is promised of them (in Relax)."""

    begin: Any = attr(None, "first index an axis", relay_only=True)
    end: Any = attr(None, "index to stop before, an axis", relay_only=True)
    strides: Any = attr(None, "steps, an axis; None: 1", relay_only=True)
    axes: Any = attr(None, "the axes that are cut; None: the first ones", relay_only=True)
    slice_mode: str = attr("end", 'what end means: "end" or "size"', relay_only=True)
    assume_inbound: bool = attr(False, "bounds lie on the axis: nothing is clipped", relax_only=True)

    def __post_init__(self) -> None:
        for name in ("begin", "end", "strides", "axes"):
            given = getattr(self, name)
            if given is not None:
                set_attr(self, name, tuple(given) if isinstance(given, (tuple, list)) else (given,))


@dataclass(frozen=True)
class Cut:
    """What is taken along one axis."""

    axis: int
    begin: Any
    end: Any
    stride: int


def cuts(given: Sequence[Any], a: StridedSliceAttrs, ndim: int) -> list[Cut] | None:
    """The cuts, from arguments (axes, begin, end, strides: tuples of numbers, dims, or None if unknown) or attributes."""
    if given:
        axes, begin, end = given[0], given[1], given[2]
        strides = given[3] if len(given) > 3 else None
    else:
        axes, begin, end, strides = a.axes, a.begin, a.end, a.strides
    begin, end = _plain(begin or ()), _plain(end or ())
    count = max(len(begin), len(end))
    axes = tuple(range(count)) if axes is None else _plain(axes)
    strides = (1,) * len(axes) if not strides else _plain(strides)
    strides = (*strides, *(1,) * (len(axes) - len(strides)))
    begin = (*begin, *(None,) * (len(axes) - len(begin)))
    end = (*end, *(None,) * (len(axes) - len(end)))
    if a.slice_mode == "size":
        strides = (1,) * len(axes)
        end = tuple(_after(b, size) for b, size in zip(begin, end))
    return [Cut(from_front(int(x), ndim), b, e, s) for x, b, e, s in zip(axes, begin, end, strides)]


def _after(begin: Any, size: Any) -> Any:
    """Where a cut of so many elements ends."""
    if size is None or (isinstance(size, int) and size < 0):
        return None
    stop = (begin or 0) + size
    return None if isinstance(stop, int) and isinstance(begin, int) and begin < 0 <= stop else stop


def _plain(values: Sequence[Any]) -> tuple[Any, ...]:
    """Literals as ints, NumPy's too; symbolic dims stay."""
    found = []
    for v in values:
        v = v.value if isinstance(v, (PrimInfo, IntImm)) else v
        found.append(v if v is None or isinstance(v, PrimExpr) else int(v))
    return tuple(found)


def _prims(call: OpCall[Any], position: int) -> tuple[Any, ...] | None:
    """The values of an operand that is a tuple of host scalars; None if one of them is unknown."""
    found = call.args[position]
    if not isinstance(found, TupleInfo) or not all(isinstance(f, PrimInfo) for f in found.fields):
        call.fail(f"{call.op.inputs[position].name} must be a tuple of integers, got {found}", code="op-argument")
    values = tuple(f.value for f in found.fields if isinstance(f, PrimInfo))
    return None if any(v is None for v in values) else _plain(values)


def infer(call: OpCall[StridedSliceAttrs]) -> Info:
    """The number of elements along every axis that is cut."""
    x = call.tensor(0)
    given = [_prims(call, i) for i in range(1, len(call.args))]
    axes = given[0] if given else call.attrs.axes
    _check(call, given, axes, x)
    if x.shape is None:
        return TensorInfo(None, x.dtype, x.ndim, x.vdevice)
    if any(g is None for g in given):
        return TensorInfo(None, x.dtype, x.ndim, x.vdevice)
    found = cuts(given, call.attrs, x.ndim)
    if found is None or any(not isinstance(c.stride, int) for c in found):
        return TensorInfo(None, x.dtype, x.ndim, x.vdevice)
    math, shape = DimMath(call.prover), list(x.shape)
    inbound = call.attrs.assume_inbound
    for c in found:
        start, stop = bounds(math, c.begin, c.end, c.stride, shape[c.axis], inbound)
        shape[c.axis] = length(math, start, stop, c.stride, inbound)
    return TensorInfo(tuple(shape), x.dtype, vdevice=x.vdevice)


def _check(call: OpCall[StridedSliceAttrs], given: list[Any], axes: Any, x: TensorInfo) -> None:
    if axes is not None and x.ndim >= 0:
        normal_axes(call, axes, x.ndim, "axes")
    elif not given and x.ndim >= 0 and len(call.attrs.begin or ()) > x.ndim:
        call.fail(f"begin {call.attrs.begin} has more entries than {show_shape(x.shape, x.ndim)} has axes")
    lengths = {len(g) for g in given if g is not None}
    if len(lengths) > 1:
        call.fail("axes, begin, end and strides must have the same length", code="op-argument")
    strides = given[3] if len(given) > 3 else call.attrs.strides
    if any(isinstance(s, int) and s == 0 for s in strides or ()):
        call.fail(f"strides must not be 0, got {strides}", code="op-attribute")


def compute(inputs: Any, a: StridedSliceAttrs, out: Any) -> Any:
    """Element i along a cut axis is at start + i * stride."""
    x = inputs[0]
    given = [g for g in inputs[1:] if g is not None]
    math = DimMath(Analyzer())
    starts: dict[int, tuple[Any, int]] = {}
    for c in cuts(given, a, x.ndim) or ():
        start, _ = bounds(math, c.begin, c.end, c.stride, _dim(x.shape[c.axis]), a.assume_inbound)
        starts[c.axis] = (k.index(start), c.stride)

    def place(axis: int, i: Any) -> Any:
        if axis not in starts:
            return i
        start, stride = starts[axis]
        return start + (i if stride == 1 else i * k.index(stride))

    return k.compute(out.shape, lambda *i: x(*(place(axis, j) for axis, j in enumerate(i))), "strided_slice")


def _dim(dim: Any) -> Dim:
    return dim.value if isinstance(dim, IntImm) else dim


def python_slices(found: Sequence[Cut], shape: tuple[int, ...]) -> tuple[slice, ...]:
    """The cuts as Python's slices."""
    math = DimMath(Analyzer())
    result = [slice(None)] * len(shape)
    for c in found:
        start, stop = bounds(math, c.begin, c.end, c.stride, shape[c.axis], False)
        result[c.axis] = slice(start, None if isinstance(stop, int) and stop < 0 else stop, c.stride)
    return tuple(result)


def reference(inputs: Any, a: StridedSliceAttrs) -> Any:
    """Python's slices."""
    x = inputs[0]
    return np.ascontiguousarray(x[python_slices(cuts(inputs[1:], a, x.ndim) or (), x.shape)])


def to_relax(args: Sequence[Any], a: StridedSliceAttrs) -> tuple[Sequence[Any], Any]:
    """Bounds as arguments; open ones as numbers far out."""
    if len(args) > 1:
        return args, a
    ndim = max((x + 1 for x in a.axes or () if x >= 0), default=0)
    found = cuts((), a.with_attrs(axes=a.axes), ndim) or []
    axes = tuple(a.axes) if a.axes is not None else tuple(c.axis for c in found)
    begin = tuple((0 if c.stride > 0 else 2**31 - 1) if c.begin is None else c.begin for c in found)
    end = tuple((2**31 - 1 if c.stride > 0 else -(2**31)) if c.end is None else c.end for c in found)
    strides = tuple(c.stride for c in found)
    return (args[0], axes, begin, end, strides), StridedSliceAttrs(assume_inbound=a.assume_inbound)


def gradient(b: Any, args: Any, a: StridedSliceAttrs, out: Any, grad: Any) -> list[Any]:
    """The gradient written into zeros at the cut."""
    zeros = b.full_like(args[0], 0)
    return [b.op("strided_set", zeros, grad, *args[1:], **dict(_bound_attrs(a))), *(None for _ in args[1:])]


def _bound_attrs(a: Any) -> Any:
    return ((name, getattr(a, name)) for name in ("begin", "end", "strides", "axes", "slice_mode", "assume_inbound"))


def relax_builder(
    make: Any, x: Any, axes: Any, begin: Any, end: Any, strides: Any = None, assume_inbound: bool = False
) -> Any:
    """A single number is a tuple of one."""
    return make(x, axes, begin, end, strides, assume_inbound=assume_inbound)


def relay_builder(
    make: Any, data: Any, begin: Any, end: Any, strides: Any = None, axes: Any = None, slice_mode: str = "end"
) -> Any:
    """Bounds that are tensors make it `dyn.strided_slice`."""
    if any(isinstance(v, GraphExpr) for v in (begin, end, strides)):
        steps = make.const([1] * len(begin), "int64") if strides is None else strides
        return make.op("dyn.strided_slice", data, begin, end, steps, axes=axes, slice_mode=slice_mode)
    return make(data, begin=begin, end=end, strides=strides, axes=axes, slice_mode=slice_mode)


_BOUNDS = tuple(
    Input(name, doc, kind="prims", optional=name == "strides", languages=("relax",))
    for name, doc in (
        ("axes", "the axes that are cut"),
        ("begin", "first index"),
        ("end", "index to stop before"),
        ("strides", "steps; left out: 1"),
    )
)


def samples() -> tuple[Sample, ...]:
    def relay(shape: tuple[Any, ...], begin: Any, end: Any, **more: Any) -> Sample:
        return Sample((Arr(shape),), StridedSliceAttrs(begin=begin, end=end, **more))

    return (
        Sample((Arr(("n", 9)), (1,), (2,), (8,), (3,)), StridedSliceAttrs()),
        Sample((Arr(("n", 9)), (0, 1), (1, -4), (2**31 - 1, -1), (1, 1)), StridedSliceAttrs()),
        Sample((Arr((5, "m")), (1,), (-1,), (-(2**31),), (-1,)), StridedSliceAttrs()),
        Sample((Arr(("n", "m")), (0,), (0,), ("m",)), StridedSliceAttrs()),
        Sample((Arr((8, "m")), (0,), (1,), ("m",), (2,)), StridedSliceAttrs(assume_inbound=True)),
        Sample((Arr((4, 3)), (0,), (3,), (1,), (1,)), StridedSliceAttrs()),
        relay((4, 6), (1, 0), (3, 5), strides=(1, 2)),
        relay((4, 6), (3, 5), (0, -7), strides=(-1, -2)),
        relay(("n", 6), (1,), (4,), axes=(1,)),
        relay((4, 6), (1, 2), (2, -1), slice_mode="size"),
        relay((4, 6), (1,), (100,)),
    )


STRIDED_SLICE = OpDef(
    "strided_slice",
    StridedSliceAttrs,
    inputs=(Input("x", relay_name="data"), *_BOUNDS),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=gradient,
    fusion=Fusion.INJECTIVE,
    relay_builder=relay_builder,
    relax_builder=relax_builder,
    relay_to_relax=to_relax,
    samples=samples,
    summary="Every stride-th element between two bounds, along some axes.",
)


# ------------------------------------------------------------------------------------------------- dynamic


def infer_dynamic(call: OpCall[Any]) -> Info:
    """The rank; the dims too where the bounds are constants."""
    x = call.tensor(0)
    for position in (1, 2, 3):
        given = call.tensor(position)
        if given.ndim not in (-1, 1):
            call.fail(f"{call.op.inputs[position].name} must have rank 1, got {show_shape(given.shape, given.ndim)}")
        if not given.dtype.is_void and not given.dtype.is_int:
            call.fail(f"{call.op.inputs[position].name} must hold integers, got {given.dtype}", code="op-dtype")
    if x.ndim < 0:
        return TensorInfo(None, x.dtype, -1, x.vdevice)
    known = [call.values[i] if i < len(call.values) else None for i in (1, 2, 3)]
    if x.shape is not None and all(v is not None for v in known):
        return _static_slice(call, x, known)
    if call.op.in_relax:
        return TensorInfo(None, x.dtype, x.ndim, x.vdevice)
    return TensorInfo(_cut_dims(call, x), x.dtype, x.ndim, x.vdevice)


def _cut_dims(call: OpCall[Any], x: TensorInfo) -> tuple[Dim, ...] | None:
    """Relay: unknown where an axis is cut."""
    if x.shape is None:
        return None
    count = call.tensor(1).shape
    number = count[0] if count is not None and isinstance(count[0], int) else x.ndim
    axes = getattr(call.attrs, "axes", None)
    gone = range(number) if axes is None else [from_front(a, x.ndim) for a in axes]
    return tuple(AnyDim() if i in gone else d for i, d in enumerate(x.shape))


def _static_slice(call: OpCall[Any], x: TensorInfo, known: Sequence[Any]) -> TensorInfo:
    assert x.shape is not None
    a = _dynamic_attrs(call.attrs)
    math, shape = DimMath(call.prover), list(x.shape)
    for c in cuts(_dynamic_given(known, call.attrs), a, x.ndim) or ():
        start, stop = bounds(math, c.begin, c.end, c.stride, shape[c.axis], False)
        shape[c.axis] = length(math, start, stop, c.stride, False)
    return TensorInfo(tuple(shape), x.dtype, vdevice=x.vdevice)


def _dynamic_given(values: Sequence[Any], a: Any) -> tuple[Any, ...]:
    lists = [tuple(int(v) for v in np.asarray(x).reshape(-1)) for x in values]
    axes = getattr(a, "axes", None)
    return (tuple(range(len(lists[0]))) if axes is None else axes, *lists)


def _dynamic_attrs(a: Any) -> StridedSliceAttrs:
    return StridedSliceAttrs(slice_mode=getattr(a, "slice_mode", "end"))


def compute_dynamic(inputs: Any, a: Any, out: Any) -> Any:
    """Bounds are read, counted from the front and clipped when the kernel runs."""
    x, begin, _, strides = inputs
    axes = getattr(a, "axes", None)
    named = tuple(range(x.ndim)) if axes is None else tuple(from_front(v, x.ndim) for v in axes)
    count = begin.shape[0].value if isinstance(begin.shape[0], IntImm) else len(named)
    named = named[:count]

    def place(axis: int, i: Any) -> Any:
        if axis not in named:
            return i
        at = k.index(named.index(axis))
        step = k.cast("int64", strides(at)) if getattr(a, "slice_mode", "end") == "end" else k.index(1)
        return _runtime_start(k.cast("int64", begin(at)), step, k.index(x.shape[axis])) + i * step

    return k.compute(out.shape, lambda *i: x(*(place(axis, j) for axis, j in enumerate(i))), "dynamic_strided_slice")


def _runtime_start(begin: Any, step: Any, dim: Any) -> Any:
    start = k.select(begin < k.index(0), begin + dim, begin)
    forward = step > k.index(0)
    low = k.select(forward, k.index(0), k.index(-1))
    high = k.select(forward, dim, dim - k.index(1))
    return k.maximum(low, k.minimum(start, high))


def reference_dynamic(inputs: Any, a: Any) -> Any:
    """Python's slices."""
    x = inputs[0]
    found = cuts(_dynamic_given(inputs[1:4], a), _dynamic_attrs(a), x.ndim) or ()
    return np.ascontiguousarray(x[python_slices(found, x.shape)])


_TENSOR_BOUNDS = (Input("begin"), Input("end"), Input("strides"))

DYNAMIC_STRIDED_SLICE = OpDef(
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
    summary="A slice of all axes whose bounds are computed.",
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
    summary="A slice whose bounds are computed.",
)


# ---------------------------------------------------------------------------------------- relatives of slices


@attrs
class SliceLikeAttrs(Attrs):
    """Which axes."""

    axes: Any = attr(None, "the axes that are cut; None or empty: all")


def _cut_like(x: Any, like: Any, axes: Any) -> tuple[Any, ...]:
    named = range(len(like)) if not axes else [from_front(a, len(x)) for a in axes]
    return tuple(like[i] if i in named else d for i, d in enumerate(x))


def infer_slice_like(call: OpCall[SliceLikeAttrs]) -> Info:
    """The dims of the pattern along the axes."""
    x, like = call.tensor(0), call.tensor(1)
    if x.shape is None or like.shape is None:
        return TensorInfo(None, x.dtype, x.ndim, x.vdevice)
    if call.attrs.axes:
        normal_axes(call, call.attrs.axes, min(x.ndim, like.ndim), "axes")
    elif x.ndim != like.ndim:
        call.fail(f"without axes both operands need the same rank, got {x.ndim} and {like.ndim}")
    shape = _cut_like(x.shape, like.shape, call.attrs.axes)
    for new, old in zip(shape, x.shape):
        if isinstance(new, int) and isinstance(old, int) and new > old:
            call.fail(f"cannot cut {show_shape(x.shape)} to the longer {show_shape(like.shape)}")
    return TensorInfo(shape, x.dtype, vdevice=x.vdevice)


SLICE_LIKE = OpDef(
    "slice_like",
    SliceLikeAttrs,
    inputs=(Input("data"), Input("shape_like")),
    infer=infer_slice_like,
    compute=lambda inputs, a, out: k.compute(out.shape, lambda *i: inputs[0](*i), "slice_like"),
    reference=lambda inputs, a: np.ascontiguousarray(
        inputs[0][tuple(slice(0, d) for d in _cut_like(inputs[0].shape, inputs[1].shape, a.axes))]
    ),
    gradient=NotApplicable("not offered by Relay"),
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr((5, 6)), Arr((2, "m"))), SliceLikeAttrs()),
        Sample((Arr((5, 6)), Arr((2, 3))), SliceLikeAttrs(axes=(-1,))),
    ),
    summary="The leading part of a tensor that has the shape of another.",
)


def infer_set(call: OpCall[StridedSliceAttrs]) -> Info:
    """The data itself."""
    x, v = call.tensor(0), call.tensor(1)
    if not x.dtype.is_void and not v.dtype.is_void and x.dtype != v.dtype:
        call.fail(f"the values must have the dtype of the data, {x.dtype}, got {v.dtype}", code="op-dtype")
    return x


def compute_set(inputs: Any, a: StridedSliceAttrs, out: Any) -> Any:
    """The new value where an index lies in the cut along every axis."""
    x, v = inputs[:2]
    given = [g for g in inputs[2:] if g is not None]
    math = DimMath(Analyzer())
    starts: dict[int, tuple[Any, int]] = {}
    for c in cuts(_set_given(given), a, x.ndim) or ():
        start, _ = bounds(math, c.begin, c.end, c.stride, _dim(x.shape[c.axis]), a.assume_inbound)
        starts[c.axis] = (k.index(start), c.stride)

    def body(*indices: Any) -> Any:
        inside, source = [], []
        for axis, i in enumerate(indices):
            if axis not in starts:
                source.append(i)
                continue
            start, stride = starts[axis]
            distance = i - start if stride > 0 else start - i
            step = k.index(abs(stride))
            at = distance if abs(stride) == 1 else distance // step
            inside += [distance >= k.index(0), at < k.index(v.shape[axis])]
            inside += [] if abs(stride) == 1 else [k.tir.EQ(distance % step, k.index(0))]
            source.append(at)
        return k.if_then_else(k.all_of(inside), v(*source), x(*indices)) if inside else v(*source)

    return k.compute(out.shape, body, "strided_set")


def _set_given(given: Sequence[Any]) -> tuple[Any, ...]:
    """Tuples (axes, begin, end, strides), or none at all."""
    return tuple(given)


def reference_set(inputs: Any, a: StridedSliceAttrs) -> Any:
    """Assignment to Python's slices."""
    found = np.array(inputs[0])
    found[python_slices(cuts(inputs[2:], a, found.ndim) or (), found.shape)] = inputs[1]
    return found


def gradient_set(b: Any, args: Any, a: StridedSliceAttrs, out: Any, grad: Any) -> list[Any]:
    """To the data outside the cut, to the values inside."""
    options = dict(_bound_attrs(a))
    inner = b.op("strided_slice", grad, *args[2:], **options)
    outer = b.op("strided_set", grad, b.full_like(args[1], 0), *args[2:], **options)
    return [outer, inner, *(None for _ in args[2:])]


def relay_set(
    make: Any, data: Any, v: Any, begin: Any, end: Any, strides: Any = None, slice_mode: str = "end"
) -> Any:
    """Constant bounds become attributes."""
    lists = [_list(x) for x in (begin, end, strides)]
    return make(data, v, begin=lists[0], end=lists[1], strides=lists[2], slice_mode=slice_mode)


def _list(value: Any) -> Any:
    if value is None:
        return None
    data = getattr(value, "data", value)
    return tuple(int(x) for x in np.asarray(getattr(data, "data", data)).reshape(-1))


STRIDED_SET = OpDef(
    "strided_set",
    StridedSliceAttrs,
    inputs=(Input("data"), Input("v", "the new values"), *_BOUNDS),
    infer=infer_set,
    compute=compute_set,
    reference=reference_set,
    gradient=gradient_set,
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    relay_builder=relay_set,
    samples=lambda: (
        Sample((Arr(("n", 6)), Arr(("n", 2))), StridedSliceAttrs(axes=(1,), begin=(1,), end=(3,))),
        Sample((Arr((5, 6)), Arr((2, 3))), StridedSliceAttrs(begin=(4, 0), end=(0, 6), strides=(-2, 2))),
    ),
    summary="A copy of a tensor with new values in a slice.",
)

SLICES: tuple[OpDef[Any], ...] = (
    STRIDED_SLICE,
    DYNAMIC_STRIDED_SLICE,
    DYN_STRIDED_SLICE,
    SLICE_LIKE,
    STRIDED_SET,
)

