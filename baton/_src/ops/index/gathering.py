"""Gathers: gather_elements (Relay: gather) and gather_nd.

    gather_elements  out[i, j, k] = data[indices[i, j, k], j, k]                                (axis 0)
    gather_nd        out[b..., i..., k...] = data[b..., *indices[b..., i..., :], k...]

Negative indices count from the end. In Relax the *last* axis of gather_nd's indices holds the coordinates, in Relay the
*first*. Source: facts relax-ops-passes-vm §1 (manipulate), relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.index.take import indices_info
from baton._src.ops.samples import Arr, Sample
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray


@attrs
class GatherAttrs(Attrs):
    """The axis."""

    axis: int = attr(0, "the axis to index")


def from_either_end(position: k.Scalar, extent: Dim) -> k.Scalar:
    """A negative position counted from the front."""
    found = k.index(position)
    return k.select(found < k.index(0), found + k.index(extent), found)


def infer_elements(call: OpCall[GatherAttrs]) -> Info:
    """The shape of the indices."""
    x, at = call.tensor(0), indices_info(call)
    if x.ndim >= 0:
        normal_axis(call, call.attrs.axis, x.ndim)
        if at.ndim not in (-1, x.ndim):
            call.fail(f"indices must have the rank of the data, {x.ndim}, got {show_shape(at.shape, at.ndim)}")
        check_covered(call, at, "indices", from_front(call.attrs.axis, x.ndim))
    return TensorInfo(at.shape, x.dtype, at.ndim, x.vdevice, at.shape_var)


def check_covered(call: OpCall[Attrs], given: TensorInfo, name: str, axis: int) -> None:
    """Along all axes but `axis` the data reaches as far as what is `given` beside it, unless that is empty: kernels
    look where sizes are known only when they run."""
    x = call.tensor(0)
    if x.shape is None or given.shape is None or 0 in given.shape:
        return
    for n, (have, want) in enumerate(zip(x.shape, given.shape)):
        if n != axis and isinstance(have, int) and isinstance(want, int) and have < want:
            call.fail(f"axis {n} of the {name} {show_shape(given.shape)} is longer than that of the data, {have}")


def compute_elements(inputs: Sequence[k.Tensor], a: GatherAttrs, out: k.Result) -> k.Tensor:
    """The index replaced along the axis."""
    x, at = inputs
    axis = from_front(a.axis, x.ndim)

    def body(*i: k.Scalar) -> k.Scalar:
        return x(*(from_either_end(at(*i), x.shape[axis]) if n == axis else j for n, j in enumerate(i)))

    return k.compute(out.shape, body, "T_gather", axes="ax")


def reference_elements(inputs: Sequence[AnyArray], a: GatherAttrs) -> AnyArray:
    """`numpy.take_along_axis` on the leading part of the data."""
    x, at = inputs[0], inputs[1].astype(np.int64)
    axis = from_front(a.axis, x.ndim)
    if not at.size:
        return np.empty(at.shape, x.dtype)
    for n, (have, want) in enumerate(zip(x.shape, at.shape)):
        if n != axis and have < want:
            raise IndexError(f"axis {n} of the data has {have} elements, that of the indices {want}")
    part = x[tuple(slice(None) if n == axis else slice(0, d) for n, d in enumerate(at.shape))]
    return np.take_along_axis(part, at, axis)


def gradient_elements(b: CallMaker, args: Exprs, a: GatherAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Adds the gradient at the gathered positions."""
    return [b.op("scatter_elements", b.full_like(args[0], 0), args[1], grad, axis=a.axis, reduction="add"), None]


GATHER_ELEMENTS = OpDef(
    "gather_elements",
    GatherAttrs,
    inputs=(Input("data"), Input("indices", "indices, of the data's rank")),
    infer=infer_elements,
    compute=compute_elements,
    reference=reference_elements,
    gradient=gradient_elements,
    fusion=Fusion.INJECTIVE,
    relay_name="gather",
    relay_builder=lambda make, data, axis, indices: make(data, indices, axis=axis),
    samples=lambda: (
        Sample((Arr(("n", 4)), Arr((2, 4), "int64", 0, 3)), GatherAttrs(axis=0)),
        Sample((Arr((3, 5)), Arr((3, "m"), "int32", -5, 5)), GatherAttrs(axis=-1)),
    ),
    summary="Gather one element per index along an axis.",
)


@attrs
class GatherNDAttrs(Attrs):
    """How many axes are shared."""

    batch_dims: int = attr(0, "number of leading batch axes shared by data and indices")
    index_rank: int | None = attr(None, "number of coordinates per index, if it is not static", relay_only=True)


