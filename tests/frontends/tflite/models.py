"""Writes TensorFlow Lite models and compares their results with those of LiteRT, which wrote the format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import baton
from baton import relay
from baton._src.support.dataclass import dataclass
from baton.relax.frontend.tflite import from_tflite
from baton.runtime.vm import VirtualMachine

schema: Any = pytest.importorskip("ai_edge_litert.schema_py_generated")
flatbuffers: Any = pytest.importorskip("flatbuffers")
interpreter: Any = pytest.importorskip("ai_edge_litert.interpreter")

RNG = np.random.default_rng(0)
TYPES = {"float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "int8": 9}


@dataclass
class Tensor:
    """`scale`, a number or one for each index of `axis`, makes integers stand for real numbers; `open` axes are -1."""

    shape: Sequence[int]
    dtype: str = "float32"
    data: Any = None
    scale: Any = None
    zero: Any = 0
    axis: int = 0
    open: Sequence[int] = ()
    variable: bool = False
    kind: int | None = None
    """The number of a type, where it is not that of the dtype."""


@dataclass
class Op:
    """Operands and results are names of tensors, separated by blanks; `_` is an operand left out."""

    name: str
    inputs: str
    outputs: str
    options: str = ""
    fields: Mapping[str, Any] | None = None
    custom: bytes = b""
    more: bool = False
    """Whether the options are of the kinds that the format added later."""
    version: int = 1


Graph = tuple[Mapping[str, Tensor], Sequence[Op], str, str]
"""Tensors by name, operators, inputs and outputs."""


def weights(array: Any, **more: Any) -> Tensor:
    """A constant."""
    found = np.asarray(array)
    return Tensor(found.shape, found.dtype.name, found, **more)


def ints(*numbers: int) -> Tensor:
    """A constant vector of int32."""
    return weights(np.array(numbers, np.int32))


def model(*graphs: Graph) -> bytes:
    """The file with these graphs, the program first."""
    made = schema.ModelT()
    made.version, made.description, made.buffers = 3, "written by a test", [schema.BufferT()]
    made.operatorCodes, made.subgraphs = [], []
    for number, (tensors, ops, inputs, outputs) in enumerate(graphs):
        places = {name: place for place, name in enumerate(tensors)} | {"_": -1}
        graph = schema.SubGraphT()
        graph.name = f"graph{number}"
        graph.tensors = [_tensor(made, name, tensor) for name, tensor in tensors.items()]
        graph.operators = [_operator(made, op, places) for op in ops]
        graph.inputs = [places[name] for name in inputs.split()]
        graph.outputs = [places[name] for name in outputs.split()]
        made.subgraphs.append(graph)
    builder = flatbuffers.Builder(1024)
    builder.Finish(made.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _tensor(made: Any, name: str, tensor: Tensor) -> Any:
    found = schema.TensorT()
    found.name, found.shape, found.isVariable = name, list(tensor.shape), tensor.variable
    found.type = TYPES[tensor.dtype] if tensor.kind is None else tensor.kind
    if tensor.open:
        found.shapeSignature = [-1 if axis in tensor.open else size for axis, size in enumerate(tensor.shape)]
    if tensor.data is not None:
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(np.ascontiguousarray(tensor.data).tobytes(), np.uint8)
        made.buffers.append(buffer)
        found.buffer = len(made.buffers) - 1
    if tensor.scale is not None:
        found.quantization = schema.QuantizationParametersT()
        scale = np.atleast_1d(np.array(tensor.scale, np.float32))
        found.quantization.scale = scale
        found.quantization.zeroPoint = np.broadcast_to(np.array(tensor.zero, np.int64), scale.shape).copy()
        found.quantization.quantizedDimension = tensor.axis
    return found


def _operator(made: Any, op: Op, places: Mapping[str, int]) -> Any:
    code = schema.OperatorCodeT()
    number = getattr(schema.BuiltinOperator, op.name, schema.BuiltinOperator.CUSTOM)
    code.builtinCode, code.deprecatedBuiltinCode, code.version = number, min(number, 127), op.version
    if number == schema.BuiltinOperator.CUSTOM:
        code.customCode = op.name
    made.operatorCodes.append(code)
    found = schema.OperatorT()
    found.opcodeIndex = len(made.operatorCodes) - 1
    found.inputs = [places[name] for name in op.inputs.split()]
    found.outputs = [places[name] for name in op.outputs.split()]
    if op.options:
        options = getattr(schema, f"{op.options}T")()
        for name, value in (op.fields or {}).items():
            assert hasattr(options, name), name
            setattr(options, name, value)
        if op.more:
            found.builtinOptions2Type, found.builtinOptions2 = getattr(schema.BuiltinOptions2, op.options), options
        else:
            found.builtinOptionsType, found.builtinOptions = getattr(schema.BuiltinOptions, op.options), options
    if op.custom:
        found.customOptions = list(op.custom)
    return found


def single(name: str, tensors: Mapping[str, Tensor], options: str = "", version: int = 1, **fields: Any) -> bytes:
    """One operator: tensors called `y...` are its results, those without data its inputs."""
    results = [t for t in tensors if t.startswith("y")]
    operands = [t for t in tensors if t not in results]
    given = [t for t in operands if tensors[t].data is None and not tensors[t].variable and t != "_"]
    op = Op(name, " ".join(operands), " ".join(results), options, fields, version=version)
    return model(({k: v for k, v in tensors.items() if k != "_"}, [op], " ".join(given), " ".join(results)))


def litert(content: bytes, inputs: Sequence[Any]) -> list[Any]:
    """What LiteRT computes."""
    running = interpreter.Interpreter(model_content=content, num_threads=1)
    details = running.get_input_details()
    for detail, value in zip(details, inputs, strict=True):
        if list(detail["shape"]) != list(value.shape):
            running.resize_tensor_input(detail["index"], value.shape)
    running.allocate_tensors()
    for detail, value in zip(details, inputs, strict=True):
        running.set_tensor(detail["index"], value)
    running.invoke()
    return [running.get_tensor(detail["index"]) for detail in running.get_output_details()]


def by_relax(content: bytes, inputs: Sequence[Any]) -> list[Any]:
    """What the model gives as a Relax program."""
    compiled = baton.compile(from_tflite(content))
    names = [value.name for value in compiled.inputs]
    return [np.asarray(value) for value in compiled.run(dict(zip(names, inputs, strict=True)))]


def by_relay(content: bytes, inputs: Sequence[Any]) -> list[Any]:
    """What it gives as a Relay program, with inputs of these shapes."""
    program, _ = relay.frontend.from_tflite(content)
    names = [param.name_hint for param in program["main"].params]
    shapes = {name: value.shape for name, value in zip(names, inputs, strict=True)}
    program, _ = relay.frontend.from_tflite(content, shape_dict=shapes)
    machine = VirtualMachine(relay.vm.compile(program, target="llvm"), baton.cpu())
    found = machine.invoke("main", *inputs)
    return [found.numpy()] if isinstance(found, baton.nd.NDArray) else [field.numpy() for field in found]


def agree(content: bytes, *inputs: Any, steps: int = 0, rtol: float = 1e-5, atol: float = 1e-5) -> None:
    """Both programs give what LiteRT gives; integers may be `steps` apart, as roundings of nearly the same number."""
    wanted = litert(content, inputs)
    for compute in (by_relax, by_relay):
        found = compute(content, inputs)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            if one.dtype.kind == "f":
                np.testing.assert_allclose(one, other, rtol=rtol, atol=atol)
            else:
                apart = np.abs(one.astype(np.int64) - other.astype(np.int64))
                assert apart.max(initial=0) <= steps
                assert apart.size == 0 or (apart > 0).mean() <= 0.2


def normal(*shape: int) -> Any:
    """Random float32."""
    return RNG.standard_normal(shape).astype(np.float32)


def whole(low: int, high: int, *shape: int, dtype: str = "int32") -> Any:
    """Random integers from `low` to before `high`."""
    return RNG.integers(low, high, shape).astype(dtype)
