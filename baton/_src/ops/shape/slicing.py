"""Slices with bounds known when compiling: strided_slice.

Relax passes axes, begin, end and strides as tuples of host scalars, Relay as attributes (or as tensors:
`dyn.strided_slice`); `slice_mode="size"` makes Relay's `end` a number of elements, -1 for all that are left. Bounds:
see `slice_bounds`. Source: facts relax-ops-passes-vm §1 (index), relay-language §6 levels 4 and 10.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr, PrimExpr
from baton._src.ir.op_def import Argument, CallMaker, Definition, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, PrimInfo, TensorInfo, TupleInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axes
from baton._src.ops.dims import DimMath, as_dim, show_shape
from baton._src.ops.layouts import CutsAxes
from baton._src.ops.op_builder import Given, Made, OpBuilder
from baton._src.ops.samples import Arr, Sample, SampleDim
from baton._src.ops.shape.slice_bounds import Bound, bounds, length
from baton._src.ops.shape.targets import is_computed
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.expr import IntImm
from baton._src.values.tensor import AnyArray


@attrs
class StridedSliceAttrs(Attrs):
    """Bounds (in Relay) and what is promised of them (in Relax)."""

    begin: tuple[Dim | None, ...] | None = attr(None, "first index an axis", relay_only=True)
    end: tuple[Dim | None, ...] | None = attr(None, "index to stop before, an axis", relay_only=True)
    strides: tuple[int, ...] | None = attr(None, "steps, an axis; None: 1", relay_only=True)
    axes: tuple[int, ...] | None = attr(None, "the axes that are cut; None: the first ones", relay_only=True)
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
    begin: Bound
    end: Bound
    stride: int


def cuts(given: Sequence[Sequence[Bound]], a: StridedSliceAttrs, ndim: int) -> list[Cut]:
    """The cuts, from arguments (axes, begin, end, strides) or attributes."""
    said: Sequence[Sequence[Bound] | None] = (*given, None) if given else (a.axes, a.begin, a.end, a.strides)
    begin, end, strides = (_plain(entries or ()) for entries in said[1:4])
    axes = tuple(range(max(len(begin), len(end)))) if said[0] is None else _plain(said[0])
    begin, end = (entries + (None,) * (len(axes) - len(entries)) for entries in (begin, end))
    if a.slice_mode == "size":
        strides, end = (), tuple(end_of_size(b, size) for b, size in zip(begin, end))
    strides = (*strides, *(1,) * (len(axes) - len(strides)))
    return [Cut(from_front(_number(x), ndim), b, e, _number(s)) for x, b, e, s in zip(axes, begin, end, strides)]


def _number(entry: Bound) -> int:
    if isinstance(entry, int):
        return entry
    raise fail("op-argument", f"strided_slice: axes and strides are known when compiling, got {entry}")


def end_of_size(begin: Bound, size: Bound) -> Bound:
    """Where a cut of so many elements ends; None: with the axis."""
    if size is None or (isinstance(size, int) and size < 0):
        return None
    stop = (begin or 0) + size
    return None if isinstance(stop, int) and isinstance(begin, int) and begin < 0 <= stop else stop


def _plain(values: Iterable[Bound]) -> tuple[Bound, ...]:
    """Literals as ints, NumPy's too; symbolic dims stay."""
    found = []
    for v in values:
        v = v.value if isinstance(v, IntImm) else v
        found.append(v if v is None or isinstance(v, PrimExpr) else int(v))
    return tuple(found)


def _prims(call: OpCall[Attrs], position: int) -> tuple[Bound, ...] | None:
    """The values of an operand that is a tuple of host scalars; None if one of them is unknown."""
    found = call.args[position]
    if not isinstance(found, TupleInfo) or not all(isinstance(f, PrimInfo) for f in found.fields):
        call.fail(f"{call.op.inputs[position].name} must be a tuple of integers, got {found}", code="op-argument")
    values = [f.value for f in found.fields if isinstance(f, PrimInfo)]
    if any(isinstance(v, float) for v in values):
        call.fail(f"{call.op.inputs[position].name} must be integers, got {tuple(values)}", code="op-argument")
    whole = [v for v in values if isinstance(v, (int, PrimExpr))]
    return None if len(whole) < len(values) else _plain(whole)


def infer(call: OpCall[StridedSliceAttrs]) -> Info:
    """The number of elements along every axis that is cut."""
    x = call.tensor(0)
    return TensorInfo(cut_shape(call, 1), x.dtype, x.ndim, vdevice=x.vdevice)


