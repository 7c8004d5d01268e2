"""If."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode
from baton._src.values.meaning import Meaning


def if_(node: OnnxNode) -> Sequence[Value]:
    if node[0].array is not None:
        chosen = "then_branch" if node[0].array.reshape(-1)[0] else "else_branch"
        return list(node.run_graph(node.attr(chosen), {}))
    return _branched(node, lambda results: results)


def arms_disagree(node: OnnxNode, found: Sequence[Value]) -> bool:
    """Whether the rank of something that an If gives depends on its condition."""
    return node.op_type == "If" and any(v.rank < 0 and not v.is_sequence for v in found)


def forked(node: OnnxNode, finish: Callable[[list[Value]], list[Value]]) -> list[Value]:
    """What `finish` makes of the results of the arm that is chosen."""
    meanings: list[Meaning] = []

    def finished(results: list[Value]) -> list[Value]:
        found = finish(results)
        meanings[:] = [v.meaning for v in found]
        return found

    found = _branched(node, finished)
    return [replace(v, meaning=meaning) for v, meaning in zip(found, meanings, strict=True)]


def _branched(node: OnnxNode, finish: Callable[[list[Value]], list[Value]]) -> list[Value]:
    def arm(name: str) -> Callable[[], list[Value]]:
        return lambda: finish(node.run_graph(node.attr(name), {}))

    return node.graph.branch(node.graph.reshape(node[0], ()), arm("then_branch"), arm("else_branch"))


BRANCHES: dict[str, Converter] = {"If": if_}
