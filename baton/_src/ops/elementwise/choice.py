"""Bounds and choices: clip, where, ewise_fma.

`where` takes a where the condition holds, else b, all broadcast. Source: facts relax-ops-passes-vm §1, relay-language
§6 levels 3 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Definition, Exprs, Fusion, Gradients, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, PrimInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import broadcast, infer_broadcast, operand, same_dtype
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.precision import computed_wide
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType
from baton._src.values.prim import prim_dtype
from baton._src.values.tensor import AnyArray


@attrs
class ClipAttrs(Attrs):
    """Relay's bounds."""

    a_min: float | None = attr(None, "lower bound", relay_only=True)
    a_max: float | None = attr(None, "upper bound", relay_only=True)

    @property
    def bounds(self) -> tuple[float, float]:
        """Both of them, where `infer_clip` found them."""
        assert self.a_min is not None
        assert self.a_max is not None
        return self.a_min, self.a_max


def infer_clip(call: OpCall[ClipAttrs]) -> Info:
    """The operand itself."""
    x = call.tensor(0)
    if len(call.args) == 1 and (call.attrs.a_min is None or call.attrs.a_max is None):
        call.fail("the bounds are missing", code="op-attribute", help="give a_min and a_max, both as numbers")
    for bound in (call.attrs.a_min, call.attrs.a_max):
        if bound is not None and not isinstance(bound, (int, float)):
            call.fail(f"a bound is a number, got {bound!r}", code="op-attribute")
    for position in range(1, len(call.args)):
        if not isinstance(call.args[position], PrimInfo):
            call.fail("bounds must be host scalars", code="op-argument", help="use minimum and maximum for tensors")
    return x


def compute_clip(
    inputs: tuple[k.Tensor] | tuple[k.Tensor, k.Scalar | float, k.Scalar | float], a: ClipAttrs, out: k.Result
) -> k.Tensor:
    """max, then min."""
    low, high = (inputs[1], inputs[2]) if len(inputs) == 3 else a.bounds

    def scalar(x: k.Scalar) -> k.Scalar:
        kept = out.dtype if not out.dtype.is_float else x.dtype
        bottom, top = (_bound(v, kept) for v in (low, high))
        return k.minimum(k.maximum(x, bottom), top)

    return k.elementwise(scalar, inputs[:1], out)


def _bound(value: k.Scalar | float, dtype: DataType) -> k.Scalar:
    if isinstance(value, k.PrimExpr) and not isinstance(value, (k.tir.IntImm, k.tir.FloatImm)):
        return k.cast(dtype, value)
    number = value.value if isinstance(value, (k.tir.IntImm, k.tir.FloatImm)) else value
    return k.const(_clamp(number, dtype), dtype)


def _clamp(number: float, dtype: DataType) -> float:
    """A bound in an integer dtype: clamped to its range and truncated; floats stay."""
    if dtype.is_float:
        return float(number)
    low, high = dtype.int_range
    return int(max(min(number, high), low))


def reference_clip(inputs: tuple[AnyArray] | tuple[AnyArray, float, float], a: ClipAttrs) -> AnyArray:
    """`numpy.clip` with bounds in the operand's dtype."""
    x = np.asarray(inputs[0])
    bounds = (inputs[1], inputs[2]) if len(inputs) == 3 else a.bounds
    low, high = (_clamp(v, DataType(x.dtype)) for v in bounds)
    return computed_wide(lambda v: np.minimum(np.maximum(v, v.dtype.type(low)), v.dtype.type(high)), x)


def gradient_clip(b: CallMaker, args: Exprs, a: ClipAttrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
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
    layout=FollowsInput(),
    samples=lambda: (
        Sample((Arr(("n", 4)), -1, 1), ClipAttrs()),
        Sample((Arr(("n", 4), "int32", -9, 9), -3, 4), ClipAttrs()),
        Sample((Arr((2, 4), "float16"),), ClipAttrs(0.0, 1.5), rtol=1e-2),
    ),
    summary="Clip the elements to a range.",
)


def infer_where(call: OpCall[Attrs]) -> Info:
    """Everything broadcast; the dtype of the two alternatives. Numbers are conditions, too: all but 0 hold."""
    condition, a, b = operand(call, 0), operand(call, 1), operand(call, 2)
    return broadcast(call, (condition, a, b), same_dtype(call, (a, b)))


def _where(condition: k.Scalar, a: k.Scalar, b: k.Scalar) -> k.Scalar:
    return k.select(k.cast("bool", condition), a, b)


def reference_where(inputs: Sequence[AnyArray], a: Attrs) -> AnyArray:
    """`numpy.where`; the alternatives, of which each may be a number, have one dtype."""
    condition, *alternatives = inputs
    known = prim_dtype(alternatives[0])
    return np.where(np.asarray(condition) != 0, *alternatives).astype(
        alternatives[0].dtype if known is None else known.numpy
    )


def gradient_where(b: CallMaker, args: Exprs, a: Attrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """To each alternative where it was taken."""
    zero = b.full_like(grad, 0)
    left = b.op("where", args[0], grad, zero)
    right = b.op("where", args[0], zero, grad)
    return [None, b.op("collapse_sum_like", left, args[1]), b.op("collapse_sum_like", right, args[2])]


WHERE: Definition = OpDef(
    "where",
    inputs=(
        Input("condition"),
        Input("x1", "the values where the condition holds", relay_name="x"),
        Input("x2", "otherwise", relay_name="y"),
    ),
    infer=infer_where,
    compute=lambda inputs, a, out: k.elementwise(_where, inputs, out, "T_where", "ax"),
    reference=reference_where,
    gradient=gradient_where,
    fusion=Fusion.BROADCAST,
    layout=FollowsInput(),
    samples=lambda: (
        Sample((Arr(("n", 4), "bool"), Arr(("n", 4)), Arr(("n", 4)))),
        Sample((Arr(("n", 1), "bool"), Arr((4,), "int32", -9, 9), Arr((), "int32", -9, 9))),
        Sample((Arr((2, 4), "bool"), Arr((2, 4), "float16"), Arr((1, 4), "float16"))),
    ),
    summary="Select elements of one tensor where a condition holds, and of another elsewhere.",
)


def gradient_fma(b: CallMaker, args: Exprs, a: Attrs, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Each factor's is the other one."""
    slopes = (b.op("multiply", grad, args[1]), b.op("multiply", grad, args[0]), grad)
    return [b.op("collapse_sum_like", slope, arg) for slope, arg in zip(slopes, args)]


EWISE_FMA: Definition = OpDef(
    "ewise_fma",
    inputs=(Input("x1"), Input("x2"), Input("x3")),
    infer=infer_broadcast,
    compute=lambda inputs, a, out: k.elementwise(lambda x, y, z: x * y + z, inputs, out, "fma"),
    reference=lambda inputs, a: computed_wide(lambda x, y, z: x * y + z, *inputs),
    gradient=gradient_fma,
    fusion=Fusion.BROADCAST,
    relay_name=NotApplicable("Relay writes x * y + z"),
    samples=lambda: (
        Sample((Arr(("n", 4)), Arr(("n", 4)), Arr(("n", 4)))),
        Sample((Arr((2, 4)), Arr((4,)), Arr((3, 1, 1)))),
    ),
    summary="x1 * x2 + x3, with broadcasting.",
)


CHOICES: tuple[Definition, ...] = (CLIP, WHERE, EWISE_FMA)
