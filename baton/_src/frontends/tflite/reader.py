"""TensorFlow Lite files: flatbuffers, read with the package `tflite`.

Operators become `Operator`s whose options are read by name; tensors keep their contents as views of the file.
"""

from __future__ import annotations

import importlib
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

IDENTIFIER = b"TFL3"
"""Bytes 4 to 7 of a file."""

DTYPES = {
    "FLOAT32": "float32", "FLOAT16": "float16", "FLOAT64": "float64", "BFLOAT16": "bfloat16", "INT8": "int8",
    "INT16": "int16", "INT32": "int32", "INT64": "int64", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32",
    "UINT64": "uint64", "BOOL": "bool", "INT4": "int8",
}  # fmt: skip
"""The dtype of each kind of tensor that is supported. Numbers of 4 bits are read as bytes."""


@dataclass(frozen=True)
class Quantisation:
    """Integers q stand for (q - zero_point) * scale; with several scales, one for each index of `axis`."""

    scale: AnyArray
    zero_point: AnyArray
    axis: int


@dataclass(frozen=True)
class Tensor:
    """`shape` is that of the file, `sizes` the same with -1 where any size may be given; None: nothing is known."""

    name: str
    kind: str
    shape: tuple[int, ...]
    sizes: tuple[int, ...]
    data: AnyArray | None
    quantisation: Quantisation | None
    is_variable: bool

    @property
    def dtype(self) -> DataType:
        """Error `tflite-dtype`: of the kinds without numbers."""
        if self.kind not in DTYPES:
            raise fail("tflite-dtype", f"tensor {self.name!r} is of type {self.kind}, which is not supported")
        return DataType(DTYPES[self.kind])


@dataclass(frozen=True)
class Operator:
    """`inputs` and `outputs` number tensors; -1 is an operand that is left out."""

    name: str
    index: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options: Mapping[str, Any]
    custom: bytes
    """The options of a custom operator, as they are in the file."""


@dataclass(frozen=True)
class Graph:
    """A subgraph: tensors, and operators in the order of their execution."""

    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


def tflite_library() -> Any:
    """The `tflite` package, imported on first use; a `DiagnosticError` says how to get it."""
    try:
        return importlib.import_module("tflite")
    except ImportError as missing:
        message = "reading TensorFlow Lite models needs the tflite package"
        raise fail("tflite-missing", message, help='pip install "baton[tflite]"') from missing


