"""An operator as its converter sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.tflite.reader import Operator, Quantisation, Tensor
from baton._src.ir.tensor_info import Dim
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.dtype import FLOAT32, INT32

ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
"""What may be fused into an operator, by number."""

BOUNDS = {"RELU_N1_TO_1": (-1.0, 1.0), "RELU6": (0.0, 6.0), "RELU_0_TO_1": (0.0, 1.0)}


@dataclass
class Node:
    """`operands` and `tensors` are None where an operand is left out; `run` imports another graph of the model."""

    graph: GraphBuilder
    op: Operator
    operands: list[Value | None]
    tensors: list[Tensor | None]
    results: list[Tensor]
    run: Callable[[int, Sequence[Value]], list[Value]]

    def __getitem__(self, index: int) -> Value:
        """Operand `index`, which must be there."""
        found = self.optional(index)
        if found is None:
            self.fail(f"operand {index} is missing")
        return found

    def optional(self, index: int) -> Value | None:
        return self.operands[index] if index < len(self.operands) else None

    def option(self, name: str, default: Any = None) -> Any:
        """A field of the operator's options. An operator without options has the defaults of the format."""
        return self.op.options.get(name, default)

    def fail(self, message: str, help: str | None = None) -> NoReturn:
        """Error `tflite-unsupported`: what this operator says is not supported."""
        raise fail("tflite-unsupported", message, help=help)

    # What is known when importing.

    def shape(self, index: int = 0) -> tuple[Dim, ...]:
        """The shape of an operand, whose rank must be known."""
        found = self[index].shape
        if found is None:
            self.fail(f"the shape of operand {index} must be known")
        return found

    def axis(self, axis: int, index: int = 0) -> int:
        """An axis of an operand, counted from the front."""
        rank = len(self.shape(index))
        if not -rank <= axis < rank:
            self.fail(f"axis {axis} is none of an operand with {rank} axes")
        return axis % rank

    def numbers(self, index: int, what: str) -> list[Dim]:
        """The elements of an operand of integers: constants, or names for what a run tells."""
        found = self.graph.numbers(self[index])
        if found is None:
            self.fail(f"{what} must be a vector of known length")
        return list(found.reshape(-1))

    def constants(self, index: int, what: str) -> list[int]:
        """The elements of an operand of integers, which must be constant."""
        found = self.numbers(index, what)
        known = [n for n in found if isinstance(n, int)]
        if len(known) < len(found):
            self.fail(f"{what} must be constant; here a run computes it")
        return known

    # What quantised numbers stand for.

    def quantised(self, index: int) -> Quantisation | None:
        """How an operand's integers are to be read; None: as they are."""
        tensor = self.tensors[index] if index < len(self.tensors) else None
        return None if tensor is None or not tensor.dtype.is_int else tensor.quantisation

    def real(self, index: int = 0) -> Value:
        """An operand as float32, whatever stands for it."""
        value, found = self[index], self.quantised(index)
        return value if found is None else dequantised(self.graph, value, found)

    def centred(self, index: int) -> Value:
        """A quantised operand without its zero point, in int32."""
        value, found = self.graph.cast(self[index], INT32), self.quantised(index)
        if found is None or not found.zero_point.any():
            return value
        zero = found.zero_point.astype(np.int32)
        return self.graph.call("subtract", value, self.graph.constant(_along(zero, found.axis, value.rank)))

    def stored(self, value: Value, place: int = 0) -> Value:
        """A real value as the result `place` of the operator holds it."""
        tensor = self.results[place]
        if tensor.quantisation is not None and tensor.dtype.is_int and value.dtype.is_float:
            return quantised(self.graph, value, tensor.quantisation, tensor)
        return self.graph.cast(value, tensor.dtype)

    def moved(self, value: Value, index: int = 0, place: int = 0) -> Value:
        """A result made of elements of operand `index`: the integers move, unless they are to be read otherwise."""
        if same_scale(self.quantised(index), self.results[place].quantisation) or not value.dtype.is_int:
            return value
        return self.stored(dequantised(self.graph, value, _needed(self, index)), place)

    def activated(self, value: Value) -> Value:
        """A real value after the activation fused into the operator."""
        number = int(self.option("FusedActivationFunction", 0))
        if number >= len(ACTIVATIONS):
            self.fail(f"its activation function has the number {number}, which is unknown")
        return activation(self, ACTIVATIONS[number], value)


Converter = Callable[[Node], Value | Sequence[Value]]


def activation(node: Node, name: str, x: Value) -> Value:
    """An activation function by its name in the format."""
    if name == "NONE":
        return x
    if name in BOUNDS:
        low, high = BOUNDS[name]
        return node.graph.call("clip", x, min=low, max=high)
    if name not in ("RELU", "TANH"):
        node.fail(f"the activation function {name} is not supported")
    if x.dtype.is_int and name == "RELU":
        return node.graph.call("maximum", x, node.graph.constant(0, x.dtype))
    return node.graph.call("nn.relu" if name == "RELU" else "tanh", x)


def _needed(node: Node, index: int) -> Quantisation:
    found = node.quantised(index)
    if found is None:
        node.fail(f"its result is quantised, operand {index} is not")
    return found


def same_scale(one: Quantisation | None, other: Quantisation | None) -> bool:
    """Whether equal integers stand for equal numbers."""
    if one is None or other is None:
        return one is other
    return (
        one.axis == other.axis
        and np.array_equal(one.scale, other.scale)
        and np.array_equal(one.zero_point, other.zero_point)
    )


def _along(numbers: Any, axis: int, rank: int) -> Any:
    """A number as a scalar, a vector so that it runs along `axis`."""
    if numbers.size == 1:
        return numbers.reshape(())
    return numbers.reshape([-1 if place == axis else 1 for place in range(rank)])


def _parameters(g: GraphBuilder, found: Quantisation) -> tuple[Value, Value, int]:
    """Scale, zero point and axis as operators take them."""
    shape = () if found.scale.size == 1 else found.scale.shape
    scale, zero = g.constant(found.scale.reshape(shape)), g.constant(found.zero_point.reshape(shape).astype(np.int32))
    return scale, zero, found.axis if shape else -1


def dequantised(g: GraphBuilder, value: Value, found: Quantisation) -> Value:
    """(q - zero_point) * scale in float32."""
    scale, zero, axis = _parameters(g, found)
    return g.call("dequantize", value, scale, zero, axis=axis, out_dtype=FLOAT32)


def quantised(g: GraphBuilder, value: Value, found: Quantisation, tensor: Tensor) -> Value:
    """round(x / scale) + zero_point, saturated."""
    scale, zero, axis = _parameters(g, found)
    return g.call("quantize", value, scale, zero, axis=axis, out_dtype=tensor.dtype)
