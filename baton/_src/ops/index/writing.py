"""Writing at places: index_put (by tensors of indices) and slice_scatter (into a slice of one axis).

    index_put(data, (i, j), values)          out = data; out[i[p...], j[p...], k...] = (or +=) values[p..., k...]
    slice_scatter(x, src, start, end, step)  out = x; out[..., start:end:step, ...] = src

Values broadcast. With repeated indices the last value stays, or all are added up (`accumulate`).
Source: facts relax-ops-passes-vm §1 (manipulate).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, PrimInfo, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.broadcasting import Shape, same_dtype
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.index.gathering import from_either_end
from baton._src.ops.index.tensor_indices import check_indices, index_tensors
from baton._src.ops.linalg.products import rounded
from baton._src.ops.loop_nests import both, load, loops, store
from baton._src.ops.operand_checks import check_dtype
from baton._src.ops.precision import wide
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.slice_bounds import bounds, length
from baton._src.ops.shape.slice_relatives import compute_set
from baton._src.ops.shape.slicing import StridedSliceAttrs
from baton._src.ops.shape.targets import whole_value
from baton._src.te.computation import extern
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.tensor import AnyArray

_NO_RELAY = NotApplicable("only Relax has it")


@attrs
class IndexPutAttrs(Attrs):
    """Whether values are added to the existing ones or replace them."""

    accumulate: bool = attr(False, "accumulate instead of overwriting")


def infer_put(call: OpCall[IndexPutAttrs]) -> Info:
    """The data itself; the values must broadcast to what the indices name."""
    x, values, indices = call.tensor(0), call.tensor(2), index_tensors(call, 1)
    check_indices(call, x, indices)
    check_dtype(call, 2, x.dtype)
    shapes = [t.shape for t in indices if t.shape is not None]
    if x.shape is not None and len(shapes) == len(indices):
        named = (*_places(call, shapes), *x.shape[len(indices) :])
        if values.shape is not None and not _fits(call, values.shape, named):
            call.fail(f"values {show_shape(values.shape)} do not fit the places {show_shape(named)}")
    return x


def _places(call: OpCall[Attrs], shapes: list[Shape]) -> Shape:
    """The common shape of tensors of indices, to which each of them must stretch."""
    common = _common_shape(shapes)
    if not all(_fits(call, s, common) for s in shapes):
        call.fail(f"indices of shapes {', '.join(map(show_shape, shapes))} do not broadcast")
    return common


def _common_shape(shapes: Sequence[Sequence[Dim]]) -> Shape:
    """What `shapes` broadcast to. An extent that a run decides is whichever turns out not to be 1."""
    rank = max(map(len, shapes))
    return tuple(_widest([s[axis - rank] for s in shapes if len(s) >= rank - axis]) for axis in range(rank))


def _widest(dims: Sequence[Dim]) -> Dim:
    """The extent that all of `dims` stretch to, if they stretch to one."""
    found, *rest = [d.value if isinstance(d, k.tir.IntImm) else d for d in dims]
    for dim in rest:
        if isinstance(found, int) or dim is found:
            found = dim if found == 1 else found
        elif isinstance(dim, int):
            found = found if dim == 1 else dim
        else:
            found = k.tir.Select(k.tir.EQ(found, k.tir.literal(1, found.dtype)), dim, found)
    return found


def _fits(call: OpCall[Attrs], shape: Shape, wanted: Shape) -> bool:
    """Whether `shape` broadcasts to `wanted`; what is undecided is checked when the program runs."""
    math = DimMath(call.prover)
    fit = [math.stretches(d, w) for d, w in zip(reversed(shape), reversed(wanted))]
    return len(shape) <= len(wanted) and False not in fit


def compute_put(inputs: tuple[k.Tensor, tuple[k.Tensor, ...], k.Tensor], a: IndexPutAttrs, out: k.Result) -> k.Tensor:
    """A copy, then the values one after the other."""
    x, indices, values = inputs
    places = k.dims(_common_shape([t.shape for t in indices]))
    rank = len(places)
    shape = [*places, *x.shape[len(indices) :]]
    kept = k.sum_dtype(x.dtype) if a.accumulate else x.dtype

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        data, *at, new = ins
        result = outs[0]

        def write(*i: k.Scalar) -> Stmt:
            outer = i[:rank]
            where = [
                from_either_end(load(b, *k.stretched_indices(t, outer, places)), x.shape[n])
                for n, (b, t) in enumerate(zip(at, indices))
            ]
            where += i[rank:]
            value = k.cast(kept, load(new, *k.stretched_indices(values, i, shape)))
            return store(result, where, load(result, *where) + value if a.accumulate else value)

        copy = loops(x.shape, lambda *i: store(result, i, k.cast(kept, load(data, *i))))
        return both(copy, loops(shape, write, "u"))

    return rounded(extern(tuple(x.shape), [x, *indices, values], body, "index_put", kept), x.dtype)


def reference_put(inputs: tuple[AnyArray, tuple[AnyArray, ...], AnyArray], a: IndexPutAttrs) -> AnyArray:
    """Assignment by arrays, or `numpy.add.at`."""
    x, indices, values = inputs
    where = tuple(np.asarray(i).astype(np.int64) for i in indices)
    if not a.accumulate:
        found = np.array(x)
        found[where] = values
        return found
    sums = wide(np.array(x))
    np.add.at(sums, where, wide(values))
    return sums.astype(x.dtype)


def gradient_put(b: CallMaker, args: Exprs, a: IndexPutAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """To the values where they were written, to the data elsewhere (everywhere if it was added to)."""
    _, indices, values = args
    taken = b.op("collapse_sum_like", b.op("index_tensor", grad, indices), values)
    kept = grad if a.accumulate else b.op("index_put", grad, indices, b.full_like(values, 0))
    return [kept, None, taken]


INDEX_PUT = OpDef(
    "index_put",
    IndexPutAttrs,
    inputs=(
        Input("data"),
        Input("indices", "tensors that broadcast against each other", kind="tensors"),
        Input("values", "the values, broadcast to the indexed positions"),
    ),
    infer=infer_put,
    compute=compute_put,
    reference=reference_put,
    gradient=gradient_put,
    fusion=Fusion.OPAQUE,
    relay_name=_NO_RELAY,
    samples=lambda: (
        Sample((Arr((4, 5)), (Arr((2,), "int64", 0, 4), Arr((2,), "int64", -5, 5)), Arr((2,))), IndexPutAttrs(True)),
        Sample((Arr(("n", 5)), (Arr((2, 1), "int32", 0, 3),), Arr((2, 1, 5))), IndexPutAttrs(True)),
        Sample((Arr((4, 3)), (Arr((3,), "int64", values=(2, 0, 3)),), Arr((1,))), IndexPutAttrs()),
    ),
    summary="A copy of a tensor with values written at indexed positions.",
)


@attrs
class SliceScatterAttrs(Attrs):
    """The axis of the slice."""

    axis: int = attr(0, "the axis of the slice")


def infer_scatter(call: OpCall[SliceScatterAttrs]) -> Info:
    """The data itself."""
    x, src = call.tensor(0), call.tensor(1)
    if x.ndim >= 0:
        normal_axis(call, call.attrs.axis, x.ndim)
        if src.ndim not in (-1, x.ndim):
            call.fail(f"src must have the data's rank {x.ndim}, got {show_shape(src.shape, src.ndim)}")
    same_dtype(call, [x, src])
    step = call.args[4]
    if not isinstance(step, PrimInfo) or not isinstance(step.value, int) or step.value < 1:
        call.fail("step must be a positive number that is known when compiling", code="op-argument")
    wanted = _slice_shape(call, x, step.value)
    if wanted is not None and src.shape is not None:
        math = DimMath(call.prover)
        if any(math.equal(a, b) is False for a, b in zip(src.shape, wanted)):
            call.fail(f"src must have the shape of the slice, {show_shape(wanted)}, got {show_shape(src.shape)}")
    return x


def _slice_shape(call: OpCall[SliceScatterAttrs], x: TensorInfo, step: int) -> Shape | None:
    """The shape of what is written; None if unknown."""
    start, end = whole_value(call, 2), whole_value(call, 3)
    if x.shape is None or start is None or end is None:
        return None
    math, axis = DimMath(call.prover), from_front(call.attrs.axis, x.ndim)
    first, stop = bounds(math, start, end, step, x.shape[axis], False)
    return (*x.shape[:axis], length(math, first, stop, step, False), *x.shape[axis + 1 :])


def compute_scatter(inputs: tuple[k.Tensor, k.Tensor, Dim, Dim, Dim], a: SliceScatterAttrs, out: k.Result) -> k.Tensor:
    """The source inside the slice, the data elsewhere."""
    x, src, start, end, step = inputs
    axes = (from_front(a.axis, x.ndim),)
    return compute_set((x, src, axes, (start,), (end,), (step,)), StridedSliceAttrs(), out)


def reference_scatter(inputs: tuple[AnyArray, AnyArray, int, int, int], a: SliceScatterAttrs) -> AnyArray:
    """Assignment to a slice."""
    x, src, start, end, step = inputs
    found = np.array(x)
    found[(slice(None),) * from_front(a.axis, x.ndim) + (slice(start, end, step),)] = src
    return found


def gradient_scatter(b: CallMaker, args: Exprs, a: SliceScatterAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """To the source inside the slice, to the data elsewhere."""
    start, end, step = args[2:5]
    inner = b.op("strided_slice", grad, (a.axis,), *((v,) for v in (start, end, step)))
    outer = b.op("slice_scatter", grad, b.full_like(args[1], 0), start, end, step, axis=a.axis)
    return [outer, inner, None, None, None]


SLICE_SCATTER = OpDef(
    "slice_scatter",
    SliceScatterAttrs,
    inputs=(
        Input("input_tensor"),
        Input("src", "the values to write"),
        Input("start", kind="prim"),
        Input("end", kind="prim"),
        Input("step", kind="prim", default=1),
    ),
    infer=infer_scatter,
    compute=compute_scatter,
    reference=reference_scatter,
    gradient=gradient_scatter,
    fusion=Fusion.INJECTIVE,
    relay_name=_NO_RELAY,
    samples=lambda: (
        Sample((Arr((6, "m")), Arr((2, "m")), 1, 5, 2), SliceScatterAttrs()),
        Sample((Arr(("n", 6)), Arr(("n", 2)), -2, 6, 1), SliceScatterAttrs(axis=-1)),
    ),
    summary="A copy of a tensor with another one written to a slice along one axis.",
)

WRITINGS: tuple[Definition, ...] = (INDEX_PUT, SLICE_SCATTER)
