"""Sparse matrices as operators take them: the tensors of one, how builders are given it, examples for samples.

A sparse matrix is three tensors: in CSR the elements that are there, row by row, their columns, and where each row
begins (one more than there are rows); in BSR the elements are blocks (count, rows, columns) and the other two speak of
blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from baton._src.ir.attrs import Attrs
from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import AnyMaker, Argument, Input, OpCall
from baton._src.ir.tensor_info import Dim
from baton._src.ops.dims import DimMath, show_shape
from baton._src.ops.operand_checks import check_integers
from baton._src.ops.samples import Arr
from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray


def check_sparse(call: OpCall[Attrs], first: int, ranks: tuple[int, ...] = (1, 3)) -> Dim | None:
    """The number of rows (of blocks) of the matrix whose three tensors begin at operand `first`; None if unknown."""
    data, indices, starts = (call.tensor(first + n) for n in range(3))
    if data.ndim != -1 and data.ndim not in ranks:
        kinds = "(count) for CSR" + (" or (count, rows, columns) for BSR" if 3 in ranks else "")
        call.fail(f"the elements must have shape {kinds}, got {show_shape(data.shape, data.ndim)}")
    if data.shape is not None and 0 in data.shape[1:]:
        call.fail(f"the blocks must have rows and columns, got {show_shape(data.shape)}")
    for t in (indices, starts):
        if t.ndim not in (-1, 1):
            call.fail(f"indices and indptr must have rank 1, got {show_shape(t.shape, t.ndim)}")
    check_integers(call, first + 1, first + 2)
    math = DimMath(call.prover)
    if data.shape is not None and indices.shape is not None and math.equal(data.shape[0], indices.shape[0]) is False:
        call.fail(f"there are {data.shape[0]} elements, but {indices.shape[0]} indices")
    if starts.shape is None:
        return None
    if math.at_most(1, starts.shape[0]) is False:
        call.fail("indptr must say where the first row begins: it has one element more than there are rows, got none")
    return math.subtract(starts.shape[0], 1)


class Csr(Protocol):
    """A sparse matrix of SciPy's."""

    data: AnyArray
    indices: AnyArray
    indptr: AnyArray


Sparse = Csr | GraphExpr | Sequence[Argument]
"""A matrix as three tensors (data, indices, indptr), in a tuple of Python or of the program, or as one of SciPy."""


def triple(make: AnyMaker, matrix: Sparse) -> list[Argument]:
    """The three tensors of a sparse matrix."""
    parts: list[Argument] = []
    if isinstance(matrix, Sequence):
        parts = list(matrix)
    elif isinstance(matrix, GraphExpr):
        parts = list(getattr(matrix, "fields", ()))
    elif hasattr(matrix, "indptr"):
        parts = [matrix.data, matrix.indices, matrix.indptr]
    if len(parts) != 3:
        message = f"a sparse matrix is data, indices and indptr, got {type(matrix).__name__}: {matrix!r}"
        raise fail("op-argument", message, help="pass them as a tuple, or a matrix of SciPy's", kind=TypeError)
    return [make.const(p) if isinstance(p, np.ndarray) else p for p in parts]


def csr_sample(dtype: str = "float32") -> tuple[Arr, ...]:
    """A 4 x 4 matrix with an empty row."""
    parts = ((0.5, 2.0, -1.0, 3.0, 4.0), (0, 3, 1, 0, 2), (0, 2, 3, 3, 5))
    return Arr((5,), dtype, values=parts[0]), Arr((5,), "int32", values=parts[1]), Arr((5,), "int32", values=parts[2])


def bsr_sample() -> tuple[Arr, ...]:
    """A 4 x 6 matrix of blocks of 2 x 3."""
    return Arr((3, 2, 3)), Arr((3,), "int32", values=(1, 0, 1)), Arr((3,), "int32", values=(0, 1, 3))


SPARSE_INPUTS = (Input("data", "elements"), Input("indices", "their columns"), Input("indptr", "where rows begin"))
