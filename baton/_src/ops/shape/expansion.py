"""Elements repeated or summed back: broadcast_to(_like), tile, repeat, reverse (Relax: flip), collapse_sum_to/_like.

`broadcast_to`: NumPy's. `collapse_sum_to` is its adjoint: sums over the axes that broadcasting would add or stretch.
`tile`: the whole tensor repeated; `repeat`: every element. Source: facts relax-ops-passes-vm §1, relay-language §6.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Fusion, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.linalg.products import computing_dtype, rounded
from baton._src.ops.precision import computed_wide
from baton._src.ops.samples import Arr, Sample, Shape
from baton._src.ops.shape.targets import of_unknown_dims, target_dims, target_numbers


@attrs
class ShapeAttrs(Attrs):
    """Relay's target."""

    shape: Any = attr(None, "the target", relay_only=True)
    dtype: Any = attr("", "unused; kept for TVM's signature", relay_only=True)

    def __post_init__(self) -> None:
        if self.shape is not None:
            set_attr(self, "shape", (self.shape,) if isinstance(self.shape, int) else tuple(self.shape))


def infer_broadcast_to(call: OpCall[Any]) -> Info:
    """The target, if the operand broadcasts to it."""
    x = call.tensor(0)
    if call.op.name == "broadcast_to_like":
        like = call.tensor(1)
        target, unknown = like.shape, TensorInfo(None, x.dtype, like.ndim, x.vdevice, like.shape_var)
    else:
        target, unknown = target_dims(call, 1, "shape"), of_unknown_dims(call, 1, x.dtype, x.vdevice)
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


def compute_broadcast_to(inputs: Any, a: Any, out: Any) -> Any:
    """Unit axes are repeated, also those of unknown extent that turn out to be one."""
    x = inputs[0]
    return k.compute(out.shape, lambda *i: x(*k.stretched_indices(x, i, out.shape)), "broadcast_to")


def _np_broadcast(x: Any, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(x, shape).copy()


def relay_broadcast_to(make: Any, data: Any, shape: Any) -> Any:
    """A target that is a tensor makes it `dyn.broadcast_to`."""
    if isinstance(shape, GraphExpr):
        return make.op("dyn.broadcast_to", data, shape)
    return make(data, shape=shape)


def gradient_broadcast(b: Any, args: Any, a: Any, out: Any, grad: Any) -> list[Any]:
    """Summed back."""
    return [b.op("collapse_sum_like", grad, args[0]), *(None for _ in args[1:])]


_BROADCAST: dict[str, Any] = {
    "infer": infer_broadcast_to,
    "compute": compute_broadcast_to,
    "gradient": gradient_broadcast,
    "fusion": Fusion.BROADCAST,
}

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
    summary="Stretched to a shape by NumPy's broadcasting.",
    **_BROADCAST,
)
DYN_BROADCAST_TO = OpDef(
    "dyn.broadcast_to",
    inputs=(Input("data"), Input("shape", "a tensor of rank 1")),
    reference=lambda inputs, a: _np_broadcast(inputs[0], target_numbers(inputs, 1, None)),
    in_relax=False,
    shape_values=(1,),
    samples=lambda: (),
    summary="Stretched to a computed shape.",
    **_BROADCAST,
)
BROADCAST_TO_LIKE = OpDef(
    "broadcast_to_like",
    inputs=(Input("data"), Input("broadcast_type", "a tensor of the shape to take")),
    reference=lambda inputs, a: _np_broadcast(inputs[0], inputs[1].shape),
    in_relax=False,
    samples=lambda: (Sample((Arr(("n", 1)), Arr((2, "n", 4)))),),
    summary="Stretched to the shape of another tensor.",
    **_BROADCAST,
)


def infer_collapse(call: OpCall[Any]) -> Info:
    """The target; the operand must be what it broadcasts to."""
    x = call.tensor(0)
    if call.op.name == "collapse_sum_like":
        like = call.tensor(1)
        target, unknown = like.shape, TensorInfo(None, x.dtype, like.ndim, x.vdevice, like.shape_var)
    else:
        target, unknown = target_dims(call, 1, "shape"), of_unknown_dims(call, 1, x.dtype, x.vdevice)
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


