"""Axes stretched, and their adjoint: broadcast_to(_like), collapse_sum_to(_like).

`broadcast_to`: NumPy's. `collapse_sum_to`: sums over the axes that broadcasting would add or stretch. Source: facts
relax-ops-passes-vm §1, relay-language §6.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.linalg.products import rounded
from baton._src.ops.op_builder import Given, Made, OpBuilder
from baton._src.ops.precision import accumulator, computed_wide
from baton._src.ops.samples import Arr, Sample, Shape
from baton._src.ops.shape.targets import as_shape, is_computed, of_unknown_dims, target_dims, target_numbers
from baton._src.tir.expr import IterVar
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray


@attrs
class ShapeAttrs(Attrs):
    """Relay's target."""

    shape: tuple[Dim, ...] | None = attr(None, "the target", relay_only=True)
    dtype: DataType = attr("", "unused; kept for TVM's signature", relay_only=True)

    def __post_init__(self) -> None:
        set_attr(self, "shape", as_shape(self.shape))


def _target(call: OpCall[Attrs]) -> tuple[tuple[Dim, ...] | None, TensorInfo]:
    """The dims of the result, as far as they are known, and the result where they are not."""
    x = call.tensor(0)
    if call.op.name.endswith("_like"):
        like = call.tensor(1)
        return like.shape, TensorInfo(None, x.dtype, like.ndim, x.vdevice, like.shape_var)
    return target_dims(call, 1, "shape"), of_unknown_dims(call, 1, x.dtype, x.vdevice)


def infer_broadcast_to(call: OpCall[Attrs]) -> Info:
    """The target, if the operand broadcasts to it."""
    x, (target, unknown) = call.tensor(0), _target(call)
    if target is None:
        if x.ndim > unknown.ndim >= 0:
            call.fail(f"{show_shape(x.shape, x.ndim)} has more axes than the target, which has {unknown.ndim}")
        return unknown
    if x.ndim > len(target):
        call.fail(f"{show_shape(x.shape, x.ndim)} has more axes than the target {show_shape(target)}")
    if x.shape is not None:
        math = DimMath(call.prover)
        for dim, wanted in zip(reversed(x.shape), reversed(target)):
            if math.stretches(dim, wanted) is False:
                call.fail(f"{show_shape(x.shape)} does not broadcast to {show_shape(target)}: {dim} against {wanted}")
    return TensorInfo(target, x.dtype, vdevice=x.vdevice)


def compute_broadcast_to(inputs: Sequence[k.Tensor], a: Attrs, out: k.Result) -> k.Tensor:
    """Unit axes are repeated, also those of unknown extent that turn out to be one."""
    x = inputs[0]
    return k.compute(out.shape, lambda *i: x(*k.stretched_indices(x, i, out.shape)), "T_broadcast_to", axes="ax")


