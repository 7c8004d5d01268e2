"""A small builder of ONNX graphs: values are names, and every node's name says where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
IR_VERSION = 8

Dim = int | str
"""A size, or the name of one that is known only at run time."""


class Graph:
    """Builds one graph; `op` appends a node and returns the name of its result.

    Weights come from one random stream, so a seed and a sequence of calls give the same model each time.
    """

    def __init__(self, name: str, seed: int = 0) -> None:
        self.name = name
        self.rng = np.random.default_rng(seed)
        self._scopes: list[str] = []
        self._taken: dict[str, int] = {}
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._ranges: dict[str, str] = {}
        self._renamed: dict[str, str] = {}

    @contextmanager
    def scope(self, *parts: object) -> Iterator[None]:
        """Names made inside begin with these parts: `layer1.0.conv2`."""
        self._scopes.extend(str(part) for part in parts)
        yield
        del self._scopes[-len(parts) :]

    def fresh(self, name: str) -> str:
        """`name` inside the current scope, with a number where it is taken."""
        full = ".".join([*self._scopes, name])
        count = self._taken.get(full, 0)
        self._taken[full] = count + 1
        return f"{full}_{count}" if count else full

    # ------------------------------------------------------------------------------------------- ends

    def input(
        self, name: str, shape: Sequence[Dim], dtype: int = TensorProto.FLOAT, span: tuple[int, int] | None = None
    ) -> str:
        """A graph input; `span` bounds sensible values (low, high excluded), which example inputs respect."""
        self._inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        if span is not None:
            self._ranges[name] = f"{span[0]},{span[1]}"
        return name

    def output(self, value: str, shape: Sequence[Dim], name: str, dtype: int = TensorProto.FLOAT) -> None:
        """Make `value` a graph output called `name`; the node that computes it gives it that name."""
        if value in self._renamed or all(value not in node.output for node in self._nodes):
            value = self.op("Identity", value)
        self._renamed[value] = name
        self._outputs.append(helper.make_tensor_value_info(name, dtype, shape))

    # ------------------------------------------------------------------------------------------ values

    def weight(self, name: str, value: np.ndarray) -> str:
        """An initializer."""
        full = self.fresh(name)
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(value), full))
        return full

    def normal(self, name: str, shape: Sequence[int], std: float, mean: float = 0.0) -> str:
        """A float32 initializer with normally distributed values."""
        value = self.rng.standard_normal(tuple(shape), dtype=np.float32)
        value *= np.float32(std)
        value += np.float32(mean)
        return self.weight(name, value)

    def constant(self, value: float | Sequence[int] | np.ndarray, dtype: type = np.float32) -> str:
        """A small constant, shared by all who need the same."""
        array = np.asarray(value, dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._constants:
            self._constants[key] = f"constant_{len(self._constants)}"
            self._weights.append(numpy_helper.from_array(array, self._constants[key]))
        return self._constants[key]

    def integers(self, value: int | Sequence[int]) -> str:
        """A constant of int64."""
        return self.constant(np.asarray(value), np.int64)

    # ------------------------------------------------------------------------------------------- nodes

    def op(self, kind: str, *inputs: str, label: str = "", **attributes: object) -> str:
        """Append a node with one result."""
        return self.ops(kind, *inputs, label=label, results=1, **attributes)[0]

    def ops(self, kind: str, *inputs: str, results: int, label: str = "", **attributes: object) -> list[str]:
        """Append a node with several results."""
        name = self.fresh(label or kind)
        values = [name] if results == 1 else [f"{name}.{index}" for index in range(results)]
        self._nodes.append(helper.make_node(kind, inputs, values, name, **attributes))
        return values

    def size(self, value: str, axis: int) -> str:
        """The size of one axis at run time as int64 of shape (1,), the way exporters ask for it."""
        return self.op("Gather", self.op("Shape", value), self.integers([axis]), axis=0)

    def shape(self, *dims: str | int) -> str:
        """A shape from sizes known at run time (values of shape (1,)) and known sizes."""
        parts = [dim if isinstance(dim, str) else self.integers([dim]) for dim in dims]
        return self.op("Concat", *parts, axis=0)

    # ------------------------------------------------------------------------------------------- whole

    def proto(self) -> onnx.GraphProto:
        """The graph alone, for the body of a loop."""
        for node in self._nodes:
            for values in (node.input, node.output):
                values[:] = [self._renamed.get(value, value) for value in values]
        return helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, self._weights)

    def model(self) -> onnx.ModelProto:
        """The finished model. Metadata `range.<input>` keeps the sensible values of an input."""
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(self.proto(), producer_name="baton", opset_imports=opsets, ir_version=IR_VERSION)
        helper.set_model_props(model, {f"range.{name}": text for name, text in self._ranges.items()})
        return model
