"""If."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.node import Converter, OnnxNode


def if_(node: OnnxNode) -> Sequence[Value]:
    condition = node[0]
    if condition.array is not None:
        chosen = "then_branch" if condition.array.reshape(-1)[0] else "else_branch"
        return list(node.run_graph(node.attr(chosen), {}))
    g = node.graph
    return g.branch(
        g.reshape(condition, ()),
        lambda: node.run_graph(node.attr("then_branch"), {}),
        lambda: node.run_graph(node.attr("else_branch"), {}),
    )


BRANCHES: dict[str, Converter] = {"If": if_}