def _np_broadcast(x: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    return np.broadcast_to(x, shape).copy()


def relay_broadcast_to(make: OpBuilder, data: Given, shape: Given) -> Made:
    """A target that is a tensor makes it `dyn.broadcast_to`."""
    if is_computed(shape):
        return make.op("dyn.broadcast_to", data, shape)
    return make(data, shape=shape)


def gradient_broadcast(b: CallMaker, args: Exprs, a: Attrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Summed back."""
    return [b.op("collapse_sum_like", grad, args[0]), *(None for _ in args[1:])]


BROADCAST_TO = OpDef(
    "broadcast_to",
    ShapeAttrs,
    inputs=(Input("x", relay_name="data"), Input("shape", kind="shape", languages=("relax",))),
    reference=lambda inputs, a: _np_broadcast(inputs[0], target_numbers(inputs, 1, a.shape)),
    relay_builder=relay_broadcast_to,
    samples=lambda: (
        Sample((Arr(("n", 1)), Shape((2, "n", 4))), ShapeAttrs()),
        Sample((Arr(()), Shape((2, 3))), ShapeAttrs()),
        Sample((Arr((1, 3)),), ShapeAttrs(shape=(2, 3))),
    ),
    summary="Broadcast to a shape, by NumPy's rules.",
    infer=infer_broadcast_to,
    compute=compute_broadcast_to,
    gradient=gradient_broadcast,
    fusion=Fusion.BROADCAST,
)
DYN_BROADCAST_TO = OpDef(
    "dyn.broadcast_to",
    inputs=(Input("data"), Input("shape", "a tensor of rank 1")),
    reference=lambda inputs, a: _np_broadcast(inputs[0], target_numbers(inputs, 1, None)),
    in_relax=False,
    shape_values=(1,),
    samples=lambda: (),
    summary="Broadcast to a shape computed at run time.",
    infer=infer_broadcast_to,
    compute=compute_broadcast_to,
    gradient=gradient_broadcast,
    fusion=Fusion.BROADCAST,
)
BROADCAST_TO_LIKE = OpDef(
    "broadcast_to_like",
    inputs=(Input("data"), Input("broadcast_type", "a tensor of the shape to take")),
    reference=lambda inputs, a: _np_broadcast(inputs[0], inputs[1].shape),
    in_relax=False,
    samples=lambda: (Sample((Arr(("n", 1)), Arr((2, "n", 4)))),),
    summary="Broadcast to the shape of another tensor.",
    infer=infer_broadcast_to,
    compute=compute_broadcast_to,
    gradient=gradient_broadcast,
    fusion=Fusion.BROADCAST,
)


def infer_collapse(call: OpCall[Attrs]) -> Info:
    """The target; the operand must be what it broadcasts to."""
    x, (target, unknown) = call.tensor(0), _target(call)
    if target is None:
        if unknown.ndim > x.ndim >= 0:
            call.fail(f"the target, which has {unknown.ndim} axes, has more than {show_shape(x.shape, x.ndim)}")
        return unknown
    if x.shape is not None:
        math = DimMath(call.prover)
        if len(target) > len(x.shape):
            call.fail(f"the target {show_shape(target)} has more axes than {show_shape(x.shape)}")
        for dim, wanted in zip(reversed(x.shape), reversed(target)):
            if math.stretches(wanted, dim) is False:
                call.fail(f"{show_shape(target)} does not broadcast to {show_shape(x.shape)}")
    return TensorInfo(target, x.dtype, vdevice=x.vdevice)


def compute_collapse(inputs: Sequence[k.Tensor], a: Attrs, out: k.Result) -> k.Tensor:
    """One sum over the axes that were added or stretched (an unknown target dim may be 1 or the whole extent)."""
    x = inputs[0]
    offset = x.ndim - len(out.shape)
    axes: dict[int, IterVar] = {}
    for n, d in enumerate(x.shape):
        wanted = None if n < offset else out.shape[n - offset]
        if wanted is None or (k.is_one(wanted) and not k.is_one(d)):
            axes[n] = k.reduce_axis(d, f"k{n}")
        elif not (wanted is d or isinstance(wanted, int) or k.is_one(d)):
            axes[n] = k.reduce_axis(k.index(d) // k.index(wanted), f"k{n}")

    def body(*i: k.Scalar) -> k.Scalar:
        where: list[k.Scalar] = []
        for n in range(x.ndim):
            if n < offset or (n in axes and k.is_one(out.shape[n - offset])):
                where.append(axes[n].var)
            elif n in axes:
                where.append(i[n - offset] + axes[n].var)
            else:
                where.append(i[n - offset])
        value = k.cast(accumulator(x.dtype), x(*where))
        return k.reduce_sum(value, list(axes.values())) if axes else value

    return rounded(k.compute(out.shape, body, f"{x.name}_red", axes="ax"), out.dtype)


def collapse(x: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    """Over NumPy."""

    def fold(v: AnyArray) -> AnyArray:
        extra = v.ndim - len(shape)
        v = v.sum(axis=tuple(range(extra)), dtype=v.dtype)
        axes = tuple(i for i, (d, w) in enumerate(zip(v.shape, shape)) if w == 1 and d != 1)
        return v.sum(axis=axes, keepdims=True, dtype=v.dtype) if axes else v

    return computed_wide(fold, x)


def gradient_collapse(b: CallMaker, args: Exprs, a: Attrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Stretched back."""
    return [b.op("broadcast_to", grad, b.shape_of(args[0])), *(None for _ in args[1:])]


COLLAPSE_SUM_TO = OpDef(
    "collapse_sum_to",
    ShapeAttrs,
    inputs=(Input("data"), Input("shape", kind="shape", languages=("relax",))),
    reference=lambda inputs, a: collapse(inputs[0], target_numbers(inputs, 1, a.shape)),
    samples=lambda: (
        Sample((Arr((2, "n", 4)), Shape(("n", 1))), ShapeAttrs()),
        Sample((Arr((2, 3)), Shape((2, 3))), ShapeAttrs()),
        Sample((Arr((2, 3)),), ShapeAttrs(shape=())),
    ),
    summary="Sum over the axes that broadcasting the given shape to the operand's shape would add or stretch.",
    infer=infer_collapse,
    compute=compute_collapse,
    gradient=gradient_collapse,
    fusion=Fusion.COMM_REDUCE,
)
COLLAPSE_SUM_LIKE = OpDef(
    "collapse_sum_like",
    inputs=(Input("data"), Input("collapse_target", "a tensor of the shape to take", relay_name="collapse_type")),
    reference=lambda inputs, a: collapse(inputs[0], inputs[1].shape),
    samples=lambda: (Sample((Arr((2, "n", 4)), Arr(("n", 1)))), Sample((Arr((2, 3)), Arr((2, 3))))),
    summary="Sum over broadcast axes to get the shape of another tensor.",
    infer=infer_collapse,
    compute=compute_collapse,
    gradient=gradient_collapse,
    fusion=Fusion.COMM_REDUCE,
)

BROADCASTS: tuple[Definition, ...] = (
    BROADCAST_TO,
    DYN_BROADCAST_TO,
    BROADCAST_TO_LIKE,
    COLLAPSE_SUM_TO,
    COLLAPSE_SUM_LIKE,
)
