"""`tvm.topi.sparse`: products with matrices in compressed row format (CSR)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from baton._src.driver.tvm_names.contrib.sparse_arrays import CSRPlaceholderOp
from baton._src.support.diagnostics import fail
from baton._src.te.computation import compute, extern
from baton._src.te.tensor import Tensor
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.builders import ir_builder
from baton._src.tir.operators import const

Place = Callable[[Any, Any], tuple[Any, Any]]


def csrmv(a: CSRPlaceholderOp, x: Tensor, y: Tensor | None = None) -> Any:
    """A x (+ y): a of shape (m, k), x of (k, 1), y of (m,); the result is (m, 1)."""
    return csrmm(a, x, y)


def csrmm(a: CSRPlaceholderOp, b: Tensor, c: Tensor | None = None) -> Any:
    """A B (+ c): a of shape (m, k), b of (k, n), c of (m,), one number a row; the result is (m, n)."""
    product = _rows_times(a, b, b.shape[1], lambda column, other: (column, other), transposed=False)
    return product if c is None else compute(product.shape, lambda i, j: product[i, j] + c[i], tag="broadcast")


def dense(data: Any, weight: Any, bias: Tensor | None = None) -> Any:
    """data weightᵀ (+ bias), one of both a sparse matrix: data of shape (m, k), weight of (n, k), bias of (n,)."""
    match data, weight:
        case CSRPlaceholderOp(), Tensor():
            rows, matrix = data, weight
        case Tensor(), CSRPlaceholderOp():
            rows, matrix = weight, data
        case _:
            raise fail("topi", "one of data and weight is a sparse matrix (contrib.sparse.placeholder), one a tensor")
    product = _rows_times(
        rows, matrix, matrix.shape[0], lambda column, other: (other, column), transposed=rows is weight
    )
    return product if bias is None else compute(product.shape, lambda i, j: product[i, j] + bias[j], tag="broadcast")


def _rows_times(rows: CSRPlaceholderOp, matrix: Tensor, count: Any, place: Place, transposed: bool) -> Any:
    """out[row, other] (or transposed) = the sum of a row's elements times `matrix[place(column, other)]`."""
    if matrix.ndim != 2 or rows.data.dtype != matrix.dtype:
        kinds = f"{rows.data.dtype} is multiplied by {matrix.name}, {matrix.ndim} dims of {matrix.dtype}"
        raise fail("topi", f"a sparse matrix of {kinds}", help="both have 2 dims and one dtype")
    height = Analyzer().simplify(rows.indptr.shape[0] - 1)
    shape = (count, height) if transposed else (height, count)

    def code(ins: Any, outs: Any) -> Any:
        ib = ir_builder.create()
        data, indices, indptr, other = map(ib.buffer_ptr, ins)
        out = ib.buffer_ptr(outs[0])
        with ib.for_range(0, height, name="row", kind="parallel") as row, ib.for_range(0, count, name="n") as n:
            at = (n, row) if transposed else (row, n)
            out[at] = const(0, matrix.dtype)
            with ib.for_range(0, indptr[row + 1] - indptr[row], name="k") as k:
                element = indptr[row] + k
                out[at] = out[at] + data[element] * other[place(indices[element], n)]
        return ib.get()

    operands = [rows.data, rows.indices, rows.indptr, matrix]
    return extern(shape, operands, code, name="out", dtype=matrix.dtype, tag="csrmm")
