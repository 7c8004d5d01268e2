"""Casts, bounds and choices: astype (Relay: cast, cast_like), clip, where, ewise_fma, nn.prelu, nn.bias_add.

Float to integer truncates toward zero; anything to bool asks whether it differs from zero. `where` takes a where the
condition holds, else b, all broadcast. Source: facts relax-ops-passes-vm §1, relay-language §6 levels 1, 3, 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, PrimInfo, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.broadcasting import broadcast, infer_broadcast, like, operand, same_dtype
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.layouts import follows_input
from baton._src.ops.precision import computed_wide, wide
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType


@attrs
class CastAttrs(Attrs):
    """The dtype."""

    dtype: Any = attr(doc="dtype of the result")

    def __post_init__(self) -> None:
        set_attr(self, "dtype", DataType(self.dtype))


def infer_cast(call: OpCall[CastAttrs]) -> Info:
    """The operand with another dtype."""
    if isinstance(call.args[0], PrimInfo):
        return PrimInfo(call.attrs.dtype)
    return like(call.tensor(0), call.attrs.dtype)


def convert(x: Any, dtype: DataType) -> Any:
    """NumPy's cast, with floats truncated toward zero."""
    with np.errstate(all="ignore"):
        source = wide(np.asarray(x))
        return (source != 0) if dtype.is_bool else source.astype(dtype.numpy)


ASTYPE = OpDef(
    "astype",
    CastAttrs,
    inputs=(Input("x", relay_name="data"),),
    infer=infer_cast,
    compute=lambda inputs, a, out: k.compute(out.shape, lambda *i: k.cast(a.dtype, inputs[0](*i)), "cast"),
    reference=lambda inputs, a: np.asarray(convert(inputs[0], a.dtype)),
    gradient=lambda b, args, a, out, grad: [b.op("astype", grad, dtype=args[0].struct_info.dtype)],
    fusion=Fusion.ELEMWISE,
    layout=follows_input(),
    relay_name="cast",
    samples=lambda: (
        Sample((Arr(("n", 4)),), CastAttrs("int32")),
        Sample((Arr(("n", 4), "int32", -3, 3),), CastAttrs("float16")),
        Sample((Arr((2, 4), "int32", -2, 2),), CastAttrs("bool")),
        Sample((Arr((2, 4), "bool"),), CastAttrs("float32")),
        Sample((Arr((4,), "float32"),), CastAttrs("bfloat16")),
        Sample((Arr((4,), "int64", -300, 300),), CastAttrs("uint8")),
    ),
    summary="The elements converted to another dtype.",
)


def infer_cast_like(call: OpCall[Any]) -> Info:
    """The first operand with the dtype of the second."""
    return like(call.tensor(0), call.tensor(1).dtype)


CAST_LIKE: OpDef[Any] = OpDef(
    "cast_like",
    inputs=(Input("data"), Input("dtype_like")),
    infer=infer_cast_like,
    compute=lambda inputs, a, out: k.compute(out.shape, lambda *i: k.cast(inputs[1].dtype, inputs[0](*i)), "cast"),
    reference=lambda inputs, a: np.asarray(convert(inputs[0], DataType(inputs[1].dtype))),
    gradient=lambda b, args, a, out, grad: [b.op("astype", grad, dtype=args[0].struct_info.dtype), None],
    fusion=Fusion.ELEMWISE,
    in_relax=False,
    samples=lambda: (Sample((Arr(("n", 4)), Arr((1,), "int32"))),),
    summary="The elements converted to the dtype of another tensor.",
)


@attrs
class ClipAttrs(Attrs):
    """Relay's bounds."""

    a_min: Any = attr(None, "lower bound", relay_only=True)
    a_max: Any = attr(None, "upper bound", relay_only=True)


def _bounds(inputs: Any, a: ClipAttrs) -> tuple[Any, Any]:
    return (inputs[1], inputs[2]) if len(inputs) > 1 else (a.a_min, a.a_max)


