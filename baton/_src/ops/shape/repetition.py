"""Elements repeated: tile (the whole tensor), repeat (every element). Source: facts relax-ops-passes-vm §1,
relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradients, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Dim, Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.dims import DimMath, as_dims
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.linear_axes import named_dims
from baton._src.ops.op_builder import Given, Made, OpBuilder
from baton._src.ops.row_major import split_index
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.shape.targets import as_shape, is_computed, target_dims, target_numbers


@attrs
class TileAttrs(Attrs):
    """How often."""

    repeats: tuple[Dim, ...] | None = attr(None, "repetitions along the last axes", relax_only=True)
    reps: tuple[Dim, ...] | None = attr(None, "repetitions along the last axes", relay_only=True, same_as="repeats")

    def __post_init__(self) -> None:
        given = as_shape(self.repeats if self.repeats is not None else self.reps)
        found = None if given is None else as_dims(given)
        set_attr(self, "repeats", found)
        set_attr(self, "reps", found)


def infer_tile(call: OpCall[TileAttrs]) -> Info:
    """Extents multiplied, aligned from the right."""
    x = call.tensor(0)
    repeats = target_dims(call, 1, "repeats")
    if repeats is None or x.ndim < 0:
        return TensorInfo(None, x.dtype, -1, x.vdevice)
    rank = max(x.ndim, len(repeats))
    if x.shape is None:
        return TensorInfo(None, x.dtype, rank, x.vdevice)
    negative = next((r for r in repeats if isinstance(r, int) and r < 0), None)
    if negative is not None:
        call.fail(f"a dim is repeated {negative} times: it is 0 or more times", code="op-attribute")
    math = DimMath(call.prover)
    shape = (1,) * (rank - x.ndim) + x.shape
    times = (1,) * (rank - len(repeats)) + tuple(repeats)
    return TensorInfo(tuple(math.multiply(d, r) for d, r in zip(shape, times)), x.dtype, vdevice=x.vdevice)


def compute_tile(inputs: Sequence[k.Tensor], a: Attrs, out: k.Result) -> k.Tensor:
    """Indices modulo the operand's extents."""
    x = inputs[0]
    offset = len(out.shape) - x.ndim
    return k.compute(
        out.shape, lambda *i: x(*(i[offset + n] % k.divisor(d) for n, d in enumerate(x.shape))), "T_tile", axes="ax"
    )


def relay_tile(make: OpBuilder, data: Given, reps: Given) -> Made:
    """Repetitions that are a tensor make it `dyn.tile`."""
    if is_computed(reps):
        return make.op("dyn.tile", data, reps)
    return make(data, reps=reps)


def gradient_tile(b: CallMaker, args: Exprs, a: TileAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """All copies summed."""
    x = args[0]
    ndim, repeats = x.struct_info.ndim, a.repeats or ()
    rank = max(ndim, len(repeats))
    times = (1,) * (rank - len(repeats)) + repeats
    shape = (1,) * (rank - ndim) + named_dims(x.struct_info, "tile")
    paired = [d for pair in zip(times, shape) for d in pair]
    summed = b.op("sum", b.op("reshape", grad, b.shape(paired)), axis=tuple(range(0, 2 * rank, 2)))
    return [b.op("reshape", summed, b.shape_of(x))]


TILE = OpDef(
    "tile",
    TileAttrs,
    inputs=(Input("data"),),
    infer=infer_tile,
    compute=compute_tile,
    reference=lambda inputs, a: np.tile(inputs[0], target_numbers((), 0, a.repeats)),
    gradient=gradient_tile,
    fusion=Fusion.BROADCAST,
    relay_builder=relay_tile,
    samples=lambda: (
        Sample((Arr(("n", 2)),), TileAttrs((2, 1, 3))),
        Sample((Arr((2, 3), "int32", -9, 9),), TileAttrs(2)),
    ),
    summary="Repeat the whole tensor along its axes.",
)
DYN_TILE: Definition = OpDef(
    "dyn.tile",
    inputs=(Input("data"), Input("reps", "a tensor of rank 1")),
    infer=infer_tile,
    compute=compute_tile,
    reference=lambda inputs, a: np.tile(inputs[0], target_numbers(inputs, 1, None)),
    fusion=Fusion.BROADCAST,
    in_relax=False,
    shape_values=(1,),
    samples=lambda: (),
    summary="Repeat the whole tensor a number of times computed at run time.",
)


@attrs
class RepeatAttrs(Attrs):
    """How often, along what."""

    repeats: int = attr(doc="the number of repetitions of each element")
    axis: int | None = attr(None, "along which axis; None: all flattened first")


def infer_repeat(call: OpCall[RepeatAttrs]) -> Info:
    """One extent multiplied."""
    x, a = call.tensor(0), call.attrs
    if a.repeats < 0:
        call.fail(f"repeats is {a.repeats}: elements are repeated 0 or more times", code="op-attribute")
    math = DimMath(call.prover)
    if a.axis is None:
        if x.shape is None:
            return TensorInfo(None, x.dtype, 1, x.vdevice)
        return TensorInfo((math.multiply(math.product(x.shape), a.repeats),), x.dtype, vdevice=x.vdevice)
    if x.ndim >= 0:
        normal_axis(call, a.axis, x.ndim)
    if x.shape is None:
        return TensorInfo(None, x.dtype, x.ndim, x.vdevice)
    axis = from_front(a.axis, x.ndim)
    shape = list(x.shape)
    shape[axis] = math.multiply(shape[axis], a.repeats)
    return TensorInfo(tuple(shape), x.dtype, vdevice=x.vdevice)


def compute_repeat(inputs: Sequence[k.Tensor], a: RepeatAttrs, out: k.Result) -> k.Tensor:
    """The index along the axis divided."""
    (x,) = inputs
    times = max(a.repeats, 1)  # of none there is nothing to index
    if a.axis is None:
        return k.compute(out.shape, lambda i: x(*split_index(i // times, x.shape)), "T_repeat", axes="ax")
    axis = from_front(a.axis, x.ndim)
    return k.compute(out.shape, lambda *i: x(*i[:axis], i[axis] // times, *i[axis + 1 :]), "T_repeat", axes="ax")


REPEAT = OpDef(
    "repeat",
    RepeatAttrs,
    inputs=(Input("data"),),
    infer=infer_repeat,
    compute=compute_repeat,
    reference=lambda inputs, a: np.repeat(inputs[0], a.repeats, a.axis),
    gradient=lambda b, args, a, out, grad: _repeat_gradient(b, args[0], a, grad),
    fusion=Fusion.BROADCAST,
    layout=FollowsInput(axis="axis"),
    samples=lambda: (
        Sample((Arr(("n", 2)),), RepeatAttrs(3, 1)),
        Sample((Arr((2, "m")),), RepeatAttrs(2, -2)),
        Sample((Arr((2, 2), "int32", -9, 9),), RepeatAttrs(2)),
    ),
    summary="Repeat every element along an axis.",
)


def _repeat_gradient(b: CallMaker, x: GraphExpr, a: RepeatAttrs, grad: GraphExpr) -> Gradients:
    dims = named_dims(x.struct_info, "repeat")
    axis = len(dims) - 1 if a.axis is None else from_front(a.axis, len(dims))
    split = [*dims[: axis + 1], a.repeats, *dims[axis + 1 :]]
    return [b.op("sum", b.op("reshape", grad, b.shape(split)), axis=(axis + 1,))]


REPETITIONS: tuple[Definition, ...] = (TILE, DYN_TILE, REPEAT)
