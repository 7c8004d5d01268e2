"""sliding_window: every window of the axes from `axis` on, each a tensor of its own.

data (batch..., d...) -> (batch..., positions..., window...), with (d - window) // stride + 1 positions along each axis.
Source: facts relay-language §6 level 3.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs, set_attr
from baton._src.ir.op_def import Fusion, Input, NotApplicable, OpCall, OpDef
from baton._src.ir.tensor_info import Info, TensorInfo
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.samples import Arr, Sample
from baton._src.ops.windows import window_extent
from baton._src.values.tensor import AnyArray


@attrs
class SlidingWindowAttrs(Attrs):
    """Axes, windows, steps."""

    axis: int = attr(doc="the first axis that windows slide over")
    window_shape: tuple[int, ...] = attr(doc="extents of the window, one for each axis from there on")
    strides: tuple[int, ...] = attr(doc="steps, as many")

    def __post_init__(self) -> None:
        for name in ("window_shape", "strides"):
            set_attr(self, name, tuple(int(v) for v in getattr(self, name)))


def infer(call: OpCall[SlidingWindowAttrs]) -> Info:
    """Positions, then the window."""
    x, a = call.tensor(0), call.attrs
    if x.ndim < 0:
        return TensorInfo(None, x.dtype, -1, x.vdevice)
    axis = a.axis + x.ndim if a.axis < 0 else a.axis
    fits = 0 <= axis < x.ndim and len(a.window_shape) == len(a.strides) == x.ndim - axis
    if not fits or min(*a.window_shape, *a.strides, 1) < 1:
        message = f"window {a.window_shape} and strides {a.strides} do not fit axes {a.axis}.. of"
        call.fail(f"{message} {show_shape(x.shape, x.ndim)}", code="op-attribute")
    if x.shape is None:
        return TensorInfo(None, x.dtype, 2 * x.ndim - axis, x.vdevice)
    math = DimMath(call.prover)
    spans = zip(x.shape[axis:], a.window_shape, a.strides)
    positions = [window_extent(math, dim, window, stride, 1, 0, 0) for dim, window, stride in spans]
    if any(isinstance(p, int) and p < 1 for p in positions):
        call.fail(f"the window {a.window_shape} is larger than the data {show_shape(x.shape)}")
    return TensorInfo((*x.shape[:axis], *positions, *a.window_shape), x.dtype, vdevice=x.vdevice)


def compute(inputs: Sequence[k.Tensor], a: SlidingWindowAttrs, out: k.Result) -> k.Tensor:
    """The element at position * stride + offset."""
    (x,) = inputs
    count = len(a.strides)
    axis = x.ndim - count

    def body(*o: k.Scalar) -> k.Scalar:
        places = [o[axis + n] * k.index(a.strides[n]) + o[axis + count + n] for n in range(count)]
        return x(*o[:axis], *places)

    return k.compute(out.shape, body, "T_sliding_window", axes="ax")


def reference(inputs: Sequence[AnyArray], a: SlidingWindowAttrs) -> AnyArray:
    """NumPy's view of all windows, every so many."""
    x = inputs[0]
    axes = tuple(range(x.ndim - len(a.strides), x.ndim))
    windows = np.lib.stride_tricks.sliding_window_view(x, a.window_shape, axes)
    steps = (slice(None),) * axes[0] + tuple(slice(None, None, s) for s in a.strides)
    return np.ascontiguousarray(windows[steps])


SLIDING_WINDOW = OpDef(
    "sliding_window",
    SlidingWindowAttrs,
    inputs=(Input("data"),),
    infer=infer,
    compute=compute,
    reference=reference,
    gradient=NotApplicable("Relay does not offer it"),
    fusion=Fusion.INJECTIVE,
    in_relax=False,
    samples=lambda: (
        Sample((Arr(("n", 5, 7)),), SlidingWindowAttrs(1, (3, 2), (1, 2))),
        Sample((Arr((6,)),), SlidingWindowAttrs(0, (4,), (2,))),
    ),
    summary="All sliding windows over the axes from `axis` on.",
)