def compute_collapse(inputs: Any, a: Any, out: Any) -> Any:
    """One sum over the axes that were added or stretched (an unknown target dim may be 1 or the whole extent)."""
    x = inputs[0]
    offset = x.ndim - len(out.shape)
    axes: dict[int, Any] = {}
    for n, d in enumerate(x.shape):
        wanted = None if n < offset else out.shape[n - offset]
        if wanted is None or (k.is_one(wanted) and not k.is_one(d)):
            axes[n] = k.reduce_axis(d, f"k{n}")
        elif not (wanted is d or isinstance(wanted, int) or k.is_one(d)):
            axes[n] = k.reduce_axis(k.index(d) // k.index(wanted), f"k{n}")

    def body(*i: Any) -> Any:
        where: list[Any] = []
        for n in range(x.ndim):
            if n < offset or (n in axes and k.is_one(out.shape[n - offset])):
                where.append(axes[n].var)
            elif n in axes:
                where.append(i[n - offset] + axes[n].var)
            else:
                where.append(i[n - offset])
        value = k.cast(computing_dtype(x.dtype), x(*where))
        return k.reduce_sum(value, list(axes.values())) if axes else value

    return rounded(k.compute(out.shape, body, "collapse_sum"), out.dtype)


def collapse(x: Any, shape: tuple[int, ...]) -> Any:
    """Over NumPy."""

    def fold(v: Any) -> Any:
        extra = v.ndim - len(shape)
        v = v.sum(axis=tuple(range(extra)), dtype=v.dtype)
        axes = tuple(i for i, (d, w) in enumerate(zip(v.shape, shape)) if w == 1 and d != 1)
        return v.sum(axis=axes, keepdims=True, dtype=v.dtype) if axes else v

    return computed_wide(fold, x)


def gradient_collapse(b: Any, args: Any, a: Any, out: Any, grad: Any) -> list[Any]:
    """Stretched back."""
    return [b.op("broadcast_to", grad, b.shape_of(args[0])), *(None for _ in args[1:])]


_COLLAPSE: dict[str, Any] = {
    "infer": infer_collapse,
    "compute": compute_collapse,
    "gradient": gradient_collapse,
    "fusion": Fusion.COMM_REDUCE,
}

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
    summary="Summed over the axes that broadcasting to the operand's shape added or stretched.",
    **_COLLAPSE,
)
COLLAPSE_SUM_LIKE = OpDef(
    "collapse_sum_like",
    inputs=(Input("data"), Input("collapse_target", "a tensor of the shape to take", relay_name="collapse_type")),
    reference=lambda inputs, a: collapse(inputs[0], inputs[1].shape),
    samples=lambda: (Sample((Arr((2, "n", 4)), Arr(("n", 1)))), Sample((Arr((2, 3)), Arr((2, 3))))),
    summary="Summed back to the shape of another tensor.",
    **_COLLAPSE,
)


@attrs
class TileAttrs(Attrs):
    """How often."""

    repeats: Any = attr(None, "repetitions along the last axes", relax_only=True)
    reps: Any = attr(None, "repetitions along the last axes", relay_only=True, same_as="repeats")

    def __post_init__(self) -> None:
        found = self.repeats if self.repeats is not None else self.reps
        if found is not None:
            found = (found,) if isinstance(found, int) else tuple(found)
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
    math = DimMath(call.prover)
    shape = (1,) * (rank - x.ndim) + x.shape
    times = (1,) * (rank - len(repeats)) + tuple(repeats)
    return TensorInfo(tuple(math.multiply(d, r) for d, r in zip(shape, times)), x.dtype, vdevice=x.vdevice)


def compute_tile(inputs: Any, a: Any, out: Any) -> Any:
    """Indices modulo the operand's extents."""
    x = inputs[0]
    offset = len(out.shape) - x.ndim
    return k.compute(out.shape, lambda *i: x(*(i[offset + n] % k.divisor(d) for n, d in enumerate(x.shape))), "tile")


def relay_tile(make: Any, data: Any, reps: Any) -> Any:
    """Repetitions that are a tensor make it `dyn.tile`."""
    if isinstance(reps, GraphExpr):
        return make.op("dyn.tile", data, reps)
    return make(data, reps=reps)


def gradient_tile(b: Any, args: Any, a: TileAttrs, out: Any, grad: Any) -> list[Any]:
    """All copies summed."""
    x = args[0]
    ndim = x.struct_info.ndim
    rank = max(ndim, len(a.repeats))
    times = (1,) * (rank - len(a.repeats)) + a.repeats
    shape = (1,) * (rank - ndim) + tuple(x.struct_info.shape.values)
    paired = [d for pair in zip(times, shape) for d in pair]
    summed = b.op("sum", b.op("reshape", grad, b.shape(paired)), axis=tuple(range(0, 2 * rank, 2)))
    return [b.op("reshape", summed, b.shape_of(x))]


