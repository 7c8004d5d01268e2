"""Borders around tensors: of one number, of the edge, of the mirrored or the opposite side."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.operators.shape import cut

_MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "circular"}


def pad(node: AtenNode, x: Value, widths: Sequence[int], mode: str = "constant", value: float | None = None) -> Value:
    """`widths`: before and after, the last axis first. Negative ones take elements away."""
    g, rank, count = node.graph, x.rank, len(widths) // 2
    if x.dtype.is_bool:
        return g.cast(pad(node, g.cast(x, "int8"), widths, mode, float(bool(value))), "bool")
    borders = [(node.known(widths[2 * k], "a border"), node.known(widths[2 * k + 1], "a border")) for k in range(count)]
    every = [(0, 0)] * (rank - count) + borders[::-1]
    for axis, (before, after) in enumerate(every):
        if before < 0 or after < 0:
            size = node.sizes(x)[axis]
            x = cut(node, x, axis, max(-before, 0), size + min(after, 0))
    kept = [max(w, 0) for pair in every for w in pair]
    if not any(kept):
        return x
    return g.call("nn.pad", x, pad_width=tuple(kept), pad_value=float(value or 0), pad_mode=_MODES[mode])


def constant_pad(node: AtenNode, x: Value, widths: Sequence[int], value: float) -> Value:
    return pad(node, x, widths, "constant", value)


def bordered(mode: str) -> Converter:
    def convert(node: AtenNode, x: Value, widths: Sequence[int]) -> Value:
        return pad(node, x, widths, mode)

    return convert


PADDING: dict[str, Converter] = {
    "aten.pad.default": pad, "aten.constant_pad_nd.default": constant_pad,
    **{f"aten.reflection_pad{n}d.default": bordered("reflect") for n in (1, 2, 3)},
    **{f"aten.replication_pad{n}d.default": bordered("replicate") for n in (1, 2, 3)},
}  # fmt: skip