def infer_clip(call: OpCall[ClipAttrs]) -> Info:
    """The operand itself."""
    x = operand(call, 0)
    if len(call.args) == 1 and (call.attrs.a_min is None or call.attrs.a_max is None):
        call.fail("the bounds are missing", code="op-attribute", help="give a_min and a_max, both as numbers")
    for position in range(1, len(call.args)):
        if not isinstance(call.args[position], PrimInfo):
            call.fail("bounds must be host scalars", code="op-argument", help="use minimum and maximum for tensors")
    return x


def compute_clip(inputs: Any, a: ClipAttrs, out: Any) -> Any:
    """max, then min."""
    low, high = _bounds(inputs, a)

    def scalar(x: Any) -> Any:
        kept = out.dtype if not out.dtype.is_float else x.dtype
        bottom, top = (_bound(v, kept) for v in (low, high))
        return k.minimum(k.maximum(x, bottom), top)

    return k.elementwise(scalar, inputs[:1], out, "clip")


def _bound(value: Any, dtype: DataType) -> Any:
    if isinstance(value, k.PrimExpr) and not isinstance(value, (k.tir.IntImm, k.tir.FloatImm)):
        return k.cast(dtype, value)
    number = value.value if isinstance(value, (k.tir.IntImm, k.tir.FloatImm)) else value
    return k.const(_clamp(number, dtype), dtype)


def _clamp(number: float, dtype: DataType) -> float:
    """A bound that an integer dtype can hold: rounded inwards is not asked for, truncated is."""
    if dtype.is_float:
        return float(number)
    low, high = dtype.int_range
    return int(max(min(number, high), low))


def reference_clip(inputs: Any, a: ClipAttrs) -> Any:
    """`numpy.clip` with bounds in the operand's dtype."""
    x = np.asarray(inputs[0])
    low, high = (_clamp(v, DataType(x.dtype)) for v in _bounds(inputs, a))
    return computed_wide(lambda v: np.minimum(np.maximum(v, v.dtype.type(low)), v.dtype.type(high)), x)


def gradient_clip(b: Any, args: Any, a: ClipAttrs, out: Any, grad: Any) -> list[Any]:
    """Nothing where the bounds cut."""
    inside = b.op("equal", args[0], out)
    return [b.op("where", inside, grad, b.full_like(grad, 0)), *(None for _ in args[1:])]


CLIP = OpDef(
    "clip",
    ClipAttrs,
    inputs=(
        Input("x", relay_name="a"),
        Input("min", "lower bound", kind="prim", relay_name="a_min", languages=("relax",)),
        Input("max", "upper bound", kind="prim", relay_name="a_max", languages=("relax",)),
    ),
    infer=infer_clip,
    compute=compute_clip,
    reference=reference_clip,
    gradient=gradient_clip,
    fusion=Fusion.ELEMWISE,
    layout=follows_input(),
    samples=lambda: (
        Sample((Arr(("n", 4)), -1, 1), ClipAttrs()),
        Sample((Arr(("n", 4), "int32", -9, 9), -3, 4), ClipAttrs()),
        Sample((Arr((2, 4), "float16"),), ClipAttrs(0.0, 1.5), rtol=1e-2),
    ),
    summary="The elements bounded from below and above.",
)


def infer_where(call: OpCall[Any]) -> Info:
    """Everything broadcast; the dtype of the two alternatives."""
    condition, a, b = operand(call, 0), operand(call, 1), operand(call, 2)
    if not condition.dtype.is_void and condition.dtype.is_float:
        call.fail(f"the condition must be bool (or an integer), got {condition.dtype}", code="op-dtype")
    return broadcast(call, (condition, a, b), same_dtype(call, (a, b)))


def _where(condition: Any, a: Any, b: Any) -> Any:
    return k.select(k.cast("bool", condition), a, b)