def cut_shape(call: OpCall[StridedSliceAttrs], first: int) -> tuple[Dim, ...] | None:
    """The shape of what is cut out of the first operand, whose bounds are attributes or operands from `first` on; None
    if they or its dims are not known.
    """
    x = call.tensor(0)
    given = [_prims(call, i) for i in range(first, len(call.args))]
    _check(call, given, given[0] if given else call.attrs.axes, x)
    known = [g for g in given if g is not None]
    if x.shape is None or len(known) < len(given) or not all(isinstance(s, int) for g in known[3:] for s in g):
        return None
    found = cuts(known, call.attrs, x.ndim)
    math, shape = DimMath(call.prover), list(x.shape)
    inbound = call.attrs.assume_inbound
    for c in found:
        start, stop = bounds(math, c.begin, c.end, c.stride, shape[c.axis], inbound)
        count = length(math, start, stop, c.stride, inbound)
        if inbound:
            _check_promise(call, x, c, start, count)
        shape[c.axis] = count
    return tuple(shape)


def _check_promise(call: OpCall[Attrs], x: TensorInfo, cut: Cut, start: Dim, count: Dim) -> None:
    """With assume_inbound nothing is clipped: the first and the last element must be there, as far as is known."""
    assert x.shape is not None
    extent = x.shape[cut.axis]
    if not (isinstance(start, int) and isinstance(count, int) and isinstance(extent, int)) or count < 1:
        return
    last = start + (count - 1) * cut.stride
    if not (0 <= start < extent and 0 <= last < extent):
        call.fail(
            f"assume_inbound promises what is not so: {start} to {last} of axis {cut.axis} of {show_shape(x.shape)}",
            help="leave assume_inbound out: bounds beyond the axis are then clipped",
        )


def _check(
    call: OpCall[StridedSliceAttrs],
    given: Sequence[Sequence[Bound] | None],
    axes: Sequence[Bound] | None,
    x: TensorInfo,
) -> None:
    if axes is not None and x.ndim >= 0:
        normal_axes(call, axes, x.ndim, "axes")
    if not given:
        _check_counts(call, axes, x)
    lengths = {len(g) for g in given if g is not None}
    if len(lengths) > 1:
        call.fail("axes, begin, end and strides must have the same length", code="op-argument")
    strides = given[3] if len(given) > 3 else call.attrs.strides
    if any(isinstance(s, int) and s == 0 for s in strides or ()):
        call.fail(f"strides must not be 0, got {strides}", code="op-attribute")


def _check_counts(call: OpCall[StridedSliceAttrs], axes: Sequence[Bound] | None, x: TensorInfo) -> None:
    """Attributes may say less than an entry for each axis that is cut (the rest is open), but not more."""
    most = len(axes) if axes is not None else x.ndim
    for name in ("begin", "end", "strides"):
        entries = getattr(call.attrs, name) or ()
        if 0 <= most < len(entries):
            where = f"the axes {axes} are" if axes is not None else f"{show_shape(x.shape, x.ndim)} has axes"
            call.fail(f"{name} {entries} has more entries than {where}")


def starts_and_strides(
    x: k.Tensor, given: Sequence[Sequence[Bound]], a: StridedSliceAttrs
) -> dict[int, tuple[k.Scalar, int]]:
    """By axis that is cut, the index of the first element and the step to the next."""
    math = DimMath(Analyzer())
    found: dict[int, tuple[k.Scalar, int]] = {}
    for c in cuts(given, a, x.ndim):
        start, _ = bounds(math, c.begin, c.end, c.stride, as_dim(x.shape[c.axis]), a.assume_inbound)
        found[c.axis] = (k.index(start), c.stride)
    return found


def compute(
    inputs: tuple[k.Tensor, *tuple[Sequence[Bound] | None, ...]], a: StridedSliceAttrs, out: k.Result
) -> k.Tensor:
    """Element i along a cut axis is at start + i * stride."""
    x = inputs[0]
    given = [g for g in inputs[1:] if g is not None]
    starts = starts_and_strides(x, given, a)

    def place(axis: int, i: k.Scalar) -> k.Scalar:
        if axis not in starts:
            return i
        start, stride = starts[axis]
        return start + (i if stride == 1 else i * k.index(stride))

    name = "T_strided_slice" if not given and a.axes is None else "T_strided_slice_with_axes"
    return k.compute(out.shape, lambda *i: x(*(place(axis, j) for axis, j in enumerate(i))), name, axes="ax")


