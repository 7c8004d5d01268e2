"""FoldExplicitPadding: zeros written around a convolution's input become the convolution's own padding.

nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]), %w)    becomes
nn.conv2d(%x, %w, padding=[1, 1, 1, 1])
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from baton._src.ir.module import IRModule
from baton._src.passes.relay.building import Build, is_call
from baton._src.passes.relay.infer_type import InferType
from baton._src.passes.relay.relay_pass import RelayFunctionPass
from baton._src.relay.expressions import rewrite
from baton._src.relay.nodes import Constant
from baton._src.transform.context import PassContext
from baton._src.transform.passes import Pass

CONVOLUTIONS = ("nn.conv1d", "nn.conv2d", "nn.conv3d")


@dataclass(frozen=True)
class FoldExplicitPadding(RelayFunctionPass):
    """See the module's docstring. Padding of other axes, or by other values than zero, stays."""

    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str | Pass, ...]] = (InferType(),)

    def run_function(self, function: Any, module: IRModule, ctx: PassContext) -> Any:
        build = Build()

        def rule(old: Any, new: Any) -> Any:
            if not is_call(new, *CONVOLUTIONS) or not is_call(new.args[0], "nn.pad"):
                return None
            padding = _together(new, new.args[0])
            if padding is None:
                return None
            attrs = replace(new.attrs, padding=padding)
            return build.call(new.with_fields(args=(new.args[0].args[0], *new.args[1:]), attrs=attrs))

        return rewrite(function, rule)


def _together(conv: Any, pad: Any) -> tuple[int, ...] | None:
    """The padding of both, begins before ends; None if the convolution cannot do what the pad does."""
    layout, widths = str(conv.attrs.data_layout), pad.attrs.pad_width
    if pad.attrs.pad_mode != "constant" or len(widths) != len(layout) or not _pads_zeros(pad):
        return None
    places = [layout.index(letter) for letter in layout if letter in "DHW"]
    if any(begin or end for i, (begin, end) in enumerate(widths) if i not in places):
        return None
    count = len(places)
    begins = [int(conv.attrs.padding[n]) + int(widths[i][0]) for n, i in enumerate(places)]
    ends = [int(conv.attrs.padding[n + count]) + int(widths[i][1]) for n, i in enumerate(places)]
    return (*begins, *ends)


def _pads_zeros(pad: Any) -> bool:
    if len(pad.args) > 1:
        value = pad.args[1]
        return isinstance(value, Constant) and not np.any(value.data.data)
    return not pad.attrs.pad_value
