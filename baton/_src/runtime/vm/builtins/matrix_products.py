"""TVM's packed functions of BLAS libraries: `tvm.contrib.cblas.*` and `tvm.contrib.mkl.*`, computed by NumPy.

They are for kernels and scripts that call them by name; operators never become such calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.values.tensor import AnyArray, NDArray


def matmul(lhs: NDArray, rhs: NDArray, out: NDArray, transa: bool = False, transb: bool = False) -> None:
    """The product of two matrices, or of the matrices of two batches, either of them transposed if so wanted.

    It is summed up in the dtype of the result; a batch of one goes with each of the other.
    """
    left, right = _operand(lhs, transa), _operand(rhs, transb)
    np.matmul(left, right, out=out.data, dtype=out.data.dtype, casting="unsafe")


def _operand(matrix: NDArray, transposed: bool) -> AnyArray:
    return np.swapaxes(matrix.data, -1, -2) if transposed else matrix.data


_CALLED = {
    "cblas": ("matmul", "matmul_no_thread", "batch_matmul", "batch_matmul_iterative"),
    "mkl": ("matmul", "matmul_u8s8s32", "batch_matmul", "batch_matmul_iterative"),
}

TABLE: Mapping[str, Callable[..., Any]] = {
    f"tvm.contrib.{library}.{name}": matmul for library, called in _CALLED.items() for name in called
}
