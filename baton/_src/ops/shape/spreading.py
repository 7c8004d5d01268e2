"""Operators between a shape and one it broadcasts to: broadcast_to, broadcast_to_like, collapse_sum_to, collapse_sum_like.

`broadcast_to` repeats along axes of extent 1 and new leading ones; `collapse_sum_*` is its transpose: it adds up along
exactly those axes. Source: facts relax-ops-passes-vm §1 (manipulate), relay-language §6 levels 4 and 10.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Fusion, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.precision import wide
from baton._src.ops.samples import Arr, Sample, Shape
from baton._src.ops.shape.targets import target_dims, target_numbers, target_rank


@attrs
class TargetAttrs(Attrs):
    """Relay's target."""

    shape: Any = attr(None, "the target shape", relay_only=True)

    def __post_init__(self) -> None:
        if self.shape is not None:
            set_attr(self, "shape", (self.shape,) if isinstance(self.shape, int) else tuple(self.shape))


@attrs
class DtypeAttrs(TargetAttrs):
    """The same, and a dtype that Relay records."""

    dtype: Any = attr("", "dtype of the target's elements", relay_only=True)


def check_spread(call: OpCall[Any], shape: Sequence[Dim], target: Sequence[Dim]) -> None:
    """`shape` must broadcast to `target`, as far as can be told."""
    math = DimMath(call.prover)
    if len(shape) > len(target):
        call.fail(f"{show_shape(tuple(shape))} has more axes than the target {show_shape(tuple(target))}")
    for old, new in zip(shape, target[len(target) - len(shape) :]):
        if isinstance(old, int) and old == 1:
            continue
        if math.equal(old, new) is False and isinstance(old, int):
            call.fail(f"{show_shape(tuple(shape))} does not broadcast to {show_shape(tuple(target))}: {old} against {new}")


def infer_broadcast_to(call: OpCall[Any]) -> Info:
    """The target."""
    x = call.tensor(0)
    target = target_dims(call, 1, "shape")
    if target is None:
        return TensorInfo(None, x.dtype, target_rank(call, 1), x.vdevice)
    if x.shape is not None:
        check_spread(call, x.shape, target)
    elif x.ndim > len(target):
        call.fail(f"an operand of rank {x.ndim} does not broadcast to {show_shape(target)}")
    return TensorInfo(target, x.dtype, vdevice=x.vdevice)


def compute_broadcast(inputs: Any, attributes: Any, out: Any) -> Any:
    """Axes of extent 1 are read at 0. A symbolic extent may turn out to be 1 too."""
    x = inputs[0]
    offset = len(out.shape) - x.ndim

    def place(axis: int, i: Any) -> Any:
        dim, new = x.shape[axis], out.shape[offset + axis]
        if k.is_one(dim):
            return k.index(0)
        if isinstance(dim, k.tir.IntImm) or dim is new or isinstance(dim, int):
            return i
        return i if dim is k.index(new) else k.select(k.tir.EQ(dim, k.index(1)), k.index(0), i)

    return k.compute(out.shape, lambda *i: x(*(place(a, i[offset + a]) for a in range(x.ndim))), "broadcast_to")


def reference_broadcast(inputs: Any, attributes: Any) -> Any:
    """`numpy.broadcast_to`."""
    target = target_numbers(inputs, 1, getattr(attributes, "shape", None))
    return np.ascontiguousarray(np.broadcast_to(inputs[0], target)).reshape(target)


def relay_builder(make: Any, data: Any, shape: Any) -> Any:
    """A target that is a tensor makes it `dyn.broadcast_to`."""
    return make.op("dyn.broadcast_to", data, shape) if isinstance(shape, GraphExpr) else make(data, shape=shape)


def _gradient(b: Any, args: Any, attributes: Any, out: Any, grad: Any) -> list[Any]:
    return [b.op("collapse_sum_like", grad, args[0]), *(None for _ in args[1:])]


BROADCAST_TO = OpDef(
    "broadcast_to",
    DtypeAttrs,
    inputs=(Input("x", relay_name="data"), Input("shape", "the target", kind="shape", languages=("relax",))),
    infer=infer_broadcast_to,
    compute=compute_broadcast,
    reference=reference_broadcast,
    gradient=_gradient,
    fusion=Fusion.BROADCAST,
    relay_builder=relay_builder,
    samples=lambda: (
        Sample((Arr((3, 1)), Shape((3, "n"))), DtypeAttrs()),
        Sample((Arr(("n", 1)), Shape((2, "n", "m"))), DtypeAttrs()),
        Sample((Arr(()), Shape(("n",))), DtypeAttrs()),
        Sample((Arr((1, 4)),), DtypeAttrs(shape=(3, 4))),
    ),
    summary="A tensor repeated along unit and leading axes to a given shape.",
)

DYN_BROADCAST_TO = OpDef(
    "dyn.broadcast_to",
    DtypeAttrs,
    inputs=(Input("data"), Input("shape", "a tensor of rank 1")),
    infer=infer_broadcast_to,
    compute=compute_broadcast,
    reference=reference_broadcast,
    gradient=_gradient,
    fusion=Fusion.BROADCAST,
    in_relax=False,
    shape_values=(1,),
    samples=lambda: (),
    summary="A tensor broadcast to a computed shape.",
)


