"""Calls, branches and loops."""

from __future__ import annotations

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.stablehlo.node import Converter, Node
from baton._src.ir.tensor_info import TensorInfo
from baton._src.values.dtype import BOOL


def call(node: Node) -> list[Value]:
    name = next(w for w in [*node.op.words, str(node.attr("callee", ""))] if w.startswith("@"))
    return node.call(name[1:].strip('"'), node.operands)


def composite(node: Node) -> list[Value]:
    """Its decomposition is a function of the module."""
    return node.call(str(node.attr("decomposition")).lstrip("@"), node.operands)


def custom_call(node: Node) -> list[Value]:
    """What says where tensors lie changes nothing; assertions of sizes are checked in each run."""
    name = next((w[1:] for w in node.op.words if w.startswith("@")), str(node.attr("call_target_name", "")))
    if name in ("Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement"):
        return node.operands
    if name == "shape_assertion":
        node.graph.demand(node.operands[0], str(node.attr("error_message")).split(". Using")[0])
        return []
    node.fail(f"the custom call {name!r} is not supported")


def case(node: Node) -> list[Value]:
    """The region of that number, the last one for numbers that have none."""
    return _chosen(node, node.operands[0], 0)


def _chosen(node: Node, index: Value, number: int) -> list[Value]:
    regions = node.op.regions
    if number == len(regions) - 1:
        return node.run(regions[number], [])
    is_it = node.graph.call("equal", index, node.graph.scalar(number, index))
    return node.graph.branch(is_it, lambda: node.run(regions[number], []), lambda: _chosen(node, index, number + 1))


def if_(node: Node) -> list[Value]:
    then, otherwise = node.op.regions
    return node.graph.branch(node.operands[0], lambda: node.run(then, []), lambda: node.run(otherwise, []))


def while_(node: Node) -> list[Value]:
    condition, body = node.op.regions
    infos = [TensorInfo((), BOOL), *(v.info for v in node.operands)]

    def with_flag(state: list[Value]) -> list[Value]:
        return [*node.run(condition, state), *state]

    found = node.graph.loop(with_flag(node.operands), infos, lambda state: with_flag(node.run(body, state[1:])))
    return found[1:]


BRANCHING = {"stablehlo.case", "stablehlo.if", "stablehlo.while"}
"""Operations that become branches or loops, which no dataflow block may hold."""

CONTROL: dict[str, Converter] = {
    "call": call, "func.call": call, "stablehlo.composite": composite, "stablehlo.custom_call": custom_call,
    "stablehlo.case": case, "stablehlo.if": if_, "stablehlo.while": while_,
}  # fmt: skip
