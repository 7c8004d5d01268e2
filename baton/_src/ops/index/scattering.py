"""Scatters: scatter_elements and scatter_nd: a copy of the data with updates written, or combined, at given
places.

    scatter_elements  out[indices[i, j, k], j, k] op= updates[i, j, k]                           (axis 0)
    scatter_nd        out[*indices[i..., :], k...] op= updates[i..., k...]

`op` is the reduction: update, add, mul, mean (of the two), min, max. Updates are applied in row-major order, so the
last one to a place wins. Negative indices count from the end. In Relax the *last* axis of scatter_nd's indices holds
the coordinates, in Relay the *first*. Source: facts relax-ops-passes-vm §1, relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.index.gathering import check_covered, from_either_end
from baton._src.ops.index.take import indices_info
from baton._src.ops.loop_nests import both, load, loops, store
from baton._src.ops.operand_checks import check_dtype
from baton._src.ops.samples import Arr, Sample
from baton._src.support.diagnostics import fail
from baton._src.te.computation import extern
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


def _mean(old: k.Scalar, new: k.Scalar) -> k.Scalar:
    return k.tir.Div(k.tir.Add(old, new), k.const(2, old.dtype))


def _np_mean(old: AnyArray, new: AnyArray) -> AnyArray:
    total = np.asarray(old + new)
    return total / 2 if np.issubdtype(total.dtype, np.floating) else (total + (total < 0)) // 2


Place = tuple[int, ...]
"""The indices of an element."""
REDUCTIONS: Mapping[str, tuple[k.Combine, Callable[[AnyArray, AnyArray], AnyArray]]] = {
    "update": (lambda old, new: new, lambda old, new: new),
    "add": (k.tir.Add, lambda old, new: old + new),
    "mul": (k.tir.Mul, lambda old, new: old * new),
    "mean": (_mean, _np_mean),
    "min": (k.tir.Min, lambda old, new: new if new < old or new != new else old),
    "max": (k.tir.Max, lambda old, new: new if new > old or new != new else old),
}
"""By name: in TIR, in NumPy. The least or greatest of a number and NaN is NaN."""


@attrs
class ScatterAttrs(Attrs):
    """The axis and the reduction."""

    axis: int = attr(0, "the axis to index")
    reduction: str = attr("update", "the reduction: update, add, mul, mean, min or max")


def check_updates(call: OpCall[Attrs], reduction: str) -> None:
    """One dtype, and a reduction there is."""
    if reduction not in REDUCTIONS:
        call.fail(f"reduction must be one of {', '.join(REDUCTIONS)}, got {reduction!r}", code="op-attribute")
    check_dtype(call, 2, call.tensor(0).dtype)


def infer_elements(call: OpCall[ScatterAttrs]) -> Info:
    """The data's shape."""
    x, at, updates = call.tensor(0), indices_info(call), call.tensor(2)
    check_updates(call, call.attrs.reduction)
    if x.ndim >= 0:
        normal_axis(call, call.attrs.axis, x.ndim)
        for name, other in (("indices", at), ("updates", updates)):
            if other.ndim not in (-1, x.ndim):
                call.fail(f"{name} must have the data's rank {x.ndim}, got {show_shape(other.shape, other.ndim)}")
    math = DimMath(call.prover)
    if at.shape is not None and updates.shape is not None:
        if any(math.equal(p, q) is False for p, q in zip(at.shape, updates.shape)):
            call.fail(f"indices {show_shape(at.shape)} and updates {show_shape(updates.shape)} differ")
    if x.ndim >= 0:
        check_covered(call, updates, "updates", from_front(call.attrs.axis, x.ndim))
    return x


def combined(reduction: str, old: k.Scalar, new: k.Scalar) -> k.Scalar:
    """`old op new`, computed wide and rounded once."""
    if reduction == "update":
        return new
    if old.dtype.is_bool:
        old, new = k.cast("uint8", old), k.cast("uint8", new)
        return k.cast("bool", REDUCTIONS[reduction][0](old, new))
    return k.cast(old.dtype, REDUCTIONS[reduction][0](k.wide(old), k.wide(new)))


