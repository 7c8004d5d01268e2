"""Scales along one axis, and the operators that can take one into their weights: for both halves of FoldScaleAxis."""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.passes.relay.building import Build, is_call, shape_of
from baton._src.relay.nodes import Call, Constant

CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d")
_LAYOUTS = {3: ("NCW", "OIW"), 4: ("NCHW", "OIHW"), 5: ("NCDHW", "OIDHW")}


def data_axis(call: Call) -> int | None:
    """The channel axis of a convolution's data (and result) or of a dense; None for other operators and layouts."""
    if is_call(call, "nn.dense"):
        return len(call.checked_type.shape) - 1
    if is_call(call, *CONVOLUTIONS):
        layout = call.attrs.data_layout or _LAYOUTS[len(call.checked_type.shape)][0]
        out = call.attrs.out_layout or layout
        return layout.index("C") if layout == out and layout.isupper() and layout.isalpha() else None
    return None


def weight_axis(call: Call, letter: str) -> int | None:
    """The axis of the weight that runs over output ("O") or input ("I") channels."""
    if is_call(call, "nn.dense"):
        return {"O": 0, "I": 1}[letter]
    kernel = call.attrs.kernel_layout or _LAYOUTS[len(call.checked_type.shape)][1]
    return kernel.index(letter) if kernel.isupper() and kernel.isalpha() else None


def channel_vector(build: Build, scale: Any, rank: int, axis: int, channels: int) -> Any:
    """`scale` as a vector over the channels if it varies along `axis` only; None if it does not."""
    shape = shape_of(scale)
    if shape is None or len(shape) > rank:
        return None
    padded = (1,) * (rank - len(shape)) + shape
    if any(extent != 1 for position, extent in enumerate(padded) if position != axis):
        return None
    if padded[axis] not in (1, channels):
        return None
    return build.op("reshape", scale, newshape=(padded[axis],))


def along(build: Build, vector: Any, rank: int, axis: int) -> Any:
    """The vector as a tensor that broadcasts along `axis` of a tensor of `rank`."""
    shape = tuple(-1 if position == axis else 1 for position in range(rank))
    return build.op("reshape", vector, newshape=shape)


def is_positive(scale: Any) -> bool:
    """A constant with positive elements only: it commutes with relu."""
    return isinstance(scale, Constant) and bool(np.all(scale.data.data > 0))
