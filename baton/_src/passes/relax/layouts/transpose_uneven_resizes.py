"""TransposeUnevenResizes: lines of images that are resampled unevenly lie across vectors while they are.

    gv = R.image.resize2d(x, R.shape([224, 224]))                          x: (N, C, 480, 640)
    ->
    lv = R.image.resize2d(x, R.shape([224, 640]))
    lv1 = R.permute_dims(lv, [0, 1, 3, 2])
    lv2 = R.image.resize2d(lv1, R.shape([224, 224]), layout="NCWH")
    gv = R.permute_dims(lv2, [0, 1, 3, 2])

Along the last axis each result picks elements of its own, one by one, unless they are at even steps. Along any other
axis whole lines are weighed, and moving elements twice costs less than picking two or four for each result.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.structural import structural_equal
from baton._src.ops.call_maker import RelaxMaker
from baton._src.ops.catalogue import CATALOGUE
from baton._src.ops.image.resampling import IN_PLACE, placed_in, weighed_in
from baton._src.ops.image.resize import ResizeAttrs
from baton._src.ops.image.resize_kernel import steps_along
from baton._src.passes.relax.binding_rewriter import BindingRewriter
from baton._src.passes.relax.call_pass import CallPass
from baton._src.relax.known_dims import dims_of
from baton._src.relax.nodes import Call
from baton._src.support.dataclass import dataclass
from baton._src.tir.expr import IntImm

TRANSPOSED = (0, 1, 3, 2)
SHORTEST = 8
"""Fewer lines than this do not fill vectors."""
MOST_SHRUNK = 8
"""Lines that shrink more have too many elements to move for each that is picked."""


@dataclass(frozen=True)
class TransposeUnevenResizes(CallPass):
    """See the module."""

    opt_level = 2

    def replaced(self, call: Call, at: BindingRewriter) -> Any:
        """A resize with uneven lines, in two steps."""
        return _in_two_steps(call) if isinstance(call.attrs, ResizeAttrs) and _is_uneven(call) else call


def _is_uneven(call: Call) -> bool:
    """Whether elements of the last axis are picked one by one, and moving all of them costs less."""
    a, before, after = call.attrs, dims_of(call.args[0]), dims_of(call)
    if (a.spatial, a.layout) != (2, "NCHW") or a.method == "nearest_neighbor" or before is None or after is None:
        return False
    if a.coordinate_transformation_mode not in IN_PLACE or structural_equal(before[3], after[3]):
        return False
    lines, narrow, wide = after[2], after[3], before[3]
    if isinstance(lines, IntImm) and lines.value < SHORTEST:
        return False
    if isinstance(narrow, IntImm) and isinstance(wide, IntImm):
        steps = steps_along(wide, narrow, a, 1, placed_in(a, call.args[0].struct_info))
        return wide.value <= MOST_SHRUNK * narrow.value and steps is None
    return True


def _in_two_steps(call: Call) -> Any:
    """Lines first, then what they consist of."""
    (x, *_), a, before, after = call.args, call.attrs, dims_of(call.args[0]), dims_of(call)
    assert before is not None
    assert after is not None
    make = RelaxMaker(CATALOGUE.get("image.resize2d"), CATALOGUE)
    options = {
        name: getattr(a, name) for name in ("method", "coordinate_transformation_mode", "cubic_alpha", "cubic_exclude")
    }
    lines = x
    if not structural_equal(before[2], after[2]):
        wide = weighed_in(x.struct_info)
        lines = make(x, make.shape((after[2], before[3])), layout="NCHW", out_dtype=wide, **options)
    columns = make.op("permute_dims", lines, axes=TRANSPOSED)
    found = make(columns, make.shape((after[2], after[3])), layout="NCWH", out_dtype=call.struct_info.dtype, **options)
    return make.op("permute_dims", found, axes=TRANSPOSED)