def infer_like(call: OpCall[Any]) -> Info:
    """The shape of the second operand."""
    x, like = call.tensor(0), call.tensor(1)
    if x.shape is not None and like.shape is not None:
        check_spread(call, x.shape, like.shape)
    return TensorInfo(like.shape, x.dtype, like.ndim, x.vdevice, like.shape_var)


BROADCAST_TO_LIKE = OpDef(
    "broadcast_to_like",
    inputs=(Input("data"), Input("broadcast_type", "has the target shape")),
    infer=infer_like,
    compute=compute_broadcast,
    reference=lambda inputs, a: np.ascontiguousarray(np.broadcast_to(inputs[0], inputs[1].shape)),
    gradient=lambda b, args, a, out, grad: [b.op("collapse_sum_like", grad, args[0]), None],
    fusion=Fusion.BROADCAST,
    in_relax=False,
    samples=lambda: (Sample((Arr((1, 4)), Arr(("n", 4)))),),
    summary="A tensor broadcast to the shape of another.",
)


def infer_collapse_to(call: OpCall[TargetAttrs]) -> Info:
    """The target."""
    x = call.tensor(0)
    target = target_dims(call, 1, "shape")
    if target is None:
        return TensorInfo(None, x.dtype, target_rank(call, 1), x.vdevice)
    if x.shape is not None:
        check_spread(call, target, x.shape)
    return TensorInfo(target, x.dtype, vdevice=x.vdevice)


def infer_collapse_like(call: OpCall[Any]) -> Info:
    """The shape of the second operand."""
    x, like = call.tensor(0), call.tensor(1)
    if x.shape is not None and like.shape is not None:
        check_spread(call, like.shape, x.shape)
    return TensorInfo(like.shape, x.dtype, like.ndim, x.vdevice, like.shape_var)


def compute_collapse(inputs: Any, attributes: Any, out: Any) -> Any:
    """Sums over leading axes and over those where the target has extent 1 and the operand has not."""
    x = inputs[0]
    offset = x.ndim - len(out.shape)
    folded = [a for a in range(x.ndim) if a < offset or _folds(x.shape[a], out.shape[a - offset])]
    if not folded:
        return k.compute(out.shape, lambda *i: x(*i), "collapse_sum")
    axes = {a: k.reduce_axis(x.shape[a], f"k{n}") for n, a in enumerate(folded)}

    def body(*indices: Any) -> Any:
        where = [axes[a].var if a in axes else indices[a - offset] for a in range(x.ndim)]
        return k.reduce_sum(k.wide(x(*where)), list(axes.values()))

    total = k.compute(out.shape, body, "collapse_sum")
    return total if total.dtype == out.dtype else k.compute(out.shape, lambda *i: k.cast(out.dtype, total(*i)), "cast")


def _folds(dim: Any, target: Any) -> bool:
    return k.is_one(target) and not k.is_one(dim)


def _collapsed(x: Any, target: Sequence[int]) -> Any:
    offset = x.ndim - len(target)
    axes = tuple(a for a in range(x.ndim) if a < offset or (target[a - offset] == 1 and x.shape[a] != 1))
    kept = wide(x)
    return kept.sum(axis=axes, dtype=kept.dtype).reshape(target).astype(x.dtype) if axes else x.reshape(target)


def _spread_back(b: Any, args: Any, attributes: Any, out: Any, grad: Any) -> list[Any]:
    return [b.op("broadcast_to", grad, b.shape_of(args[0])), *(None for _ in args[1:])]


COLLAPSE_SUM_TO = OpDef(
    "collapse_sum_to",
    TargetAttrs,
    inputs=(Input("data"), Input("shape", "the target", kind="shape", languages=("relax",))),
    infer=infer_collapse_to,
    compute=compute_collapse,
    reference=lambda inputs, a: _collapsed(inputs[0], target_numbers(inputs, 1, a.shape)),
    gradient=_spread_back,
    fusion=Fusion.COMM_REDUCE,
    relay_builder=lambda make, data, shape: make(data, shape=shape),
    samples=lambda: (
        Sample((Arr(("n", 4, 5)), Shape((4, 1))), TargetAttrs()),
        Sample((Arr((2, 3)), Shape(())), TargetAttrs()),
        Sample((Arr((2, 3), "float16"),), TargetAttrs(shape=(1, 3)), rtol=1e-2),
    ),
    summary="Sums over the axes along which a shape would broadcast to the operand's.",
)

COLLAPSE_SUM_LIKE = OpDef(
    "collapse_sum_like",
    inputs=(Input("data"), Input("collapse_target", "has the target shape", relay_name="collapse_type")),
    infer=infer_collapse_like,
    compute=compute_collapse,
    reference=lambda inputs, a: _collapsed(inputs[0], inputs[1].shape),
    gradient=_spread_back,
    fusion=Fusion.COMM_REDUCE,
    samples=lambda: (
        Sample((Arr(("n", 4, 5)), Arr((4, 1)))),
        Sample((Arr(("n", 4)), Arr(("n", 4)))),
    ),
    summary="Sums down to the shape of another tensor.",
)

SPREADS: tuple[OpDef[Any], ...] = (
    BROADCAST_TO,
    DYN_BROADCAST_TO,
    BROADCAST_TO_LIKE,
    COLLAPSE_SUM_TO,
    COLLAPSE_SUM_LIKE,
)
