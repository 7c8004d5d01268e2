"""What is known of the values that a loop carries in each of its iterations."""

from __future__ import annotations

from collections.abc import Callable

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.ir.tensor_info import TensorInfo
from baton._src.tir.expr import AnyDim


def settled(
    g: GraphBuilder, infos: list[TensorInfo], run: Callable[[list[Value]], list[Value]]
) -> tuple[list[TensorInfo], list[TensorInfo]]:
    """Infos of the carried values that fit every iteration, from those they begin with (dims that change are unknown),
    and all that an iteration gives: the carried values first.
    """
    outputs = infos
    for _ in range(2 + sum(max(i.ndim, 0) for i in infos)):
        outputs = [v.info for v in g.rehearse(infos, run)]
        joined = [_join(g, a, b) for a, b in zip(infos, outputs, strict=False)]
        if joined == infos:
            break
        infos = joined
    return infos, outputs


def _join(g: GraphBuilder, a: TensorInfo, b: TensorInfo) -> TensorInfo:
    if same_sizes(g, a, b):
        return a
    if a.ndim != b.ndim or a.shape is None or b.shape is None:
        return TensorInfo(None, a.dtype, a.ndim if a.ndim == b.ndim else -1)
    same = [g.prover.equal(x, y) is True for x, y in zip(a.shape, b.shape, strict=True)]
    return TensorInfo(tuple(x if s or isinstance(x, AnyDim) else AnyDim() for x, s in zip(a.shape, same)), a.dtype)


def same_sizes(g: GraphBuilder, a: TensorInfo, b: TensorInfo) -> bool:
    """Whether sizes are known and certainly the same, however they are written: (n + 160) - 160 is n."""
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return False
    return a.shape == b.shape or all(g.prover.equal(x, y) is True for x, y in zip(a.shape, b.shape, strict=True))
