"""annotation.simulated_quantize: what rounding to a few bits makes of a number, in floats.

    round(clip(x / dom_scale, clip_min, clip_max)) * dom_scale

`relay.quantize` puts it where integers will be, finds its three numbers, and then makes integers of it. Halves go to
the even neighbour, as in quantize. Source: facts relay-language §8 (QuantizeAnnotate, ...Calibrate, ...Realize).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.operand_checks import check_floats, check_scalar
from baton._src.ops.precision import accumulator
from baton._src.ops.samples import Arr, Sample
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

INPUT, WEIGHT = 1, 2
"""Kinds: what a layer reads, and its weights (TVM's QAnnotateKind)."""


@attrs
class SimulatedQuantizeAttrs(Attrs):
    """What is simulated."""

    kind: int = attr(INPUT, "1: data, 2: weights, 3: sums")
    sign: bool = attr(True, "numbers have a sign")
    rounding: str = attr("round", "kept for TVM's programs: to the nearest, halves to even")


def infer(call: OpCall[SimulatedQuantizeAttrs]) -> Info:
    """The data's own type."""
    x = call.tensor(0)
    check_floats(call, 0)
    for position in (1, 2, 3):
        check_scalar(call, position)
    return x


def compute(inputs: Sequence[k.Tensor], a: SimulatedQuantizeAttrs, out: k.Result) -> k.Tensor:
    """The formula, in float32 at least."""
    x, *numbers = inputs
    real = accumulator(x.dtype)

    def body(*i: k.Scalar) -> k.Scalar:
        scale, low, high = (k.cast(real, n()) for n in numbers)
        value = k.maximum(low, k.minimum(high, k.cast(real, x(*i)) / scale))
        return k.cast(out.dtype, k.nearbyint(value) * scale)

    return k.compute(out.shape, body, "simulated_quantize")


def reference(inputs: Sequence[AnyArray], a: SimulatedQuantizeAttrs) -> AnyArray:
    """The formula."""
    real = accumulator(DataType(inputs[0].dtype)).numpy
    x, scale, low, high = (np.asarray(v).astype(real) for v in inputs)
    found = np.rint(np.maximum(low, np.minimum(high, x / scale))) * scale
    return np.asarray(found, inputs[0].dtype)


SIMULATED_QUANTIZE = OpDef(
    "simulated_quantize",
    SimulatedQuantizeAttrs,
    inputs=(Input("data"), *(Input(n, "a scalar") for n in ("dom_scale", "clip_min", "clip_max"))),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("piecewise constant"),
    fusion=Fusion.ELEMWISE,
    relay_name="annotation.simulated_quantize",
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 4)), *(Arr((), values=v) for v in (0.25, -4.0, 3.0))), SimulatedQuantizeAttrs()),
        Sample(
            (Arr((2,), "float64", values=(1.5, 1.25 + 1e-9)), *(Arr((), values=v) for v in (0.5, -4.0, 4.0))),
            SimulatedQuantizeAttrs(),
        ),
    ),
    summary="round(clip(x / dom_scale, clip_min, clip_max)) * dom_scale: rounding to few bits, in floats.",
)