def python_slices(found: Sequence[Cut], shape: tuple[int, ...]) -> tuple[slice, ...]:
    """The cuts as Python's slices."""
    math = DimMath(Analyzer())
    result = [slice(None)] * len(shape)
    for c in found:
        start, stop = bounds(math, c.begin, c.end, c.stride, shape[c.axis], False)
        last = None if isinstance(stop, int) and stop < 0 else stop
        # Backwards from in front of the first element is nothing; to Python, -1 is the last one.
        is_before = isinstance(start, int) and start < 0
        result[c.axis] = slice(0, 0, c.stride) if is_before else slice(start, last, c.stride)
    return tuple(result)


def reference(inputs: tuple[AnyArray, *tuple[Sequence[int], ...]], a: StridedSliceAttrs) -> AnyArray:
    """Python's slices."""
    x = inputs[0]
    return np.ascontiguousarray(x[python_slices(cuts(inputs[1:], a, x.ndim), x.shape)])


def to_relax(args: Exprs, a: StridedSliceAttrs) -> tuple[Sequence[Argument], StridedSliceAttrs]:
    """Bounds as arguments; open ones as numbers far out."""
    if len(args) > 1:
        return args, a
    ndim = max((x + 1 for x in a.axes or () if x >= 0), default=0)
    found = cuts((), a, ndim)
    axes = tuple(a.axes) if a.axes is not None else tuple(c.axis for c in found)
    begin = tuple((0 if c.stride > 0 else 2**31 - 1) if c.begin is None else c.begin for c in found)
    end = tuple((2**31 - 1 if c.stride > 0 else -(2**31)) if c.end is None else c.end for c in found)
    strides = tuple(c.stride for c in found)
    return (args[0], axes, begin, end, strides), StridedSliceAttrs(assume_inbound=a.assume_inbound)


def gradient(b: CallMaker, args: Exprs, a: StridedSliceAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """The gradient written into zeros at the cut."""
    zeros = b.full_like(args[0], 0)
    return [b.op("strided_set", zeros, grad, *args[1:], **dict(bound_attributes(a))), *(None for _ in args[1:])]


def bound_attributes(a: StridedSliceAttrs) -> Iterator[tuple[str, object]]:
    """(name, value) of what says where a slice begins, ends and how it steps."""
    return ((name, getattr(a, name)) for name in ("begin", "end", "strides", "axes", "slice_mode", "assume_inbound"))


def relax_builder(
    make: OpBuilder,
    x: Given,
    axes: Given,
    begin: Given,
    end: Given,
    strides: Given = None,
    assume_inbound: bool = False,
) -> Made:
    """A single number is a tuple of one."""
    return make(x, axes, begin, end, strides, assume_inbound=assume_inbound)


def relay_builder(
    make: OpBuilder,
    data: Given,
    begin: Given,
    end: Given,
    strides: Given = None,
    axes: Given = None,
    slice_mode: str = "end",
) -> Made:
    """Bounds that are tensors make it `dyn.strided_slice`."""
    if any(map(is_computed, (begin, end, strides))):
        steps = make.op("ones_like", _tensor(make, begin)) if strides is None else strides
        begin, end, steps = (_tensor(make, v) for v in (begin, end, steps))
        return make.op("dyn.strided_slice", data, begin, end, steps, axes=axes, slice_mode=slice_mode)
    return make(data, begin=begin, end=end, strides=strides, axes=axes, slice_mode=slice_mode)


def _tensor(make: OpBuilder, values: Given) -> Made:
    return values if isinstance(values, GraphExpr) else make.const(values, "int64")


SLICE_BOUNDS = tuple(
    Input(
        name, doc, kind="prims", optional=name == "strides", languages=("relax",), from_front=name in ("begin", "end")
    )
    for name, doc in (
        ("axes", "the axes that are cut"),
        ("begin", "first index"),
        ("end", "index to stop before"),
        ("strides", "steps; left out: 1"),
    )
)


def samples() -> tuple[Sample, ...]:
    def relay(
        shape: tuple[SampleDim, ...], begin: Sequence[int | None], end: Sequence[int | None], **more: object
    ) -> Sample:
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
    inputs=(Input("x", relay_name="data"), *SLICE_BOUNDS),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=gradient,
    fusion=Fusion.INJECTIVE,
    layout=CutsAxes(),
    relay_builder=relay_builder,
    relax_builder=relax_builder,
    relay_to_relax=to_relax,
    samples=samples,
    summary="Slice along some axes: every stride-th element between two bounds.",
)

SLICES: tuple[Definition, ...] = (STRIDED_SLICE,)
