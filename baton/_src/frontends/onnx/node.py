"""One ONNX node as a converter sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

from baton._src.frontends.graph_builder.graph import GraphBuilder
from baton._src.frontends.graph_builder.operands import sources_of
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.onnx.files.reader import WITHOUT_STRINGS
from baton._src.frontends.onnx.strings import ModelStrings, string_constant
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import Diagnostic, DiagnosticError
from baton._src.values.dtype import INT64
from baton._src.values.tensor import AnyArray

NOTHING = Value(TensorInfo())
"""An optional without a value. A node that uses it sees None: an operand that is left out."""


class DynamicValueError(DiagnosticError):
    """Something must be known when importing but is computed at run time; `inputs` of the model decide it."""

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic], inputs: Sequence[str]) -> None:
        super().__init__(diagnostics)
        self.inputs = tuple(inputs)


@dataclass(slots=True)
class OnnxNode:
    """The operator, its operands (None where left out), its attributes as Python values (subgraphs as GraphProto)."""

    op_type: str
    name: str
    opset: int
    inputs: list[Value | None]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    graph: GraphBuilder
    run_graph: Callable[[Any, dict[str, Value]], list[Value]]
    """Import a subgraph inline, with names bound: `run_graph(graph_proto, {name: value}) -> outputs`."""
    known_strings: ModelStrings | None = None
    """Where strings are numbered; None where they are refused."""

    def __getitem__(self, index: int) -> Value:
        """Operand `index`, which must be there."""
        found = self.optional(index)
        if found is None:
            self.fail(f"input {index} is missing", help="the operator needs it: see ONNX's table of operators")
        return found

    def optional(self, index: int) -> Value | None:
        return self.inputs[index] if index < len(self.inputs) else None

    def attr(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)

    def needed(self, name: str) -> Any:
        """An attribute that has no default."""
        if name not in self.attributes:
            self.fail(f"attribute {name!r} is missing", help="the operator needs it: see ONNX's table of operators")
        return self.attributes[name]

    @property
    def given(self) -> list[Value]:
        """The operands that are there."""
        return [v for v in self.inputs if v is not None]

    def constant(self, index: int, what: str) -> AnyArray | None:
        """Operand `index` as a constant array; None if left out; an error if it is computed at run time."""
        found = self.optional(index)
        if found is None:
            return None
        if found.array is None:
            self.fail_dynamic(f"{what} must be a constant here; it is computed at run time", found)
        return found.array

    def strings(self, content: Any) -> Value:
        """A constant of strings: their numbers."""
        if self.known_strings is None:
            self.fail("strings are not supported", code="onnx-dtype", help=WITHOUT_STRINGS)
        return string_constant(self.graph, self.known_strings, content)

    def constant_tensor(self, content: AnyArray) -> Value:
        """A constant from an attribute that is a tensor, of numbers or of strings."""
        return self.strings(content) if content.dtype.hasobject else self.graph.constant(content)

    def ints(self, name: str, index: int | None = None) -> tuple[int, ...] | None:
        """Integers given as attribute `name` (older opsets) or as constant operand `index` (newer ones)."""
        if name in self.attributes:
            return tuple(int(v) for v in self.attributes[name])
        if index is None:
            return None
        array = self.constant(index, name)
        return None if array is None else tuple(int(v) for v in array.reshape(-1))

    def of_length(self, vector: Value, count: int) -> Value:
        """A vector which must have `count` elements: where its length is open, a run checks that."""
        is_open = vector.rank == 1 and (vector.shape is None or not isinstance(vector.shape[0], int))
        return self.graph.of_shape(vector, (count,)) if is_open else vector

    def sizes(self, index: int, what: str, count: int | None = None) -> list[Dim]:
        """Operand `index` as a list of sizes: constant, symbolic, or named here and read at run time. `count` of them,
        if the node says so: many exporters leave the lengths of shapes open."""
        given = self[index] if count is None else self.of_length(self[index], count)
        if given.dtype.is_float:  # as OneHot allows for its depth, and opset 1 demands of Split and Tile
            given = self.graph.cast(given, INT64)
        contents = self.graph.numbers(given)
        if contents is None:
            self.fail_dynamic(f"{what} depends on values known only at run time", self[index])
        return list(contents.reshape(-1))

    def size(self, index: int, what: str) -> Dim:
        """The one size that operand `index` holds."""
        found = self.sizes(index, what, 1)
        if len(found) != 1:
            self.fail(f"{what} must be one number, got {len(found)}", code="op-shape")
        return found[0]

    def by_channel(self, x: Value, numbers: Value) -> Value:
        """A vector of one number for each channel of `x` (axis 1), in a shape that goes along with `x`."""
        return self.graph.reshape(self.of_channels(x, numbers), (1, -1) + (1,) * (x.rank - 2))

    def of_channels(self, x: Value, numbers: Value) -> Value:
        """A vector, checked to have one number for each channel of `x` (axis 1)."""
        if numbers.rank not in (-1, 1):
            self.fail(f"it has {numbers}, which must be one number for each channel", code="op-shape")
        channels = None if x.shape is None else x.shape[1]
        count = numbers.shape[0] if numbers.shape else None
        if isinstance(channels, int) and isinstance(count, int) and channels != count:
            self.fail(f"it has {count} numbers for {channels} channels", code="op-shape")
        if channels is not None and numbers.rank == 1:
            return self.graph.of_shape(numbers, (channels,))
        return numbers

    def rank(self, index: int = 0) -> int:
        """The rank of an operand, which must be known."""
        found = self[index].rank
        if found < 0:
            self.fail(f"the rank of input {index} must be known", code="onnx-dynamic")
        return found

    def axis(self, default: int, index: int = 0, name: str = "axis") -> int:
        """An axis attribute counted from the front."""
        return self.place(int(self.attr(name, default)), self.rank(index), name)

    def place(self, axis: int, rank: int, name: str = "axis") -> int:
        """An axis of a tensor of this rank, counted from the front."""
        if not -rank <= axis < max(rank, 1):
            self.fail(f"{name} {axis} is out of range for rank {rank}", help=f"use -{rank} to {rank - 1}")
        return axis + rank if axis < 0 else axis

    def fail(self, message: str, *, code: str = "onnx-node", help: str | None = None) -> NoReturn:
        """Refuse the node. With the code `onnx-dynamic`, what it depends on is what its operands depend on."""
        if code == "onnx-dynamic":
            self.fail_dynamic(message, *self.given)
        raise DiagnosticError(Diagnostic(code, f"{self.title}: {message}", help=help))

    def fail_dynamic(self, message: str, *operands: Value) -> NoReturn:
        """Refuse the node because the value of an operand is not known when importing; says which inputs decide it."""
        names = sorted(sources_of(operands))
        help = None
        if names:
            help = f"bind what decides it when compiling: params={{{', '.join(f'{n!r}: array' for n in names)}}}"
        raise DynamicValueError(Diagnostic("onnx-dynamic", f"{self.title}: {message}", help=help), names)

    @property
    def title(self) -> str:
        return f"{self.op_type} node {self.name!r}"


Converter = Callable[[OnnxNode], Value | Sequence[Value]]
