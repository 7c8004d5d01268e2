"""Data too large for a line: tensors of constants, kept in a JSON section that reads back without running anything.

    metadata = tvm.ir.load_json('{"relax.expr.Constant": [{"dtype": "float32", "shape": [2], "data": "AACAPwAAAEA="}]}')

`data` is base64 of the little-endian bytes in row-major order. TVM prints its own table of nodes there, which is read,
too.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values.dtype import DataType
from baton._src.values.tensor import NDArray

CONSTANT = "relax.expr.Constant"
MAX_BYTES = 1 << 34
"""A section claiming a larger tensor is refused instead of allocated."""


class Metadata:
    """Collects tensors while printing; each object once."""

    of_tvm: ClassVar[Callable[[str], Mapping[str, Any]]]
    """Reads a section that TVM printed; bound by `driver.wiring`."""

    def __init__(self) -> None:
        self._index: dict[int, int] = {}
        self._tensors: list[NDArray] = []

    def reference(self, tensor: NDArray) -> str:
        """The expression that stands for `tensor`."""
        index = self._index.get(id(tensor))
        if index is None:
            index = self._index[id(tensor)] = len(self._tensors)
            self._tensors.append(tensor)
        return f'metadata["{CONSTANT}"][{index}]'

    @property
    def is_empty(self) -> bool:
        return not self._tensors

    def section(self) -> str:
        """The statement that defines `metadata`."""
        entries = [_entry(t) for t in self._tensors]
        return f"metadata = tvm.ir.load_json({json.dumps({CONSTANT: entries})!r})"


def _entry(tensor: NDArray) -> dict[str, Any]:
    data = np.ascontiguousarray(tensor.data)
    little = data.astype(data.dtype.newbyteorder("<"), copy=False)
    return {
        "dtype": str(tensor.dtype),
        "shape": list(tensor.shape),
        "data": base64.b64encode(little.tobytes()).decode("ascii"),
    }


def load_metadata(text: str) -> Mapping[str, Any]:
    """The tensors of a metadata section (TVM's: its nodes); `DiagnosticError` (`script-metadata`, `json-node`) if it is
    damaged.
    """
    try:
        found = json.loads(text)
        if "nodes" in found:
            return Metadata.of_tvm(text)
        entries = found.get(CONSTANT, [])
        return {CONSTANT: [_load(e) for e in entries]}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise fail("script-metadata", f"the metadata section cannot be read: {error}") from None


def _load(entry: dict[str, Any]) -> NDArray:
    dtype = DataType(entry["dtype"])
    shape = tuple(int(d) for d in entry["shape"])
    if any(d < 0 for d in shape) or math.prod(shape) * dtype.itemsize > MAX_BYTES:
        raise ValueError(f"a tensor of shape {shape} is refused")
    data = base64.b64decode(entry["data"], validate=True)
    if len(data) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"{len(data)} bytes do not make a {dtype} tensor of shape {shape}")
    return NDArray(np.frombuffer(data, dtype.numpy.newbyteorder("<")).astype(dtype.numpy).reshape(shape))
