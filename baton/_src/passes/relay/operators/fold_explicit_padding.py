"""FoldExplicitPadding: an explicit pad before a convolution or pool becomes that operator's own padding.

nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]), %w)    becomes
nn.conv2d(%x, %w, padding=[1, 1, 1, 1])

The pad value must be zero for convolutions and average pools (which then count the border), and the lowest value for
max pools. For floats that is -inf: the lowest finite number would win over data that is -inf. Pools with `ceil_mode`,
which clips windows at the end of the data, and pools with windows that may lie entirely in the border are left alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, is_call
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Constant, Function
from baton._src.support.dataclass import dataclass
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass
from baton._src.values.dtype import DataType

CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d")
MEANS = ("nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d")
MAXIMA = ("nn.max_pool1d", "nn.max_pool2d", "nn.max_pool3d")


@dataclass(frozen=True)
class FoldExplicitPadding(RelayFunctionPass):
    """See the module's docstring. Padding of other axes, or by other values, stays."""

    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Function, module: IRModule, ctx: PassContext) -> Any:
        build = Build()

        def rule(old: Any, new: Any) -> Any:
            if not is_call(new, *CONVOLUTIONS, *MEANS, *MAXIMA) or not is_call(new.args[0], "nn.pad"):
                return None
            attrs = _with_border(new, new.args[0])
            if attrs is None:
                return None
            return build.call(new.with_fields(args=(new.args[0].args[0], *new.args[1:]), attrs=attrs))

        return rewrite(function, rule)


def _with_border(call: Any, pad: Any) -> Any:
    """The attributes of a call that also does what `pad` did; None if there are none."""
    is_pool = not is_call(call, *CONVOLUTIONS)
    padding = _together(call.attrs, str(call.attrs.layout if is_pool else call.attrs.data_layout), pad)
    if padding is None:
        return None
    if not is_pool:
        return replace(call.attrs, padding=padding) if _value(pad) == 0 else None
    if call.attrs.ceil_mode or not _windows_reach(call.attrs, padding):
        return None
    if is_call(call, *MAXIMA):
        return replace(call.attrs, padding=padding) if _value(pad) == _lowest(pad.checked_type.dtype) else None
    counts = call.attrs.count_include_pad or not any(call.attrs.padding)
    return replace(call.attrs, padding=padding, count_include_pad=True) if counts and _value(pad) == 0 else None


def _together(attrs: Any, layout: str, pad: Any) -> tuple[int, ...] | None:
    """The combined padding, begins before ends; None if the call cannot express the pad."""
    widths = pad.attrs.pad_width
    if pad.attrs.pad_mode != "constant" or len(widths) != len(layout):
        return None
    places = [layout.index(letter) for letter in layout if letter in "DHW"]
    if any(begin or end for i, (begin, end) in enumerate(widths) if i not in places):
        return None
    count = len(places)
    begins = [int(attrs.padding[n]) + int(widths[i][0]) for n, i in enumerate(places)]
    ends = [int(attrs.padding[n + count]) + int(widths[i][1]) for n, i in enumerate(places)]
    return (*begins, *ends)


def _windows_reach(attrs: Any, padding: tuple[int, ...]) -> bool:
    """Whether no window of a pool lies entirely in the border, or steps over the data."""
    plain = all(step == 1 for step in attrs.dilation)
    return plain and all(p < size for p, size in zip(padding, (*attrs.pool_size, *attrs.pool_size)))


def _value(pad: Any) -> float | None:
    """The value of the border; None if it is not known."""
    if len(pad.args) == 1:
        return float(pad.attrs.pad_value)
    value = pad.args[1]
    return float(value.data.data) if isinstance(value, Constant) and not value.data.shape else None


def _lowest(dtype: DataType) -> float:
    """The value that is never the maximum."""
    return float(np.iinfo(dtype.numpy).min) if dtype.numpy.kind in "iu" else float("-inf")