def gradient_where(b: Any, args: Any, a: Any, out: Any, grad: Any) -> list[Any]:
    """To each alternative where it was taken."""
    zero = b.full_like(grad, 0)
    left = b.op("where", args[0], grad, zero)
    right = b.op("where", args[0], zero, grad)
    return [None, b.op("collapse_sum_like", left, args[1]), b.op("collapse_sum_like", right, args[2])]


WHERE: OpDef[Any] = OpDef(
    "where",
    inputs=(
        Input("condition"),
        Input("x1", "taken where it holds", relay_name="x"),
        Input("x2", "otherwise", relay_name="y"),
    ),
    infer=infer_where,
    compute=lambda inputs, a, out: k.elementwise(_where, inputs, out, "where"),
    reference=lambda inputs, a: np.where(np.asarray(inputs[0]) != 0, inputs[1], inputs[2]).astype(inputs[1].dtype),
    gradient=gradient_where,
    fusion=Fusion.BROADCAST,
    layout=follows_input(),
    samples=lambda: (
        Sample((Arr(("n", 4), "bool"), Arr(("n", 4)), Arr(("n", 4)))),
        Sample((Arr(("n", 1), "bool"), Arr((4,), "int32", -9, 9), Arr((), "int32", -9, 9))),
        Sample((Arr((2, 4), "bool"), Arr((2, 4), "float16"), Arr((1, 4), "float16"))),
    ),
    summary="Elements of one tensor where a condition holds, of another where not.",
)

EWISE_FMA: OpDef[Any] = OpDef(
    "ewise_fma",
    inputs=(Input("x1"), Input("x2"), Input("x3")),
    infer=infer_broadcast,
    compute=lambda inputs, a, out: k.elementwise(lambda x, y, z: x * y + z, inputs, out, "fma"),
    reference=lambda inputs, a: computed_wide(lambda x, y, z: x * y + z, *inputs),
    gradient=lambda b, args, a, out, grad: [b.op("multiply", grad, args[1]), b.op("multiply", grad, args[0]), grad],
    fusion=Fusion.ELEMWISE,
    relay_name=NotApplicable("Relay writes x * y + z"),
    samples=lambda: (Sample((Arr(("n", 4)), Arr(("n", 4)), Arr(("n", 4)))),),
    summary="x1 * x2 + x3.",
)


@attrs
class AxisAttrs(Attrs):
    """The channel axis."""

    axis: int = attr(1, "the channel axis")


def infer_per_channel(call: OpCall[AxisAttrs]) -> Info:
    """The data itself; the vector must have as many elements as the axis."""
    x, v = call.tensor(0), call.tensor(1)
    if v.ndim not in (-1, 1):
        call.fail(f"{call.op.inputs[1].name} must have rank 1, got {show_shape(v.shape, v.ndim)}")
    known = [t for t in (x, v) if not t.dtype.is_void]
    if len(known) == 2:
        same_dtype(call, known)
    if x.ndim >= 0:
        axis = normal_axis(call, call.attrs.axis, x.ndim)
        if x.shape is not None and v.shape is not None:
            if DimMath(call.prover).equal(x.shape[axis], v.shape[0]) is False:
                call.fail(f"axis {axis} of {show_shape(x.shape)} against a vector of {v.shape[0]} elements")
    return x


def infer_vector(call: OpCall[AxisAttrs]) -> Sequence[TensorInfo | None]:
    """An unknown vector has the extent of the axis."""
    x = call.tensor(0)
    if x.shape is None or x.dtype.is_void or not -x.ndim <= call.attrs.axis < x.ndim:
        return (None, None)
    return (None, TensorInfo((x.shape[from_front(call.attrs.axis, x.ndim)],), x.dtype))


def _per_channel(function: Any, name: str) -> Any:
    def compute(inputs: Any, a: AxisAttrs, out: Any) -> Any:
        x, v = inputs
        axis = from_front(a.axis, x.ndim)
        return k.compute(out.shape, lambda *i: k.cast(out.dtype, function(k.wide(x(*i)), k.wide(v(i[axis])))), name)

    return compute