def infer_nd(call: OpCall[GatherNDAttrs]) -> Info:
    """The dims of the indices without the coordinates, then what the coordinates leave."""
    x, at = call.tensor(0), indices_info(call)
    leading = not call.op.in_relax
    if at.shape is None or x.ndim < 0:
        return TensorInfo(None, x.dtype, -1, x.vdevice)
    if not at.shape:
        call.fail("indices must have an axis of coordinates, got a scalar")
    batch = call.attrs.batch_dims
    found = at.shape[0] if leading else at.shape[-1]
    count = found if isinstance(found, int) else call.attrs.index_rank
    if count is None and leading:
        message = f"how many coordinates there are, the first dim of {show_shape(at.shape)}, is not known"
        call.fail(message, help="give index_rank: the result's rank depends on it")
    if count is None:
        return TensorInfo(None, x.dtype, -1, x.vdevice)
    around = at.shape[1:] if leading else at.shape[:-1]
    if batch < 0 or batch + count > x.ndim or batch > len(around):
        call.fail(
            f"indices {show_shape(at.shape)} hold {count} coordinates behind {batch} shared axes, "
            f"the data has rank {x.ndim}"
        )
    if x.shape is None:
        return TensorInfo(None, x.dtype, len(around) + x.ndim - batch - count, x.vdevice)
    math = DimMath(call.prover)
    if any(math.equal(p, q) is False for p, q in zip(x.shape[:batch], around[:batch])):
        call.fail(f"data {show_shape(x.shape)} and indices {show_shape(at.shape)} differ in their shared axes")
    return TensorInfo((*around, *x.shape[batch + count :]), x.dtype, vdevice=x.vdevice)


def compute_nd(inputs: Sequence[k.Tensor], a: GatherNDAttrs, out: k.Result, leading: bool) -> k.Tensor:
    """One load for each element, at its coordinates."""
    x, at = inputs
    around = at.ndim - 1
    batch = a.batch_dims
    count = around + x.ndim - batch - len(out.shape)

    def body(*i: k.Scalar) -> k.Scalar:
        outer = i[:around]
        where = [
            from_either_end(at(k.index(c), *outer) if leading else at(*outer, k.index(c)), x.shape[batch + c])
            for c in range(count)
        ]
        return x(*i[:batch], *where, *i[around:])

    return k.compute(out.shape, body, "T_gather_nd", axes="ax")


def reference_nd(inputs: Sequence[AnyArray], a: GatherNDAttrs, leading: bool) -> AnyArray:
    """NumPy's indexing by tuples of arrays."""
    x, at = inputs[0], inputs[1].astype(np.int64)
    at = np.moveaxis(at, 0, -1) if leading else at
    batch = tuple(np.indices(at.shape[:-1])[: a.batch_dims])
    where = tuple(at[..., c] for c in range(at.shape[-1]))
    found = x[(*batch, *where)] if where or batch else np.broadcast_to(x, (*at.shape[:-1], *x.shape))
    return np.array(found, order="C")  # of rank 0, too


def _gather_nd(name: str, leading: bool) -> Definition:
    scatter = "relay_scatter_nd" if leading else "scatter_nd"
    moved = (lambda shape: (shape[-1], *shape[:-1])) if leading else (lambda shape: shape)

    def gradient(b: CallMaker, args: Exprs, a: GatherNDAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
        if a.batch_dims:
            raise fail(
                "op-gradient", f"{name} has no gradient with batch_dims", help="write the shared axes as coordinates"
            )
        return [b.op(scatter, b.full_like(args[0], 0), args[1], grad, reduction="add"), None]

    return OpDef(
        name,
        GatherNDAttrs,
        inputs=(Input("data"), Input("indices", "coordinates along the first axis" if leading else "… the last axis")),
        infer=infer_nd,
        compute=lambda inputs, a, out: compute_nd(inputs, a, out, leading),
        reference=lambda inputs, a: reference_nd(inputs, a, leading),
        gradient=gradient,
        fusion=Fusion.INJECTIVE,
        relay_name="gather_nd" if leading else NotApplicable("Relay's coordinates lie along the first axis"),
        in_relax=not leading,
        samples=lambda: (
            Sample((Arr((3, 4, "m")), Arr(moved(("n", 2)), "int64", 0, 3)), GatherNDAttrs()),
            Sample((Arr((3, 4)), Arr(moved((5, 2)), "int32", -3, 3)), GatherNDAttrs()),
            Sample((Arr((2, 3, 4)), Arr(moved((2, 5, 1)), "int64", 0, 3)), GatherNDAttrs(batch_dims=1)),
            Sample((Arr((3, 4)), Arr(moved((2, 2, 1)), "int64", 0, 3)), GatherNDAttrs()),
        ),
        summary="Gather the slices at given coordinates.",
    )


GATHER_ND = _gather_nd("gather_nd", leading=False)
RELAY_GATHER_ND = _gather_nd("relay_gather_nd", leading=True)

GATHERS: tuple[Definition, ...] = (GATHER_ELEMENTS, GATHER_ND, RELAY_GATHER_ND)
