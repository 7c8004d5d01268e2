"""Scales along channels, and the operators whose weights can absorb one: for both directions of FoldScaleAxis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.types import TensorType
from baton._src.passes.relay.building import Build, is_call, shape_of
from baton._src.relay.nodes import Call, Constant
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm

CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d")
RECTIFIERS = ("nn.relu", "nn.leaky_relu")
"""Operators that commute with positive scales."""
SUMS = ("add", "subtract")
_LAYOUTS = {3: ("NCW", "OIW"), 4: ("NCHW", "OIHW"), 5: ("NCDHW", "OIDHW")}
_MOVES = ("expand_dims", "reshape", "transpose", "squeeze", "repeat")
"""Operators that keep the signs of elements."""


@dataclass(frozen=True)
class ScaleRequest:
    """A request for a value scaled along `axes`, which costs nothing there; with `positive`, by positive numbers
    only.
    """

    axes: tuple[int, ...]
    positive: bool = False

    def and_also(self, other: ScaleRequest | None) -> ScaleRequest | None:
        """The request that satisfies two users; None if there is none."""
        axes = tuple(a for a in self.axes if other is not None and a in other.axes)
        return ScaleRequest(axes, self.positive or (other is not None and other.positive)) if axes else None


@dataclass(frozen=True)
class WeightAxes:
    """The channel axes of a convolution or dense layer: in its data, its result, and in its weight for either."""

    data: tuple[int, ...]
    out: tuple[int, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def weight_axes(call: Call) -> WeightAxes | None:
    """The axes of an operator whose weight can absorb scales; None for other calls. Grouped convolutions cannot, except
    those with one input channel per group.
    """
    if not is_call(call, "nn.dense", *CONVOLUTIONS) or not all(map(is_floating, (call, *call.args[:2]))):
        return None
    if is_call(call, "nn.dense"):
        return WeightAxes((1,), (1,), (1,), (0,)) if len(call.checked_type.shape) == 2 else None
    rank = len(call.args[0].checked_type.shape)
    layout, kernel = call.attrs.data_layout or _LAYOUTS[rank][0], call.attrs.kernel_layout or _LAYOUTS[rank][1]
    data, out = _places(layout, "C"), _places(call.attrs.out_layout or layout, "C")
    inputs, outputs = _places(kernel, "I"), _places(kernel, "O")
    if len({len(places) for places in (data, out, inputs, outputs)}) != 1:
        return None  # some of it in blocks, some not
    if call.attrs.groups == 1:
        return WeightAxes(data, out, inputs, outputs)
    weight = shape_of(call.args[1])
    alone = weight is not None and len(inputs) == 1 and weight[inputs[0]] == 1
    alone = alone and weight is not None and weight[outputs[0]] == call.attrs.groups
    return WeightAxes(data, out, outputs, outputs) if alone else None


def _places(layout: str, letter: str) -> tuple[int, ...]:
    """The positions of an axis and its block in a layout."""
    axes = [c for c in layout if c.isalpha()]
    return tuple(axes.index(c) for c in (letter, letter.lower()) if c in axes)


def is_floating(expr: GraphExpr) -> bool:
    """Whether products of it may be reassociated."""
    type_ = expr.checked_type_
    return isinstance(type_, TensorType) and bool(getattr(type_.dtype, "is_float", False))


def dims_of(expr: GraphExpr) -> list[int | None]:
    """The extents of a tensor, None for those that are not known."""
    return [d.value if isinstance(d, IntImm) else None for d in expr.checked_type.shape]


def scale_along(build: Build, value: GraphExpr, scale: Any, axes: Sequence[int]) -> Any:
    """`scale` without the axes along which it is constant, if it broadcasts to `value` along `axes` alone; None if it
    does not. A number is repeated.
    """
    whole, own = dims_of(value), dims_of(scale)
    if not own:
        if len(axes) != 1 or whole[axes[0]] is None:
            return None
        vector = build.op("expand_dims", scale, axis=0, num_newaxis=1)
        return build.op("repeat", vector, repeats=whole[axes[0]], axis=0)
    if not broadcasts_along(value, scale, axes):
        return None
    base = len(whole) - len(own)
    needless = [axis - base for axis in range(base, len(whole)) if axis not in axes]
    return build.op("squeeze", scale, axis=needless) if needless else scale


def broadcasts_along(value: GraphExpr, operand: Any, axes: Sequence[int]) -> bool:
    """Whether `operand` has the extents of `value` along `axes`, and 1 elsewhere."""
    whole, own = dims_of(value), dims_of(operand)
    base = len(whole) - len(own)
    if base < 0 or any(axis < base or whole[axis] is None for axis in axes):
        return False
    return all(own[a - base] == (whole[a] if a in axes else 1) for a in range(base, len(whole)))


def spread(build: Build, scale: Any, value: GraphExpr, axes: Sequence[int]) -> Any:
    """The result of `scale_along` as a tensor that broadcasts along `axes` of `value`."""
    dims = dims_of(value)
    if len(axes) == 1:
        after = len(dims) - 1 - axes[0]
        return build.op("expand_dims", scale, axis=1, num_newaxis=after) if after else scale
    return build.op("reshape", scale, newshape=tuple(d if i in axes else 1 for i, d in enumerate(dims)))


def is_positive(scale: Any) -> bool:
    """Whether it is a constant of positive elements, perhaps moved: then it commutes with `RECTIFIERS`."""
    while is_call(scale, *_MOVES):
        scale = scale.args[0]
    return isinstance(scale, Constant) and bool(np.all(scale.data.data > 0))


def is_nowhere_zero(scale: Any) -> bool:
    """Whether it is a constant, perhaps moved, without zeros, so that one can divide by it."""
    while is_call(scale, *_MOVES):
        scale = scale.args[0]
    return isinstance(scale, Constant) and bool(np.all(scale.data.data != 0))


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
