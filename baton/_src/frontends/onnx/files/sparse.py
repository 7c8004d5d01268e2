"""Sparse tensors of ONNX models (values and their positions), which become dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from baton._src.frontends.onnx.files.model_folder import ModelFolder
from baton._src.frontends.onnx.files.reader import MAX_TENSOR_BYTES, read_tensor
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray


def read_sparse(sparse: Any, folder: ModelFolder | None) -> AnyArray:
    """The contents of a `SparseTensorProto`. Its indices count elements, (n,), or name each axis, (n, rank).

    `DiagnosticError`: as of `read_tensor`, and `onnx-file` for indices that do not fit.
    """
    name, shape = sparse.values.name or "a tensor", tuple(sparse.dims)
    values, indices = read_tensor(sparse.values, folder), read_tensor(sparse.indices, folder)
    count = int(np.prod(shape, dtype=object))
    if any(d < 0 for d in shape) or count * values.dtype.itemsize > MAX_TENSOR_BYTES:
        raise fail("onnx-file", f"the sparse tensor {name!r} has the impossible shape {shape}")
    if indices.dtype != np.int64 or indices.shape not in ((values.size,), (values.size, len(shape))):
        held = f"indices {indices.dtype} {indices.shape} for {values.size} values of the shape {shape}"
        raise fail(
            "onnx-file", f"the sparse tensor {name!r} has {held}", help="one for each value, or one for each axis"
        )
    limits = shape if indices.ndim == 2 else (count,)
    if (indices < 0).any() or (indices >= np.array(limits)).any():
        raise fail("onnx-file", f"the sparse tensor {name!r} has indices outside its shape {shape}")
    found: AnyArray = np.zeros(shape, values.dtype)
    places = np.ravel_multi_index(tuple(indices.T), shape) if indices.ndim == 2 else indices
    found.reshape(-1)[places] = values.reshape(-1)
    return found