def compute_elements(inputs: Sequence[k.Tensor], a: ScatterAttrs, out: k.Result) -> k.Tensor:
    """A copy, then the updates one after the other."""
    x, at, updates = inputs
    axis = from_front(a.axis, x.ndim)

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        data, places, new = ins
        (result,) = outs

        def update(*i: k.Scalar) -> Stmt:
            position = from_either_end(load(places, *i), x.shape[axis])
            where = [position if n == axis else j for n, j in enumerate(i)]
            return store(result, where, combined(a.reduction, load(result, *where), load(new, *i)))

        copy = loops(x.shape, lambda *i: store(result, i, load(data, *i)))
        return both(copy, loops(updates.shape, update, "u"))

    return extern(x.shape, [x, at, updates], body, "scatter_elements", out.dtype)


def apply_in_order(x: AnyArray, places: Callable[[Place], Place], updates: AnyArray, reduction: str) -> AnyArray:
    """The reference: `places(i)` is where update `i` goes."""
    function = REDUCTIONS[reduction][1]
    found = np.array(x)
    dtype = DataType(found.dtype)
    wide = found.astype("float32" if dtype.is_narrow else "uint8" if dtype.is_bool else found.dtype)
    for i in np.ndindex(updates.shape):
        where = places(i)
        new = function(wide[where], np.asarray(updates[i]).astype(wide.dtype))
        wide[where] = np.asarray(new).astype(found.dtype)
    return wide.astype(found.dtype)


def reference_elements(inputs: Sequence[AnyArray], a: ScatterAttrs) -> AnyArray:
    """One update after the other."""
    x, at, updates = inputs
    axis = from_front(a.axis, x.ndim)
    return apply_in_order(x, lambda i: (*i[:axis], int(at[i]), *i[axis + 1 :]), updates, a.reduction)


