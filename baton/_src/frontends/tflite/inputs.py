"""The inputs of a model: names and types, which callers may say otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from baton._src.frontends.tflite.reader import Graph, Tensor
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.support.diagnostics import fail
from baton._src.support.suggestions import did_you_mean
from baton._src.tir.expr import Var
from baton._src.values.dtype import DataType


def input_infos(
    graph: Graph,
    shapes: Mapping[str, Sequence[Any]] | None,
    dtypes: Mapping[str, object] | None,
    open_sizes: bool,
) -> dict[str, TensorInfo]:
    """The inputs' types by name. With `open_sizes` sizes that the model leaves open are variables, else as stored.

    Errors `tflite-input`: a name that is none of an input, or a dtype that is not the model's.
    """
    tensors = [graph.tensors[place] for place in graph.inputs]
    names = [tensor.name for tensor in tensors]
    for name in (*(shapes or ()), *(dtypes or ())):
        if name not in names:
            raise fail("tflite-input", f"the model has no input {name!r}", help=did_you_mean(name, names))
    found = {}
    for place, tensor in enumerate(tensors):
        wanted = DataType((dtypes or {}).get(tensor.name, tensor.dtype))
        if wanted != tensor.dtype:
            raise fail("tflite-input", f"input {tensor.name!r} is {tensor.dtype}, not {wanted}")
        sizes = (shapes or {}).get(tensor.name)
        dims = _own(tensor, place, open_sizes) if sizes is None else tuple(sizes)
        if len(dims) != len(tensor.shape):
            raise fail("tflite-input", f"input {tensor.name!r} has {len(tensor.shape)} axes, not {len(dims)}")
        found[tensor.name] = TensorInfo(dims, tensor.dtype)
    return found


def _own(tensor: Tensor, place: int, open_sizes: bool) -> tuple[Dim, ...]:
    pairs = enumerate(zip(tensor.shape, tensor.sizes, strict=True))
    return tuple(
        Var(f"n{place}_{axis}", "int64") if open_sizes and size < 0 else stored for axis, (stored, size) in pairs
    )
