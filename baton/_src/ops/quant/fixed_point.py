"""fixed_point_multiply: integers times a real number, given as an integer of 31 fractional bits and a power of two.

    (x * multiplier) * 2**(shift - 31), to the nearest integer, halves up; computed in 64 bits, wrapped to x's dtype

Source: facts relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.operand_checks import check_integers
from baton._src.ops.samples import Arr, Sample
from baton._src.values.tensor import AnyArray

_FRACTION = 31


@attrs
class FixedPointAttrs(Attrs):
    """The real number."""

    multiplier: int = attr(doc="an integer of 31 fractional bits")
    shift: int = attr(doc="the power of two, at most 30")


def infer(call: OpCall[FixedPointAttrs]) -> Info:
    """The operand's own type."""
    x, a = call.tensor(0), call.attrs
    check_integers(call, 0)
    if not -_FRACTION <= a.shift < _FRACTION or not -(1 << 31) <= a.multiplier < 1 << 31:
        call.fail(f"shift {a.shift} or multiplier {a.multiplier} is out of range", code="op-attribute")
    return x


def compute(inputs: Sequence[k.Tensor], a: FixedPointAttrs, out: k.Result) -> k.Tensor:
    """Multiply, add a half, shift."""
    (x,) = inputs
    right = k.const(_FRACTION - a.shift, "int64")
    half = k.const(1 << (_FRACTION - a.shift - 1), "int64")

    def body(*i: k.Scalar) -> k.Scalar:
        product = k.cast("int64", x(*i)) * k.const(a.multiplier, "int64") + half
        return k.cast(out.dtype, k.call("shift_right", product, right))

    return k.compute(out.shape, body, "fixed_point_multiply")


def reference(inputs: Sequence[AnyArray], a: FixedPointAttrs) -> AnyArray:
    """The same in NumPy."""
    right = _FRACTION - a.shift
    product = inputs[0].astype(np.int64) * a.multiplier + (1 << (right - 1))
    return np.asarray(product >> right).astype(inputs[0].dtype)


FIXED_POINT_MULTIPLY = OpDef(
    "fixed_point_multiply",
    FixedPointAttrs,
    inputs=(Input("data"),),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("integers"),
    fusion=Fusion.ELEMWISE,
    layout=FollowsInput(),
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 4), "int32", -99_999, 99_999),), FixedPointAttrs(1_073_741_824, -2)),
        Sample((Arr((5,), "int32", -99, 99),), FixedPointAttrs(1_717_986_918, 3)),
    ),
    summary="x * multiplier * 2**(shift - 31) of integers, rounded.",
)