def gradient_elements(b: CallMaker, args: Exprs, a: ScatterAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """`add`: to both; `update`: to the data where nothing was written (places are taken to be different)."""
    _, at, updates = args
    taken = b.op("gather_elements", grad, at, axis=a.axis)
    if a.reduction == "add":
        return [grad, None, taken]
    if a.reduction != "update":
        raise fail("op-gradient", f"scatter_elements has no gradient with reduction {a.reduction!r}")
    kept = b.op("scatter_elements", grad, at, b.full_like(updates, 0), axis=a.axis, reduction="update")
    return [kept, None, taken]


def _elements_samples() -> tuple[Sample, ...]:
    at = Arr((2, 3), "int64", -4, 4)
    return (
        Sample((Arr(("n", 4)), Arr((2, 4), "int64", 0, 3), Arr((2, 4))), ScatterAttrs()),
        *(Sample((Arr((4, 3)), at, Arr((2, 3))), ScatterAttrs(reduction=r)) for r in REDUCTIONS if r != "update"),
        Sample((Arr((4, 3), "float64"), at, Arr((2, 3), "float64")), ScatterAttrs()),
        Sample((Arr((4, 3), "int32", -9, 9), at, Arr((2, 3), "int32", -9, 9)), ScatterAttrs(reduction="mean")),
        Sample((Arr((2, "m")), Arr((2, 3), "int32", 0, 4), Arr((2, 3))), ScatterAttrs(axis=-1, reduction="add")),
    )


SCATTER_ELEMENTS = OpDef(
    "scatter_elements",
    ScatterAttrs,
    inputs=(
        Input("data"),
        Input("indices", "indices, of the data's rank"),
        Input("updates", "updates, of the indices' shape"),
    ),
    infer=infer_elements,
    compute=compute_elements,
    reference=reference_elements,
    gradient=gradient_elements,
    fusion=Fusion.OPAQUE,
    samples=_elements_samples,
    summary="A copy of a tensor with updates scattered along an axis by indices.",
)


@attrs
class ScatterNDAttrs(Attrs):
    """How."""

    reduction: str = attr("update", "the reduction: update, add, mul, mean, min or max", relax_only=True)
    mode: str = attr("update", "Relay's name of `reduction`", relay_only=True)


def _reduction(a: ScatterNDAttrs) -> str:
    """The reduction: Relay's `mode`, or Relax's `reduction` if it is set."""
    return a.reduction if a.reduction != "update" else a.mode


def infer_nd(call: OpCall[ScatterNDAttrs]) -> Info:
    """The data's shape; updates must have that of a gather_nd."""
    x, at, updates = call.tensor(0), indices_info(call), call.tensor(2)
    check_updates(call, _reduction(call.attrs))
    if x.shape is None or at.shape is None or updates.shape is None:
        return x
    if not at.shape:
        call.fail("indices must have an axis of coordinates, got a scalar")
    leading = not call.op.in_relax
    count = at.shape[0] if leading else at.shape[-1]
    if not isinstance(count, int):
        return x
    around = at.shape[1:] if leading else at.shape[:-1]
    wanted = (*around, *x.shape[count:])
    math = DimMath(call.prover)
    wrong = len(wanted) != len(updates.shape)
    if count > x.ndim or wrong or any(math.equal(p, q) is False for p, q in zip(wanted, updates.shape)):
        call.fail(
            f"updates {show_shape(updates.shape)} do not fit data {show_shape(x.shape)} and indices "
            f"{show_shape(at.shape)}: they must have shape {show_shape(wanted)}"
        )
    return x


def compute_nd(inputs: Sequence[k.Tensor], a: ScatterNDAttrs, out: k.Result, leading: bool) -> k.Tensor:
    """A copy, then the updates one after the other."""
    x, at, updates = inputs
    around = at.ndim - 1
    count = x.ndim - (updates.ndim - around)

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        data, places, new = ins
        (result,) = outs

        def update(*i: k.Scalar) -> Stmt:
            outer = i[:around]
            coordinates = [
                load(places, k.index(c), *outer) if leading else load(places, *outer, k.index(c)) for c in range(count)
            ]
            where = [from_either_end(c, x.shape[n]) for n, c in enumerate(coordinates)] + list(i[around:])
            return store(result, where, combined(_reduction(a), load(result, *where), load(new, *i)))

        copy = loops(x.shape, lambda *i: store(result, i, load(data, *i)))
        return both(copy, loops(updates.shape, update, "u"))

    return extern(x.shape, [x, at, updates], body, "scatter_nd", out.dtype)


def reference_nd(inputs: Sequence[AnyArray], a: ScatterNDAttrs, leading: bool) -> AnyArray:
    """One update after the other."""
    x, at, updates = inputs
    at = np.moveaxis(at, 0, -1) if leading else at
    around = at.ndim - 1
    return apply_in_order(x, lambda i: (*(int(c) for c in at[i[:around]]), *i[around:]), updates, _reduction(a))


def _scatter_nd(name: str, leading: bool) -> Definition:
    gather = "relay_gather_nd" if leading else "gather_nd"
    moved = (lambda shape: (shape[-1], *shape[:-1])) if leading else (lambda shape: shape)

    def gradient(b: CallMaker, args: Exprs, a: ScatterNDAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
        taken = b.op(gather, grad, args[1])
        if _reduction(a) == "add":
            return [grad, None, taken]
        if _reduction(a) != "update":
            raise fail("op-gradient", f"{name} has no gradient with reduction {_reduction(a)!r}")
        return [b.op(name, grad, args[1], b.full_like(args[2], 0)), None, taken]

    return OpDef(
        name,
        ScatterNDAttrs,
        inputs=(Input("data"), Input("indices"), Input("updates")),
        infer=infer_nd,
        compute=lambda inputs, a, out: compute_nd(inputs, a, out, leading),
        reference=lambda inputs, a: reference_nd(inputs, a, leading),
        gradient=gradient,
        fusion=Fusion.OPAQUE,
        relay_name="scatter_nd" if leading else NotApplicable("Relay's coordinates lie along the first axis"),
        in_relax=not leading,
        samples=lambda: (
            Sample(
                (Arr((4, "m"), "float64"), Arr(moved(("n", 1)), "int64", 0, 4), Arr(("n", "m"), "float64")),
                ScatterNDAttrs(),
            ),
            Sample((Arr((4, 3)), Arr(moved((2, 3, 2)), "int64", -3, 3), Arr((2, 3))), ScatterNDAttrs("add")),
            Sample((Arr((4, 3)), Arr(moved((5, 2)), "int32", 0, 3), Arr((5,))), ScatterNDAttrs("max")),
        ),
        summary="A copy of a tensor with updates scattered to given coordinates.",
    )


SCATTER_ND = _scatter_nd("scatter_nd", leading=False)
RELAY_SCATTER_ND = _scatter_nd("relay_scatter_nd", leading=True)

SCATTERS: tuple[Definition, ...] = (SCATTER_ELEMENTS, SCATTER_ND, RELAY_SCATTER_ND)
