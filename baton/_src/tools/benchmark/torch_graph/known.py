"""What ONNX's own shape inference knows of a model's values: element types and dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray

LARGE_BYTES = 1 << 12
"""Weights of more bytes are shown to the inference as inputs: no shape follows from their contents."""


@dataclass(frozen=True, slots=True)
class Known:
    """A value's element type (`TensorProto.FLOAT`, ...) and its sizes, None where the size is known at run time only.
    `dims` is None where not even their number is known."""

    element: int
    dims: tuple[int | None, ...] | None


UNKNOWN = Known(TensorProto.UNDEFINED, None)


def known_values(model: onnx.ModelProto) -> dict[str, Known]:
    """By name, also of the values in the bodies of loops."""
    inferred = onnx.shape_inference.infer_shapes(_without_large_weights(model), data_prop=True)
    return {value.name: _known(value.type.tensor_type) for value in _declared(inferred.graph)}


def torch_dtype(element: int) -> torch.dtype:
    """PyTorch's name of an element type of ONNX."""
    if element == TensorProto.BFLOAT16:
        return torch.bfloat16
    try:
        return torch.from_numpy(np.zeros(1, helper.tensor_dtype_to_np_dtype(element))).dtype
    except (TypeError, KeyError) as error:  # of bytes and strings; of values whose type the inference does not know
        name = TensorProto.DataType.Name(element)
        raise fail("bench-peer", f"PyTorch: the element type {name} is not covered") from error


def to_torch(array: AnyArray) -> torch.Tensor:
    """An array as a tensor with memory of its own; bfloat16 is not a built-in NumPy type, so its bits are copied."""
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    try:
        return torch.from_numpy(array.copy())
    except TypeError as error:
        raise fail("bench-peer", f"PyTorch: the element type {array.dtype} is not covered") from error


def to_numpy(tensor: torch.Tensor) -> AnyArray:
    """A tensor as an array on the same memory; bfloat16, which NumPy lacks, is converted to float32."""
    found: AnyArray = (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
    return found


def _without_large_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    graph = onnx.GraphProto(name=model.graph.name, node=model.graph.node, value_info=model.graph.value_info)
    graph.output.extend(model.graph.output)
    inputs = {value.name: value for value in model.graph.input}
    for weight in model.graph.initializer:
        if len(weight.raw_data) <= LARGE_BYTES and not weight.external_data:
            graph.initializer.append(weight)
        else:
            inputs[weight.name] = helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims)
    graph.input.extend(inputs.values())
    return onnx.ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, graph=graph)


def _declared(graph: onnx.GraphProto) -> Iterator[onnx.ValueInfoProto]:
    yield from (*graph.input, *graph.value_info, *graph.output)
    for weight in graph.initializer:
        yield helper.make_tensor_value_info(weight.name, weight.data_type, weight.dims)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _declared(attribute.g)


def _known(tensor: Any) -> Known:
    if not tensor.HasField("shape"):
        return Known(tensor.elem_type, None)
    return Known(tensor.elem_type, tuple(d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim))
