"""The gradients of adaptive pooling, whose windows differ in length and overlap.

Of means: shares, axis by axis. Of maxima: the windows are laid side by side (a short one repeats its last element,
which changes no maximum); every window's gradient is shared by its maxima, and the copies are summed back.
"""

from __future__ import annotations

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs, Gradients
from baton._src.ops.layout_names import layout_over
from baton._src.ops.linear_axes import along, known_extents, transposed
from baton._src.ops.nn.pooling.adaptive_attributes import Adaptive
from baton._src.ops.windows import SPATIAL
from baton._src.relax.struct_info import TensorStructInfo
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray


def _axes(info: TensorStructInfo, a: Adaptive) -> dict[int, tuple[int, int]]:
    """For each spatial axis: its extent before and after."""
    if a.out_layout not in ("", a.layout):
        raise fail("op-gradient", f"the gradient of a pooling from {a.layout} to {a.out_layout} is not known")
    order = layout_over(a.layout, "NC" + SPATIAL[a.spatial], "layout")
    sizes = a.output_size or (None,) * a.spatial
    places = [order.position(letter) for letter in SPATIAL[a.spatial]]
    extents = known_extents(info, "adaptive pooling", places)
    return {p: (extents[p], extents[p] if size is None else int(size)) for p, size in zip(places, sizes)}


def _places(before: int, after: int) -> tuple[AnyArray, AnyArray]:
    """(after x longest) indices: window by window."""
    starts = np.arange(after) * before // after
    lengths = -(-(np.arange(1, after + 1) * before) // after) - starts
    return starts[:, None] + np.minimum(np.arange(lengths.max(initial=0)), lengths[:, None] - 1), lengths


def gradient_mean(b: CallMaker, args: Exprs, a: Adaptive, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Every element of a window has an equal share."""
    info = args[0].struct_info
    matrices = {}
    for axis, (before, after) in _axes(info, a).items():
        at, lengths = _places(before, after)
        share = np.zeros((after, before))
        for window, places in enumerate(at):
            share[window, np.unique(places)] = 1 / lengths[window]
        matrices[axis] = share
    return [transposed(b, grad, info, matrices)]


def gradient_max(b: CallMaker, args: Exprs, a: Adaptive, out: GraphExpr, grad: GraphExpr) -> Gradients:
    """Every maximum of a window has an equal share."""
    (x,) = args
    info = x.struct_info
    chosen = {axis: _places(before, after)[0] for axis, (before, after) in _axes(info, a).items()}

    def laid_out(value: GraphExpr) -> GraphExpr:
        for axis, places in chosen.items():
            value = b.op("take", value, b.const(places.reshape(-1), "int64"), axis=axis)
        return value

    def repeated(value: GraphExpr) -> GraphExpr:
        for axis, (after, longest) in shapes.items():
            value = b.op("take", value, b.const(np.repeat(np.arange(after), longest), "int64"), axis=axis)
        return value

    shapes = {axis: places.shape for axis, places in chosen.items()}
    windows = laid_out(x)
    hit = b.op("astype", b.op("equal", windows, repeated(out)), dtype=info.dtype)
    count = hit
    for axis, (after, longest) in shapes.items():
        count = along(b, count, info, axis, np.repeat(np.eye(after), longest, axis=0))
    shares = b.op("multiply", hit, repeated(b.op("divide", grad, count)))
    extents = known_extents(info, "adaptive pooling", chosen)
    return [transposed(b, shares, info, {axis: np.eye(extents[axis])[p.reshape(-1)] for axis, p in chosen.items()})]
