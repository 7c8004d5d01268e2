"""The translation of ONNX graphs: values by name, and the view of a node that an operator's rule gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import onnx
import torch
from onnx import helper, numpy_helper

from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.tools.benchmark.torch_graph.known import UNKNOWN, Known, to_torch
from baton._src.tools.benchmark.torch_graph.recorder import Number, Recorder, Sizes, Value

SMALL = 64
"""Integer constants of at most so many elements can be sizes."""


class Translation:
    """The translation of one graph. The body of a loop has one of its own, with the surrounding graph's as `outer`."""

    def __init__(
        self,
        graph: onnx.GraphProto,
        rule: Callable[[Node], Rule | None],
        known: Mapping[str, Known],
        opset: int,
        outer: Translation | None = None,
    ) -> None:
        self.rule, self.known, self.opset, self.outer = rule, known, opset, outer
        self.recorder = Recorder()
        self.captured: dict[torch.fx.Node, torch.fx.Node] = {}
        self.values: dict[str, Value] = {
            weight.name: to_torch(numpy_helper.to_array(weight)) for weight in graph.initializer
        }

    def inner(self, body: onnx.GraphProto) -> Translation:
        """The translation of a body of this graph, still empty."""
        return Translation(body, self.rule, self.known, self.opset, self)

    def value(self, name: str) -> Value:
        """A value by its name; what a body takes from the graph around it becomes a further input of the body."""
        if name not in self.values:
            if self.outer is None:
                raise fail("bench-peer", f"PyTorch: no node gives the value {name!r}")
            found = self.outer.value(name)
            numbers = found.numbers if isinstance(found, Sizes) else (found,)
            inner = tuple(self._capture(one) if isinstance(one, torch.fx.Node) else one for one in numbers)
            self.values[name] = Sizes(inner, found.is_scalar) if isinstance(found, Sizes) else inner[0]
        return self.values[name]

    def _capture(self, outer: torch.fx.Node) -> torch.fx.Node:
        if outer not in self.captured:
            self.captured[outer] = self.recorder.input()
        return self.captured[outer]

    def module(self, outputs: list[str]) -> torch.fx.GraphModule:
        """The module that computes the values of these names."""
        return self.recorder.finish([self.value(name) for name in outputs])

    def translate(self, nodes: Iterable[onnx.NodeProto]) -> None:
        """The nodes, in their order."""
        for proto in nodes:
            self._translate(Node(self, proto))

    def _translate(self, node: Node) -> None:
        rule = self.rule(node)
        if rule is None:
            raise node.refuse("is not covered")
        found = rule(node)
        results = found if isinstance(found, tuple) else (found,)
        if any(node.outputs[len(results) :]):
            raise node.refuse(f"is covered without its outputs after the first {len(results)}")
        self.values.update({n: v for n, v in zip(node.outputs, results, strict=False) if n})


class Node:
    """A node of ONNX as its rule sees it: inputs by number, attributes by name, calls to record."""

    def __init__(self, translation: Translation, proto: onnx.NodeProto) -> None:
        self.translation, self.opset = translation, translation.opset
        self.kind = f"{proto.domain}.{proto.op_type}" if proto.domain not in ("", "ai.onnx") else proto.op_type
        self.inputs, self.outputs = list(proto.input), list(proto.output)
        self.attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        recorder = translation.recorder
        self.call, self.method, self.module, self.size = recorder.call, recorder.method, recorder.module, recorder.size

    def refuse(self, why: str) -> DiagnosticError:
        """The error for a form of an operator that the translation does not support."""
        return fail("bench-peer", f"PyTorch: {self.kind} {why}")

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute, strings as str."""
        found = self.attributes.get(name, default)
        return found.decode() if isinstance(found, bytes) else found

    def has(self, index: int) -> bool:
        """Whether an optional input is given."""
        return index < len(self.inputs) and bool(self.inputs[index])

    def value(self, index: int) -> Value:
        return self.translation.value(self.inputs[index])

    def tensor(self, index: int) -> Any:
        """An input as a tensor."""
        return self.translation.recorder.tensor(self.value(index))

    def tensors(self) -> list[Any]:
        """All inputs as tensors."""
        return [self.tensor(i) for i in range(len(self.inputs))]

    def constant(self, index: int) -> torch.Tensor | None:
        """An input whose contents are known."""
        found = self.value(index)
        return found if isinstance(found, torch.Tensor) else None

    def scalar(self, index: int) -> Any:
        """A constant of rank 0 as Python's number, as people write them (inductor's patterns expect that); else the
        tensor."""
        constant = self.constant(index)
        is_number = constant is not None and not constant.ndim and constant.dtype != torch.bool
        return constant.item() if constant is not None and is_number else self.tensor(index)

    def sizes(self, index: int) -> Sizes | None:
        """An input as sizes, if it can be: sizes, or a small integer constant."""
        found = self.value(index)
        if isinstance(found, Sizes):
            return found
        is_small = isinstance(found, torch.Tensor) and found.ndim <= 1 and found.numel() <= SMALL
        if not is_small or found.is_floating_point() or found.dtype == torch.bool:
            return None
        return Sizes(tuple(found.flatten().tolist()), found.ndim == 0)

    def numbers(self, index: int) -> tuple[Number, ...]:
        """An input that gives axes or sizes."""
        found = self.sizes(index)
        if found is None:
            raise self.refuse(f"with an input {self.inputs[index]!r} that is computed at run time is not covered")
        return found.numbers

    def integers(self, index: int) -> tuple[int, ...]:
        """`numbers`, all of them known."""
        found = self.numbers(index)
        if any(isinstance(number, torch.fx.Node) for number in found):
            raise self.refuse(f"with an input {self.inputs[index]!r} that is known at run time only is not covered")
        return tuple(number for number in found if isinstance(number, int))

    def known(self, index: int) -> Known:
        """Element type and dimensions of an input."""
        constant = self.constant(index)
        found = self.translation.known.get(self.inputs[index], UNKNOWN)
        return found if constant is None else Known(found.element, tuple(constant.shape))

    def dims(self, index: int) -> tuple[int | None, ...]:
        """The sizes of an input, None for those of the run; refuses inputs of unknown rank."""
        found = self.known(index).dims
        if found is None:
            raise self.refuse(f"of {self.inputs[index]!r} is not covered: its rank is known at run time only")
        return found

    def axes(self, name: str, index: int) -> tuple[int, ...] | None:
        """Axes that are an attribute in older opsets and an input in newer ones; None where none are given."""
        if name in self.attributes:
            return tuple(self.attributes[name])
        return self.integers(index) if self.has(index) else None


Rule = Callable[[Node], Value | tuple[Value, ...]]
"""What an operator does: from its node to its outputs."""
