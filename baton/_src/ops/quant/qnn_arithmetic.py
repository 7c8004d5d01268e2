"""Sums, differences and products of the numbers that two quantised tensors stand for: qnn.add, subtract, mul.

The result is quantised again, with rounding UPWARD (see `requantize`). Source: facts relay-language §6 level 11.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Fusion, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.broadcasting import broadcast, same_dtype
from baton._src.ops.layouts import follows_input
from baton._src.ops.quant.requantize import (
    NO_SLOPE,
    REAL,
    check_parameters,
    clipped,
    np_clipped,
    np_rounded,
    rounded,
    scalars,
)
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType


@attrs
class BinaryAttrs(Attrs):
    """Axes of parameters; kept for TVM's programs."""

    lhs_axis: int = attr(-1, "axis of the left scale, where it is a vector")
    rhs_axis: int = attr(-1, "axis of the right scale, where it is a vector")


def infer_binary(call: OpCall[BinaryAttrs]) -> Info:
    """Both operands of one dtype, broadcast."""
    operands = [call.tensor(0), call.tensor(1)]
    check_parameters(call, range(2, 8))
    return broadcast(call, operands, same_dtype(call, operands))


def _binary(name: str, te: Callable[[Any, Any], Any], numpy: Callable[[Any, Any], Any]) -> OpDef[Any]:
    def compute(inputs: Any, a: BinaryAttrs, out: Any) -> Any:
        left, right, *parameters = inputs

        def real(x: Any, i: Any, n: int) -> Any:
            scale, zero = (k.cast(REAL, parameters[n + m]()) for m in (0, 1))
            return (k.cast(REAL, x(*k.broadcast_indices(x, i, out.shape))) - zero) * scale

        def body(*i: Any) -> Any:
            scale, zero = (k.cast(REAL, parameters[n]()) for n in (4, 5))
            value = te(real(left, i, 0), real(right, i, 2)) / scale
            return clipped(rounded(value, "UPWARD") + zero, out.dtype)

        return k.compute(out.shape, body, f"qnn_{name}")

    def reference(inputs: Any, a: BinaryAttrs) -> Any:
        x, y, sx, zx, sy, zy, scale, zero = (np.asarray(v).astype(np.float64) for v in inputs)
        value = numpy((x - zx) * sx, (y - zy) * sy) / scale
        return np_clipped(np_rounded(value, "UPWARD") + zero, DataType(inputs[0].dtype))

    names = ("lhs", "rhs", "lhs_scale", "lhs_zero_point", "rhs_scale", "rhs_zero_point", "output_scale")
    return OpDef(
        f"qnn.{name}",
        BinaryAttrs,
        inputs=tuple(Input(n) for n in (*names, "output_zero_point")),
        infer=infer_binary,
        compute=compute,
        reference=reference,
        gradient=NO_SLOPE,
        fusion=Fusion.BROADCAST,
        layout=follows_input(operands=2),
        in_relax=False,
        samples=lambda: (
            Sample((Arr(("n", 4), "uint8", 0, 255), Arr((4,), "uint8", 0, 255), *scalars(3)), BinaryAttrs()),
            Sample((Arr((2, 1), "int8", -99, 99), Arr((2, 3), "int8", -99, 99), *scalars(3)), BinaryAttrs()),
        ),
        summary=f"{name} of the numbers that two quantised tensors stand for, quantised.",
    )


QNN_ARITHMETIC: tuple[OpDef[Any], ...] = (
    _binary("add", lambda x, y: x + y, np.add),
    _binary("subtract", lambda x, y: x - y, np.subtract),
    _binary("mul", lambda x, y: x * y, np.multiply),
)
