"""The elements of one axis the other way round: reverse (Relax: flip). Source: facts relax-ops-passes-vm §1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from baton._src.ir.attrs import Attrs, attr, attrs
from baton._src.ir.op_def import Fusion, Input, OpCall, OpDef
from baton._src.ir.tensor_info import Info
from baton._src.ops import kernel_words as k
from baton._src.ops.axes import from_front, normal_axis
from baton._src.ops.layouts import FollowsInput
from baton._src.ops.samples import Arr, Sample


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


def compute_flip(inputs: Sequence[k.Tensor], a: FlipAttrs, out: k.Result) -> k.Tensor:
    """Read from the end."""
    (x,) = inputs
    axis = from_front(a.axis, x.ndim)
    last = k.index(x.shape[axis]) - 1
    return k.compute(out.shape, lambda *i: x(*i[:axis], last - i[axis], *i[axis + 1 :]), "T_flip", axes="ax")


FLIP = OpDef(
    "flip",
    FlipAttrs,
    inputs=(Input("data"),),
    infer=infer_flip,
    compute=compute_flip,
    reference=lambda inputs, a: np.ascontiguousarray(np.flip(inputs[0], a.axis)),
    gradient=lambda b, args, a, out, grad: [b.op("flip", grad, axis=a.axis)],
    fusion=Fusion.INJECTIVE,
    layout=FollowsInput(axis="axis"),
    relay_name="reverse",
    samples=lambda: (Sample((Arr(("n", 4)),), FlipAttrs(0)), Sample((Arr((2, "m")),), FlipAttrs(-1))),
    summary="Reverse the elements along an axis.",
)
