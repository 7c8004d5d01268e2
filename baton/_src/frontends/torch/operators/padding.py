"""Padding of tensors: with a constant, the edge, by reflection, or circularly."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.operators.shape import cut
from baton._src.ir.tensor_info import Dim
from baton._src.tir.operators import max as tir_max
from baton._src.tir.operators import min as tir_min

_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "circular"}


def pad(node: AtenNode, x: Value, widths: Sequence[Dim], mode: str = "constant", value: float | None = None) -> Value:
    """`widths`: before and after, the last axis first. Negative ones take elements away."""
    g, rank, count = node.graph, x.rank, len(widths) // 2
    if x.dtype.is_bool:
        return g.cast(pad(node, g.cast(x, "int8"), widths, mode, float(bool(value))), "bool")
    every = [(0, 0)] * (rank - count) + [(widths[2 * k], widths[2 * k + 1]) for k in reversed(range(count))]
    kept: list[int] = []
    for axis, (before, after) in enumerate(every):
        if not isinstance(before, int) or not isinstance(after, int) or _repeats_what_is_cut(before, after, mode):
            x = _open(node, x, axis, before, after, mode, value or 0)
            kept += (0, 0)
            continue
        if before < 0 or after < 0:
            x = cut(node, x, axis, max(-before, 0), node.sizes(x)[axis] + min(after, 0))
        kept += (max(before, 0), max(after, 0))
    if not any(kept):
        return x
    return g.call("nn.pad", x, pad_width=tuple(kept), pad_value=float(value or 0), pad_mode=_MODES[mode])


def _repeats_what_is_cut(before: int, after: int, mode: str) -> bool:
    """Whether borders are read from the whole tensor though elements are taken away on the other side."""
    return mode in ("replicate", "reflect") and min(before, after) < 0 < max(before, after)


def _open(node: AtenNode, x: Value, axis: int, before: Dim, after: Dim, mode: str, value: float) -> Value:
    """Borders along one axis, whose widths may be negative, and known only to a run."""
    g, shape = node.graph, node.sizes(x)
    size = shape[axis]
    whole = (*shape[:axis], before + size + after, *shape[axis + 1 :])
    if mode != "constant":
        places = g.call("arange", start=0, stop=whole[axis], step=1, dtype="int64")
        read = _mirrored(node, g.call("subtract", places, g.dims(before)), g.dims(size), mode)
        return g.call("take", x, read, axis=axis)
    inside = cut(node, x, axis, tir_max(0 - before, 0), size + tir_min(after, 0))
    borders = [
        g.broadcast_to(g.scalar(value, x), (*shape[:axis], tir_max(width, 0), *shape[axis + 1 :]))
        for width in (before, after)
    ]
    return g.of_shape(g.call("concat", (borders[0], inside, borders[1]), axis=axis), whole)


def _mirrored(node: AtenNode, place: Value, size: Value, mode: str) -> Value:
    """Where a position in a border is read."""
    g = node.graph
    if mode == "circular":
        return g.call("floor_mod", place, size)
    last = g.call("subtract", size, g.scalar(1, size))
    if mode == "replicate":
        return g.call("minimum", g.call("maximum", place, g.scalar(0, size)), last)
    below = g.call("abs", place)
    return g.call("subtract", last, g.call("abs", g.call("subtract", last, below)))


def constant_pad(node: AtenNode, x: Value, widths: Sequence[Dim], value: float) -> Value:
    return pad(node, x, widths, "constant", value)


def bordered(mode: str) -> Converter:
    def convert(node: AtenNode, x: Value, widths: Sequence[Dim]) -> Value:
        return pad(node, x, widths, mode)

    return convert


PADDING: dict[str, Converter] = {
    "aten.pad.default": pad, "aten.constant_pad_nd.default": constant_pad,
    **{f"aten.reflection_pad{n}d.default": bordered("reflect") for n in (1, 2, 3)},
    **{f"aten.replication_pad{n}d.default": bordered("replicate") for n in (1, 2, 3)},
}  # fmt: skip
