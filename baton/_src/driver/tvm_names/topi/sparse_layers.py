"""`tvm.topi.nn`: layers with sparse matrices, each given as its elements, their columns and where rows begin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from baton._src.driver.tvm_names.topi.apply import call
from baton._src.driver.tvm_names.topi.tagging import with_tag
from baton._src.te.tensor import Tensor


def sparse_dense(
    dense_data: Tensor, sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor, sparse_lhs: bool = False
) -> Any:
    """dense sparseᵀ, or with `sparse_lhs` sparse denseᵀ."""
    found = call("nn.sparse_dense", dense_data, sparse_data, sparse_indices, sparse_indptr, sparse_lhs=sparse_lhs)
    kind = "bsrmm" if sparse_data.ndim == 3 else "csrmm"
    return with_tag(found, f"sparse_dense_sp_{'lhs' if sparse_lhs else 'rhs'}_{kind}")


def sparse_dense_sp_rhs(data: Tensor, weight_data: Tensor, weight_indices: Tensor, weight_indptr: Tensor) -> Any:
    """data weightᵀ with a sparse weight."""
    return sparse_dense(data, weight_data, weight_indices, weight_indptr)


def sparse_dense_sp_lhs(data_data: Tensor, data_indices: Tensor, data_indptr: Tensor, weight: Tensor) -> Any:
    """data weightᵀ with sparse data."""
    return sparse_dense(weight, data_data, data_indices, data_indptr, sparse_lhs=True)


def sparse_transpose(sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor) -> list[Any]:
    """[elements, columns, row begins] of a square matrix transposed."""
    return list(call("nn.sparse_transpose", sparse_data, sparse_indices, sparse_indptr))


def sparse_conv2d(
    dense_data: Tensor,
    sparse_data: Tensor,
    sparse_indices: Tensor,
    sparse_indptr: Tensor,
    layout: str = "NHWC",
    kernel_size: Any = 1,
) -> Any:
    """A convolution with a sparse kernel of one place, or (NHWC) of `kernel_size` places in a square."""
    operands = (dense_data, sparse_data, sparse_indices, sparse_indptr)
    sides = (kernel_size, kernel_size) if isinstance(kernel_size, int) else tuple(kernel_size)
    return call("nn.sparse_conv2d", *operands, layout=layout, kernel_size=sides)


def sparse_add(dense_data: Tensor, sparse_data: Tensor, sparse_indices: Tensor, sparse_indptr: Tensor) -> Any:
    """The sum of a dense and a sparse matrix."""
    return call("nn.sparse_add", dense_data, sparse_data, sparse_indices, sparse_indptr)


_WRITTEN: tuple[Callable[..., Any], ...] = (
    *(sparse_dense, sparse_dense_sp_rhs, sparse_dense_sp_lhs, sparse_transpose, sparse_conv2d, sparse_add),
)
SPARSE_LAYERS: Mapping[str, Callable[..., Any]] = {f"nn.{function.__name__}": function for function in _WRITTEN}
"""By names below `topi`."""
