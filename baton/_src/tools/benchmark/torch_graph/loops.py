"""The rules of Loop and Scan: Python loops over a body that is a module of its own."""

from __future__ import annotations

import operator
from typing import Any

import onnx
import torch

from baton._src.tools.benchmark.torch_graph.recorder import Number, Sizes
from baton._src.tools.benchmark.torch_graph.translation import Node, Rule, Translation


class Iterations(torch.nn.Module):  # type: ignore[misc]  # PyTorch's types are not read here
    """`count` runs of a body, each on the values carried over from the one before; its other results are stacked.

    The body takes the number of the iteration, what is carried, a slice of each scanned tensor, and what it uses of the
    graph around it. torch.compile unrolls all of them: a hundred take it a minute, and then run five times as fast as a
    body that is compiled alone.
    """

    def __init__(self, body: torch.nn.Module, carried: int) -> None:
        super().__init__()
        self.body, self.carried = body, carried

    def forward(self, count: int, state: tuple[Any, ...], scanned: tuple[Any, ...], outer: tuple[Any, ...]) -> Any:
        collected = []
        for number in range(count):
            found = self.body(number, *state, *(x.select(0, number) for x in scanned), *outer)
            state = found[: self.carried]
            collected.append(found[self.carried :])
        return *state, *(torch.stack(values) for values in zip(*collected, strict=True))


def _loop(node: Node) -> Any:
    """A Loop with a given number of iterations; one that a condition may end earlier is refused."""
    body = node.attribute("body")
    number, condition, *carried = (value.name for value in body.input)
    goes_on, *results = (value.name for value in body.output)
    if not node.has(0) or (node.has(1) and not _is_true(node.value(1))):
        raise node.refuse("that ends by a condition is not covered")
    inner = node.translation.inner(body)
    inner.values[number] = Sizes((inner.recorder.input(),), is_scalar=True)
    inner.values[condition] = torch.tensor(True)
    _translate(inner, body, carried)
    if not _is_true(inner.value(goes_on)):
        raise node.refuse("that ends by a condition is not covered")
    return _iterate(node, inner, results, node.numbers(0)[0], [node.tensor(i) for i in range(2, len(node.inputs))], [])


def _is_true(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and bool(value.all())


def _scan(node: Node) -> Any:
    """A Scan over the first axes, from their beginnings."""
    for name, attribute in node.attributes.items():
        if name not in ("body", "num_scan_inputs") and any(attribute):
            raise node.refuse(f"with {name} is not covered")
    body, given = node.attribute("body"), node.tensors()
    carried = len(given) - node.attribute("num_scan_inputs")
    inner = node.translation.inner(body)
    inner.recorder.input()  # the number of the iteration, which a Scan's body does not know
    _translate(inner, body, [value.name for value in body.input])
    results = [value.name for value in body.output]
    return _iterate(node, inner, results, node.size(given[carried], 0), given[:carried], given[carried:])


def _translate(inner: Translation, body: onnx.GraphProto, inputs: list[str]) -> None:
    for name in inputs:
        inner.values[name] = inner.recorder.input()
    inner.translate(body.node)


def _iterate(
    node: Node, inner: Translation, results: list[str], count: Number, state: list[Any], scanned: list[Any]
) -> tuple[Any, ...]:
    iterations = Iterations(inner.module(results), len(state))
    found = node.module(iterations, count, tuple(state), tuple(scanned), tuple(inner.captured))
    return tuple(node.call(operator.getitem, found, i) for i in range(len(results)))


RULES: dict[str, Rule] = {"Loop": _loop, "Scan": _scan}
