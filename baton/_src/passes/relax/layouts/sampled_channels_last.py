"""SampledChannelsLast: images are sampled at computed points with the channels of a pixel side by side.

    gv = R.vision.roi_align(x, rois, layout="NCHW", ...)                  x: (N, C, H, W)
    ->
    lv = R.permute_dims(x, [0, 2, 3, 1])
    lv1 = R.vision.roi_align(lv, rois, layout="NHWC", ...)
    gv = R.permute_dims(lv1, [0, 3, 1, 2])

All channels are read at the same pixels: those are vectors then, and elements of as many planes otherwise.
"""

from __future__ import annotations

from dataclasses import fields
from math import prod
from typing import Any

from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.image.grid_sampling import GridSampleAttrs
from baton._src.ops.vision.roi_align import RoiAlignAttrs
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.call_pass import CallPass
from baton._src.relax.known_dims import dims_of
from baton._src.relax.nodes import Call
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm

FEWEST = 8
"""Fewer channels do not fill vectors."""
MOST_PIXELS = 8
"""An image of more pixels for each point is not moved for the few that are read."""


@dataclass(frozen=True)
class SampledChannelsLast(CallPass):
    """See the module."""

    opt_level = 2

    def replaced(self, call: Call, at: BindingRewriter) -> Any:
        """An operator that samples images, with channels last."""
        samples = isinstance(call.attrs, (RoiAlignAttrs, GridSampleAttrs))
        return _channels_last(call) if samples and _pays(call) else call


def _pays(call: Call) -> bool:
    image, result = dims_of(call.args[0]), dims_of(call)
    if image is None or result is None or not call.attrs.layout.startswith("NC"):
        return False
    channels, pixels, points = _extent(image[1:2]), _extent(image[2:]), _extent((result[0], *result[2:]))
    if channels is not None and channels < FEWEST:
        return False
    return pixels is None or points is None or pixels <= MOST_PIXELS * points


def _extent(dims: tuple[Any, ...]) -> int | None:
    """How many elements there are, if that is known."""
    sizes = [dim.value for dim in dims if isinstance(dim, IntImm)]
    return prod(sizes) if len(sizes) == len(dims) else None


def _channels_last(call: Call) -> Any:
    data, places = call.args
    layout = call.attrs.layout
    last = (0, *range(2, len(layout)), 1)
    make = RelaxMaker(CATALOGUE.get(call.op.name.removeprefix("relax.")), CATALOGUE)
    options = {f.name: getattr(call.attrs, f.name) for f in fields(call.attrs)}
    options["layout"] = layout.replace("C", "") + "C"
    found = make(make.op("permute_dims", data, axes=last), places, **options)
    return make.op("permute_dims", found, axes=(0, len(layout) - 1, *range(1, len(layout) - 1)))
