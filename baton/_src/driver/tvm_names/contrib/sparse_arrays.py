"""Sparse matrices in compressed row format (CSR), as values and as te placeholders (`tvm.contrib.sparse`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from baton._src.support.dataclass import dataclass
from baton._src.support.diagnostics import DiagnosticError, fail
from baton._src.te.computation import placeholder as tensor_placeholder
from baton._src.te.tensor import Tensor
from baton._src.values.device import CPU
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray, NDArray
from baton._src.values.tensor import array as nd_array


class CSRNDArray:
    """A matrix of `shape`: row `i` has `data[k]` in column `indices[k]` for `indptr[i] <= k < indptr[i + 1]`."""

    stype = "csr"

    def __init__(self, arg1: Any, device: Any = None, shape: Sequence[int] | None = None) -> None:
        """From a dense matrix, or from (data, indices, indptr) and the shape (rows, columns).

        Error `sparse-matrix`: the parts do not fit each other.
        """
        if isinstance(arg1, tuple):
            if len(arg1) != 3 or shape is None:
                raise _wrong("a CSR matrix is made of (data, indices, indptr) and its shape, or of a dense matrix")
            data, indices, indptr = map(_numpy, arg1)
            self.shape = (int(shape[0]), int(shape[1]))
        else:
            data, indices, indptr = _compressed(_numpy(arg1))
            self.shape = (int(arg1.shape[0]), int(arg1.shape[1]))
        _check(data, indices, indptr, self.shape)
        parts = (data, indices.astype("int32"), indptr.astype("int32"))
        self.data, self.indices, self.indptr = (nd_array(part, device or CPU) for part in parts)

    @property
    def dtype(self) -> DataType:
        """The dtype of the elements."""
        return DataType(self.data.dtype)

    def numpy(self) -> AnyArray:
        """The dense matrix."""
        found = np.zeros(self.shape, self.data.numpy().dtype)
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr.numpy()))
        np.add.at(found, (rows, self.indices.numpy()), self.data.numpy())
        return found

    def asnumpy(self) -> AnyArray:
        """The dense matrix."""
        return self.numpy()


def _numpy(value: Any) -> AnyArray:
    return np.asarray(value.numpy() if isinstance(value, NDArray) else value)


def _compressed(dense: AnyArray) -> tuple[AnyArray, ...]:
    if dense.ndim != 2:
        raise _wrong(f"a CSR matrix has 2 dims, not {dense.ndim}")
    rows, columns = np.nonzero(dense)
    counts = np.bincount(rows, minlength=dense.shape[0])
    return dense[rows, columns], columns, np.concatenate([[0], np.cumsum(counts)])


def _check(data: AnyArray, indices: AnyArray, indptr: AnyArray, shape: tuple[int, int]) -> None:
    fits = data.ndim == indices.ndim == indptr.ndim == 1 and len(data) == len(indices) and len(indptr) == shape[0] + 1
    if not fits or indptr[0] != 0 or indptr[-1] != len(data) or (np.diff(indptr) < 0).any():
        raise _wrong(f"data, indices and indptr are not a CSR matrix of {shape[0]} rows")
    if len(indices) and not 0 <= indices.min() <= indices.max() < shape[1]:
        raise _wrong(f"an index is out of range for {shape[1]} columns")


def array(source_array: Any, device: Any = None, shape: Sequence[int] | None = None, stype: str = "csr") -> CSRNDArray:
    """The sparse matrix of a dense one, or of (data, indices, indptr)."""
    _require_csr(stype)
    return source_array if isinstance(source_array, CSRNDArray) else CSRNDArray(source_array, device, shape)


@dataclass(frozen=True, eq=False)
class CSRPlaceholderOp:
    """A sparse matrix from outside, as three tensors."""

    shape: tuple[Any, ...]
    dtype: DataType
    data: Tensor
    indices: Tensor
    indptr: Tensor
    stype: str = "csr"


def placeholder(
    shape: Sequence[Any],
    nonzeros: Any = None,
    dtype: Any = None,
    name: str = "placeholder",
    stype: str | None = None,
) -> CSRPlaceholderOp:
    """A sparse matrix (rows, columns) with `nonzeros` elements (default 0) that comes from outside.

    Error `sparse-matrix`: another `stype` than "csr".
    """
    _require_csr(stype or "csr")
    kind = DataType("float32" if dtype is None else dtype)
    parts = (
        tensor_placeholder((0 if nonzeros is None else nonzeros,), kind, f"{name}_data"),
        tensor_placeholder((0 if nonzeros is None else nonzeros,), "int32", f"{name}_indices"),
        tensor_placeholder((shape[0] + 1,), "int32", f"{name}_indptr"),
    )
    return CSRPlaceholderOp(tuple(shape), kind, *parts)


def _require_csr(stype: str) -> None:
    if stype != "csr":
        message = f"sparse matrices are stored as csr, not as {stype!r}"
        raise fail("sparse-matrix", message, help='stype="csr"', kind=NotImplementedError)


def _wrong(message: str) -> DiagnosticError:
    return fail("sparse-matrix", message, kind=ValueError)
