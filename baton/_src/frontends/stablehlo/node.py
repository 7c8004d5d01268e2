"""An operation as its converter sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.stablehlo.text import Operation, Region
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail

Run = Callable[[Region, Sequence[Value]], list[Value]]
"""Imports the operations of a region, given its parameters; returns its results."""


@dataclass
class Node:
    """`run` imports its regions, `call` functions of the module."""

    graph: GraphBuilder
    op: Operation
    operands: list[Value]
    run: Run
    call: Callable[[str, Sequence[Value]], list[Value]]
    makers: dict[int, Operation]
    """The operations that made values, by the values' identity."""

    @property
    def info(self) -> TensorInfo:
        """The type of the first result."""
        return self.op.types[0]

    def attr(self, name: str, default: Any = None) -> Any:
        return self.op.attrs.get(name, default)

    def shape(self, value: Value) -> tuple[Dim, ...]:
        return value.known_shape()

    def maker(self, value: Value) -> Operation | None:
        return self.makers.get(id(value))

    def fail(self, message: str, help: str | None = None) -> NoReturn:
        """Error `stablehlo-unsupported`: what this operation says is not supported."""
        raise fail("stablehlo-unsupported", message, help=help)


Converter = Callable[[Node], Value | Sequence[Value]]


def cut(node: Node, x: Value, axis: int, begin: Dim, end: Dim, step: Dim = 1) -> Value:
    """`x[..., begin:end:step, ...]`."""
    return node.graph.call("strided_slice", x, axes=(axis,), begin=(begin,), end=(end,), strides=(step,))
