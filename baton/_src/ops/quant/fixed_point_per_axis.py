"""fixed_point_multiply_per_axis: integers times a real number for each index along some axes (channels, mostly).

    ((x << lshift) * y + half) >> (31 + rshift)        half: 1 << (30 + rshift)

y holds the numbers, integers of 31 fractional bits; lshift and rshift the powers of two. The three have one shape,
that of x along `axes`. Computed in 64 bits, wrapped to x's dtype. Source: facts relay-language §6 level 10.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import Argument, Fusion, Input, NotApplicable, OpCall, OpDef, OwnMaker
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import as_axes, from_front, normal_axes
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.samples import Arr, Sample, SampleDim
from baton._src.values.tensor import AnyArray

_FRACTION = 31
_LONG = "int64"


@attrs
class PerAxisAttrs(Attrs):
    """Which shifts there are, and where the numbers vary."""

    is_lshift_required: bool = attr(False, "shift left before the product")
    is_rshift_required: bool = attr(False, "shift right by more than the fraction")
    axes: tuple[int, ...] = attr((), "the axes along which the numbers vary")

    def __post_init__(self) -> None:
        set_attr(self, "axes", as_axes(self.axes))


def infer(call: OpCall[PerAxisAttrs]) -> Info:
    """The operand's own type; the numbers must have its extents along the axes."""
    x = call.tensor(0)
    axes = normal_axes(call, call.attrs.axes, x.ndim) if x.ndim >= 0 else None
    for position in range(4):
        v, name = call.tensor(position), call.op.inputs[position].name
        if not v.dtype.is_void and not v.dtype.is_int:
            call.fail(f"takes integers, {name} is {v.dtype}", code="op-dtype")
        if position == 0 or axes is None or v.ndim == -1:
            continue
        wanted = None if x.shape is None else tuple(x.shape[axis] for axis in axes)
        math = DimMath(call.prover)
        if v.ndim != len(axes) or (
            v.shape is not None
            and wanted is not None
            and any(math.equal(d, e) is False for d, e in zip(v.shape, wanted))
        ):
            call.fail(f"{name} must have shape {show_shape(wanted, len(axes))}, got {show_shape(v.shape, v.ndim)}")
    return x


def compute(inputs: Sequence[k.Tensor], a: PerAxisAttrs, out: k.Result) -> k.Tensor:
    """Shift, multiply, add a half, shift."""
    x, *numbers = inputs
    axes = [from_front(axis, x.ndim) for axis in a.axes]

    def body(*i: k.Scalar) -> k.Scalar:
        value = k.cast(_LONG, x(*i))
        number, left, more = (k.cast(_LONG, v(*(i[axis] for axis in axes))) for v in numbers)
        value = k.call("shift_left", value, left) if a.is_lshift_required else value
        right = k.const(_FRACTION, _LONG)
        right = right + more if a.is_rshift_required else right
        half = k.call("shift_left", k.const(1, _LONG), right - k.const(1, _LONG))
        return k.cast(out.dtype, k.call("shift_right", value * number + half, right))

    return k.compute(out.shape, body, "fixed_point_multiply_per_axis")


def reference(inputs: Sequence[AnyArray], a: PerAxisAttrs) -> AnyArray:
    """The same in NumPy."""
    x = inputs[0].astype(np.int64)
    axes = [from_front(axis, x.ndim) for axis in a.axes]
    ranks = np.argsort(axes)
    shape = [x.shape[i] if i in axes else 1 for i in range(x.ndim)]
    number, left, more = (v.astype(np.int64).transpose(ranks).reshape(shape) for v in inputs[1:])
    right = _FRACTION + (more if a.is_rshift_required else 0)
    value = x << left if a.is_lshift_required else x
    return ((value * number + (1 << (right - 1))) >> right).astype(inputs[0].dtype)


def relay_builder(
    make: OwnMaker,
    x: GraphExpr,
    y: Argument,
    lshift: Argument,
    rshift: Argument,
    is_lshift_required: bool,
    is_rshift_required: bool,
    axes: int | Sequence[int],
) -> GraphExpr:
    """TVM's order; axes come last."""
    options = {"is_lshift_required": is_lshift_required, "is_rshift_required": is_rshift_required}
    return make(x, y, lshift, rshift, axes=axes, **options)


def _numbers(*shape: SampleDim) -> tuple[Arr, ...]:
    return Arr(shape, "int32", 1 << 29, 1 << 30), Arr(shape, "int32", 0, 3), Arr(shape, "int32", 0, 5)


FIXED_POINT_MULTIPLY_PER_AXIS = OpDef(
    "fixed_point_multiply_per_axis",
    PerAxisAttrs,
    inputs=(
        Input("x"),
        Input("y", "numbers, of 31 fractional bits"),
        Input("lshift", "powers of two before the product"),
        Input("rshift", "powers of two after it"),
    ),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("integers"),
    fusion=Fusion.ELEMWISE,
    in_relax=False,
    relay_builder=relay_builder,
    samples=lambda: (
        Sample((Arr(("n", 4, 3), "int32", -9_999, 9_999), *_numbers(4)), PerAxisAttrs(True, True, (1,))),
        Sample((Arr((2, 4, 3), "int32", -9_999, 9_999), *_numbers(3, 2)), PerAxisAttrs(False, True, (2, 0))),
        Sample((Arr((4,), "int32", -9_999, 9_999), *_numbers(4)), PerAxisAttrs(axes=(-1,))),
    ),
    summary="x * y * 2**(lshift - rshift - 31) of integers, rounded, with multipliers and shifts per axis.",
)