TILE = OpDef(
    "tile",
    TileAttrs,
    inputs=(Input("data"),),
    infer=infer_tile,
    compute=compute_tile,
    reference=lambda inputs, a: np.tile(inputs[0], a.repeats),
    gradient=gradient_tile,
    fusion=Fusion.BROADCAST,
    relay_builder=relay_tile,
    samples=lambda: (
        Sample((Arr(("n", 2)),), TileAttrs((2, 1, 3))),
        Sample((Arr((2, 3), "int32", -9, 9),), TileAttrs(2)),
    ),
    summary="The whole tensor repeated along its axes.",
)
DYN_TILE: OpDef[Any] = OpDef(
    "dyn.tile",
    inputs=(Input("data"), Input("reps", "a tensor of rank 1")),
    infer=infer_tile,
    compute=compute_tile,
    reference=lambda inputs, a: np.tile(inputs[0], target_numbers(inputs, 1, None)),
    fusion=Fusion.BROADCAST,
    in_relax=False,
    shape_values=(1,),
    samples=lambda: (),
    summary="The whole tensor repeated a computed number of times.",
)


@attrs
class RepeatAttrs(Attrs):
    """How often, along what."""

    repeats: int = attr(doc="how often each element is repeated")
    axis: Any = attr(None, "along which axis; None: all flattened first")


def infer_repeat(call: OpCall[RepeatAttrs]) -> Info:
    """One extent multiplied."""
    x, a = call.tensor(0), call.attrs
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


def compute_repeat(inputs: Any, a: RepeatAttrs, out: Any) -> Any:
    """The index along the axis divided."""
    (x,) = inputs
    if a.axis is None:

        def flat(i: Any) -> Any:
            position: Any = i // a.repeats
            where: list[Any] = []
            for d in reversed(x.shape):
                where.insert(0, position % k.divisor(d))
                position = position // k.divisor(d)
            return x(*where)

        return k.compute(out.shape, flat, "repeat")
    axis = from_front(a.axis, x.ndim)
    return k.compute(out.shape, lambda *i: x(*i[:axis], i[axis] // a.repeats, *i[axis + 1 :]), "repeat")


REPEAT = OpDef(
    "repeat",
    RepeatAttrs,
    inputs=(Input("data"),),
    infer=infer_repeat,
    compute=compute_repeat,
    reference=lambda inputs, a: np.repeat(inputs[0], a.repeats, a.axis),
    gradient=lambda b, args, a, out, grad: _repeat_gradient(b, args[0], a, grad),
    fusion=Fusion.BROADCAST,
    samples=lambda: (
        Sample((Arr(("n", 2)),), RepeatAttrs(3, 1)),
        Sample((Arr((2, "m")),), RepeatAttrs(2, -2)),
        Sample((Arr((2, 2), "int32", -9, 9),), RepeatAttrs(2)),
    ),
    summary="Every element repeated.",
)


def _repeat_gradient(b: Any, x: Any, a: RepeatAttrs, grad: Any) -> list[Any]:
    dims = list(x.struct_info.shape.values)
    axis = len(dims) - 1 if a.axis is None else from_front(a.axis, len(dims))
    split = [*dims[: axis + 1], a.repeats, *dims[axis + 1 :]]
    return [b.op("sum", b.op("reshape", grad, b.shape(split)), axis=(axis + 1,))]


@attrs
class FlipAttrs(Attrs):
    """The axis."""

    axis: int = attr(0, "the axis that is turned around")


def infer_flip(call: OpCall[FlipAttrs]) -> Info:
    """The operand itself."""
    x = call.tensor(0)
    if x.ndim >= 0:
        normal_axis(call, call.attrs.axis, x.ndim)
    return x


def compute_flip(inputs: Any, a: FlipAttrs, out: Any) -> Any:
    """Read from the end."""
    (x,) = inputs
    axis = from_front(a.axis, x.ndim)
    last = k.index(x.shape[axis]) - 1
    return k.compute(out.shape, lambda *i: x(*i[:axis], last - i[axis], *i[axis + 1 :]), "flip")


FLIP = OpDef(
    "flip",
    FlipAttrs,
    inputs=(Input("data"),),
    infer=infer_flip,
    compute=compute_flip,
    reference=lambda inputs, a: np.ascontiguousarray(np.flip(inputs[0], a.axis)),
    gradient=lambda b, args, a, out, grad: [b.op("flip", grad, axis=a.axis)],
    fusion=Fusion.INJECTIVE,
    relay_name="reverse",
    samples=lambda: (Sample((Arr(("n", 4)),), FlipAttrs(0)), Sample((Arr((2, "m")),), FlipAttrs(-1))),
    summary="An axis turned around.",
)

EXPANSIONS: tuple[OpDef[Any], ...] = (
    BROADCAST_TO,
    DYN_BROADCAST_TO,
    BROADCAST_TO_LIKE,
    COLLAPSE_SUM_TO,
    COLLAPSE_SUM_LIKE,
    TILE,
    DYN_TILE,
    REPEAT,
    FLIP,
)
