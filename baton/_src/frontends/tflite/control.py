"""Branches, loops and calls of other graphs of the model."""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.frontends.graph_builder.loop_states import settled
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.tflite.node import Converter, Node

BRANCHING = {"IF", "WHILE"}
"""Operators that become branches or loops, which no dataflow block may hold."""


def branch(node: Node) -> list[Value]:
    """Operand 0 chooses one of two graphs, which take the others."""
    then, other = (int(node.option(f"{side}SubgraphIndex", 0)) for side in ("Then", "Else"))
    given = [node[place] for place in range(1, len(node.operands))]
    condition = node.graph.reshape(node[0], ())
    return node.graph.branch(condition, lambda: node.run(then, given), lambda: node.run(other, given))


def loop(node: Node) -> list[Value]:
    """While the first graph says so, the second takes the operands to new ones."""
    goes_on, body = (int(node.option(f"{part}SubgraphIndex", 0)) for part in ("Cond", "Body"))
    start = [node[place] for place in range(len(node.operands))]

    def asked(values: Sequence[Value]) -> list[Value]:
        """Whether there is another iteration, and the state."""
        (found,) = node.run(goes_on, values)
        return [node.graph.reshape(found, ()), *values]

    begun = asked(start)
    infos, _ = settled(node.graph, [v.info for v in begun], lambda state: asked(node.run(body, state[1:])))
    return node.graph.loop(begun, infos, lambda state: asked(node.run(body, state[1:])))[1:]


def call(node: Node) -> list[Value]:
    """A graph, or the one that composites of several operators are made of."""
    field = "Subgraph" if node.op.name == "CALL" else "DecompositionSubgraphIndex"
    return node.run(int(node.option(field, 0)), [node[place] for place in range(len(node.operands))])


CONTROL: dict[str, Converter] = {"IF": branch, "WHILE": loop, "CALL": call, "STABLEHLO_COMPOSITE": call}