def read_model(model: object) -> tuple[Graph, ...]:
    """The graphs of a model; the first is the program. It is a path, bytes, or a `tflite.Model`.

    Errors: `tflite-missing` without the package `tflite`, `tflite-file` for anything that is no such file.
    """
    tflite = tflite_library()
    if isinstance(model, (str, os.PathLike)):
        model = _contents(Path(model))
    if isinstance(model, (bytes, bytearray, memoryview)):
        data = bytes(model)
        if data[4:8] != IDENTIFIER:
            raise fail("tflite-file", "this is no TensorFlow Lite model", help="such files have `TFL3` at byte 4")
        model = tflite.Model.GetRootAs(data, 0)
    if not hasattr(model, "SubgraphsLength"):
        raise fail("tflite-file", f"a TensorFlow Lite model is needed, got a {type(model).__name__}", kind=TypeError)
    try:
        return _Reader(tflite, model).graphs()
    except DiagnosticError:
        raise
    except (struct.error, IndexError, ValueError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise fail("tflite-file", f"the model is damaged: {error}", help="the file may be cut short") from error


def _contents(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise fail("tflite-file", f"{path} cannot be read: {error.strerror or error}") from error


class _Reader:
    def __init__(self, tflite: Any, model: Any) -> None:
        self.tflite, self.model = tflite, model
        self.kinds = _names(tflite.TensorType)
        self.options, self.more_options = _names(tflite.BuiltinOptions), _names(tflite.BuiltinOptions2)
        builtins = _names(tflite.BuiltinOperator)
        self.operators = []
        for code in _each(model.OperatorCodes, model.OperatorCodesLength()):
            number = max(code.DeprecatedBuiltinCode(), code.BuiltinCode())  # large numbers have a field of their own
            name = builtins.get(number, f"operator {number}")
            self.operators.append(_text(code.CustomCode()) if name == "CUSTOM" else name)

    def graphs(self) -> tuple[Graph, ...]:
        found = tuple(map(self._graph, _each(self.model.Subgraphs, self.model.SubgraphsLength())))
        if not found:
            raise fail("tflite-file", "the model has no graph")
        return found

    def _graph(self, graph: Any) -> Graph:
        tensors = tuple(map(self._tensor, _each(graph.Tensors, graph.TensorsLength())))
        operators = enumerate(_each(graph.Operators, graph.OperatorsLength()))
        return Graph(
            _text(graph.Name()) or "main", tensors, tuple(self._operator(k, op) for k, op in operators),
            _ints(graph.InputsAsNumpy()), _ints(graph.OutputsAsNumpy()),
        )  # fmt: skip

    def _operator(self, index: int, op: Any) -> Operator:
        name = self.operators[op.OpcodeIndex()]
        options = self._options(self.options, op.BuiltinOptionsType(), op.BuiltinOptions())
        options |= self._options(self.more_options, op.BuiltinOptions2Type(), op.BuiltinOptions2())
        custom = op.CustomOptionsAsNumpy() if op.CustomOptionsLength() else np.zeros(0, np.uint8)
        return Operator(
            name, index, _ints(op.InputsAsNumpy()), _ints(op.OutputsAsNumpy()), options, custom.tobytes()
        )  # fmt: skip

    def _options(self, kinds: Mapping[int, str], kind: int, table: Any) -> dict[str, Any]:
        """The fields of a table of options, of which there is one kind for each group of operators."""
        if table is None or kinds.get(kind, "NONE") == "NONE":
            return {}
        made = getattr(self.tflite, kinds[kind])()
        made.Init(table.Bytes, table.Pos)
        return _fields(made)

    def _tensor(self, tensor: Any) -> Tensor:
        name, kind = _text(tensor.Name()), self.kinds.get(tensor.Type(), f"type {tensor.Type()}")
        shape = _ints(tensor.ShapeAsNumpy())
        sizes = _ints(tensor.ShapeSignatureAsNumpy()) if tensor.ShapeSignatureLength() else shape
        if tensor.Sparsity() is not None:
            raise fail("tflite-unsupported", f"tensor {name!r} is stored sparsely", help="convert it without pruning")
        return Tensor(
            name, kind, shape, sizes, self._data(name, kind, shape, tensor.Buffer()), _quantisation(tensor),
            bool(tensor.IsVariable()),
        )  # fmt: skip

    def _data(self, name: str, kind: str, shape: tuple[int, ...], index: int) -> AnyArray | None:
        """The contents of a constant; buffer 0 and empty ones have none."""
        buffer = self.model.Buffers(index)
        if index == 0 or buffer is None or not buffer.DataLength() or kind not in DTYPES:
            return None
        data = buffer.DataAsNumpy()
        if kind == "INT4":
            return _nibbles(data)[: int(np.prod(shape))].reshape(shape)
        dtype = DataType(DTYPES[kind]).numpy
        wanted = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if data.nbytes != wanted:
            raise fail("tflite-file", f"tensor {name!r} of shape {list(shape)} has {data.nbytes} bytes, not {wanted}")
        found: AnyArray = data.view(dtype).reshape(shape)
        return found


def _quantisation(tensor: Any) -> Quantisation | None:
    stored = tensor.Quantization()
    if stored is None or not stored.ScaleLength():
        return None
    scale = np.array(stored.ScaleAsNumpy(), np.float32)
    zero = np.zeros(len(scale), np.int64)
    if stored.ZeroPointLength():
        zero = np.broadcast_to(np.array(stored.ZeroPointAsNumpy(), np.int64), scale.shape)
    return Quantisation(scale, zero, int(stored.QuantizedDimension()))


def _nibbles(data: AnyArray) -> AnyArray:
    """Signed numbers of 4 bits, the low half of a byte first."""
    halves = np.stack([data & 15, data >> 4], axis=-1).reshape(-1).astype(np.int8)
    return ((halves ^ 8) - 8).astype(np.int8)


def _fields(options: Any) -> dict[str, Any]:
    """What a table holds, by field: numbers, and vectors as tuples."""
    found: dict[str, Any] = {}
    for name in dir(type(options)):
        if name.startswith(("_", "Init", "GetRootAs")) or name.endswith(("Length", "IsNone", "BufferHasIdentifier")):
            continue
        if name.endswith("AsNumpy"):
            vector = getattr(options, name)()
            found[name.removesuffix("AsNumpy")] = tuple(vector.tolist()) if isinstance(vector, np.ndarray) else ()
        elif not hasattr(type(options), f"{name}AsNumpy"):
            value = getattr(options, name)()
            found[name] = _text(value) if isinstance(value, bytes) else value
    return found


def _names(enum: type) -> dict[int, str]:
    """The names of an enumeration's numbers."""
    return {value: name for name, value in vars(enum).items() if isinstance(value, int)}


def _each(read: Callable[[int], Any], count: int) -> list[Any]:
    return [read(k) for k in range(count)]


def _ints(vector: Sequence[int] | AnyArray | int) -> tuple[int, ...]:
    """A vector of integers, which is 0 where it is absent."""
    return tuple(int(v) for v in vector) if isinstance(vector, np.ndarray) else ()


def _text(text: bytes | None) -> str:
    return text.decode() if text else ""