def _np_per_channel(function: Any) -> Any:
    def reference(inputs: Any, a: AxisAttrs) -> Any:
        x, v = inputs
        shape = [1] * x.ndim
        shape[a.axis] = -1
        return computed_wide(function, x, v.reshape(shape))

    return reference


def _others(x: Any, axis: int) -> tuple[int, ...]:
    ndim = x.struct_info.ndim
    return tuple(i for i in range(ndim) if i != from_front(axis, ndim))


def decompose_bias(b: Any, args: Any, a: AxisAttrs, out: Any) -> Any:
    """A broadcast addition."""
    x, v = args
    after = tuple(range(1, out.ndim - from_front(a.axis, out.ndim)))
    return b.op("add", x, b.op("expand_dims", v, axis=after) if after else v)


def decompose_prelu(b: Any, args: Any, a: AxisAttrs, out: Any) -> Any:
    """x where positive, else alpha * x."""
    x, v = args
    after = tuple(range(1, out.ndim - from_front(a.axis, out.ndim)))
    scaled = b.op("multiply", x, b.op("expand_dims", v, axis=after) if after else v)
    return b.op("where", b.op("greater", x, b.const(0, out.dtype)), x, scaled)


def _channel_samples() -> tuple[Sample, ...]:
    return (
        Sample((Arr(("n", 4, 5)), Arr((4,))), AxisAttrs()),
        Sample((Arr(("n", 4), "float16"), Arr((4,), "float16")), AxisAttrs(-1), rtol=1e-2, atol=1e-2),
    )


BIAS_ADD = OpDef(
    "nn.bias_add",
    AxisAttrs,
    inputs=(Input("data"), Input("bias", "a vector of channels")),
    infer=infer_per_channel,
    infer_inputs=infer_vector,
    compute=_per_channel(lambda x, v: x + v, "bias_add"),
    reference=_np_per_channel(np.add),
    decompose=decompose_bias,
    gradient=lambda b, args, a, out, grad: [grad, b.op("sum", grad, axis=_others(args[0], a.axis))],
    fusion=Fusion.BROADCAST,
    in_relax=False,
    samples=_channel_samples,
    summary="A number for each channel added.",
)


def gradient_prelu(b: Any, args: Any, a: AxisAttrs, out: Any, grad: Any) -> list[Any]:
    """Through the side that was taken."""
    x, v = args
    zero = b.full_like(x, 0)
    positive = b.op("greater", x, zero)
    after = tuple(range(1, x.struct_info.ndim - from_front(a.axis, x.struct_info.ndim)))
    slope = b.op("expand_dims", v, axis=after) if after else v
    to_x = b.op("where", positive, grad, b.op("multiply", grad, slope))
    cut = b.op("where", positive, zero, b.op("multiply", grad, x))
    return [to_x, b.op("sum", cut, axis=_others(x, a.axis))]


PRELU = OpDef(
    "nn.prelu",
    AxisAttrs,
    inputs=(Input("data"), Input("alpha", "slopes for negative numbers, one a channel")),
    infer=infer_per_channel,
    infer_inputs=infer_vector,
    compute=_per_channel(lambda x, v: k.select(x > k.const(0, x.dtype), x, x * v), "prelu"),
    reference=_np_per_channel(lambda x, v: np.where(x > 0, x, x * v)),
    decompose=decompose_prelu,
    gradient=gradient_prelu,
    fusion=Fusion.BROADCAST,
    samples=_channel_samples,
    summary="max(x, 0) + alpha * min(x, 0), alpha for each channel.",
)

CHOICES: tuple[OpDef[Any], ...] = (ASTYPE, CAST_LIKE, CLIP, WHERE, EWISE_FMA, BIAS_ADD, PRELU)
