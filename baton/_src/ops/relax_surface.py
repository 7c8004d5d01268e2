"""Relax's builders whose parameters are not simply operands, then attributes with their defaults.

An operator's record of attributes serves both languages and is in the order in which calls are printed; here stands
in which order Relax's Python functions take them, which of them must be given, and which defaults are Relax's own.
Source: TVM v0.19, `python/tvm/relax/op`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from baton._src.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Surface:
    """How a builder differs: parameters that come first, those without default, and defaults."""

    order: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def applied(self, derived: inspect.Signature) -> inspect.Signature:
        """The derived signature in this order, with these defaults; parameters not named in `order` follow."""
        found = dict(derived.parameters)
        names = [*self.order, *(name for name in found if name not in self.order)]
        changed = []
        for name in names:
            parameter = found[name].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD)
            if name in self.required:
                parameter = parameter.replace(default=inspect.Parameter.empty)
            elif name in self.defaults:
                parameter = parameter.replace(default=self.defaults[name])
            changed.append(parameter)
        return inspect.Signature(changed)


def _surface(order: str = "", required: str = "", **defaults: Any) -> Surface:
    return Surface(tuple(order.split()), tuple(required.split()), defaults)


_LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
_WINDOW = "pool_size strides padding dilation ceil_mode count_include_pad layout out_layout"

RELAX_SURFACES: Mapping[str, Surface] = {
    **{f"nn.max_pool{n}d": _surface(f"data {_WINDOW}", out_layout=None) for n in _LAYOUTS},
    **{f"nn.avg_pool{n}d": _surface(f"data {_WINDOW}", out_layout=None, count_include_pad=n != 2) for n in _LAYOUTS},
    **{
        f"grad.{kind}_pool{n}d_backward": _surface(f"output_grad data {_WINDOW}", out_layout=None)
        for kind in ("max", "avg")
        for n in _LAYOUTS
    },
    **{f"nn.adaptive_avg_pool{n}d": _surface(layout=said, out_layout=None) for n, said in _LAYOUTS.items()},
    **{f"nn.conv{n}d": _surface(out_layout=None, out_dtype=None) for n in _LAYOUTS},
    **{f"nn.conv{n}d_transpose": _surface(out_layout=None, out_dtype=None) for n in _LAYOUTS},
    "nn.pad": _surface("data pad_width pad_mode pad_value"),
    "nn.batch_norm": _surface(required="axis"),
    "nn.layer_norm": _surface(required="axes"),
    "nn.group_norm": _surface(required="channel_axis axes"),
    "nn.instance_norm": _surface(required="channel_axis axes"),
    "image.resize2d": _surface(layout="NCHW", rounding_method="round"),
    "ones": _surface(required="dtype"),
    "zeros": _surface(required="dtype"),
    "flip": _surface(required="axis"),
    "tile": _surface(required="repeats"),
    "slice_scatter": _surface(required="step"),
    "layout_transform": _surface(axis_separators=None, input_axis_separators=None),
}
"""By neutral name; builders that are not here are as derived."""
