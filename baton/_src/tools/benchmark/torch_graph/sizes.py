"""Rules for tensors of sizes: they stay Python's integers, whatever is done with them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod
from typing import Any

import torch
from onnx import TensorProto

from baton._src.support.integer_division import truncated_division
from baton._src.tools.benchmark.torch_graph.recorder import Number, Sizes, Value
from baton._src.tools.benchmark.torch_graph.translation import Node, Rule


def shape(node: Node) -> Sizes:
    """Sizes that are known now are numbers, the others are asked for at run time."""
    dims = node.dims(0)
    start, end = node.attribute("start", 0), node.attribute("end", len(dims))
    x, axes = node.tensor(0), range(len(dims))[start:end]
    return Sizes(tuple(node.size(x, axis) if (known := dims[axis]) is None else known for axis in axes))


def rule_for_sizes(node: Node) -> Rule | None:
    """The rule of a node that computes sizes from sizes; None for other nodes."""
    rule = RULES.get(node.kind)
    if rule is None:
        return None
    given = [node.sizes(i) for i in range(len(node.inputs)) if node.has(i)]
    has_sizes = any(isinstance(node.value(i), Sizes) for i in range(len(node.inputs)) if node.has(i))
    return rule if has_sizes and None not in given and _stays(node) else None


def _stays(node: Node) -> bool:
    """Whether the result is of rank 0 or 1 and of integers, and which elements it has does not depend on the run."""
    first = node.sizes(0)
    match node.kind:
        case "Cast":
            return node.attribute("to") in (TensorProto.INT32, TensorProto.INT64)
        case "Unsqueeze":
            return first is not None and first.is_scalar and len(node.axes("axes", 1) or ()) == 1
        case "Squeeze":
            return len(node.numbers(0)) == 1
        case "Gather" | "Slice":
            chosen = [n for i in range(1, len(node.inputs)) if node.has(i) for n in node.numbers(i)]
            return first is not None and not first.is_scalar and all(isinstance(n, int) for n in chosen)
        case _:
            return True


def _elementwise(function: Callable[[Any, Any], Any]) -> Rule:
    def rule(node: Node) -> Sizes:
        given = [s for i in range(2) if (s := node.sizes(i)) is not None]
        count = max(len(s.numbers) for s in given)
        columns = [s.numbers * count if len(s.numbers) == 1 else s.numbers for s in given]
        found = tuple(node.call(function, *pair) for pair in zip(*columns, strict=True))
        return Sizes(found, all(s.is_scalar for s in given))

    return rule


def _same(node: Node) -> Value:
    return node.sizes(0) or node.value(0)


def _gather(node: Node) -> Sizes:
    numbers, chosen = node.numbers(0), node.sizes(1)
    assert chosen is not None
    return Sizes(tuple(numbers[i] for i in node.integers(1)), chosen.is_scalar)


def _slice(node: Node) -> Sizes:
    (start,), (end,) = node.integers(1), node.integers(2)
    (step,) = node.integers(4) if node.has(4) else (1,)
    return Sizes(node.numbers(0)[start:end:step])


def _concat(node: Node) -> Sizes:
    return Sizes(tuple(n for i in range(len(node.inputs)) for n in node.numbers(i)))


def _product(node: Node) -> Sizes:
    found: Number = prod(n for n in node.numbers(0) if isinstance(n, int))
    for number in node.numbers(0):
        if isinstance(number, torch.fx.Node):
            found = node.call(operator.mul, found, number)
    return Sizes((found,), is_scalar=not node.attribute("keepdims", 1))


RULES: dict[str, Rule] = {
    "Add": _elementwise(operator.add), "Sub": _elementwise(operator.sub), "Mul": _elementwise(operator.mul),
    "Div": _elementwise(truncated_division), "Max": _elementwise(torch.sym_max), "Min": _elementwise(torch.sym_min),
    "Cast": _same, "Identity": _same, "Squeeze": lambda node: Sizes(node.numbers(0), is_scalar=True),
    "Unsqueeze": lambda node: Sizes(node.numbers(0)), "Gather": _gather, "Slice": _slice, "Concat": _concat,
    "ReduceProd": _product,
}  # fmt: skip
