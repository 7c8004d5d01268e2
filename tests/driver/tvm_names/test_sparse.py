"""Sparse matrices of contrib.sparse, and topi.sparse against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from baton import te, topi
from baton._src.support.diagnostics import DiagnosticError
from baton._src.tir.evaluation.interpreter import run_prim_func
from baton.contrib import sparse
from tests.codegen.native_run import run_native

RNG = np.random.default_rng(2)


def matrix(rows: int, columns: int) -> np.ndarray:
    dense = RNG.integers(-5, 5, (rows, columns)).astype("float32") * (RNG.random((rows, columns)) < 0.4)
    dense[1] = 0
    return dense


def run(result: Any, inputs: dict[Any, Any], shape: tuple[int, int]) -> np.ndarray:
    func = te.create_prim_func([*inputs, result])
    found = [np.zeros(shape, "float32") for _ in range(2)]
    run_prim_func(func, [*inputs.values(), found[0]])
    run_native(func, *inputs.values(), found[1])
    np.testing.assert_array_equal(*found)
    return found[0]


def sparse_inputs(dense: np.ndarray) -> tuple[Any, dict[Any, Any]]:
    value = sparse.array(dense)
    a = sparse.placeholder(dense.shape, nonzeros=value.data.shape[0], name="A")
    return a, {a.data: value.data.numpy(), a.indices: value.indices.numpy(), a.indptr: value.indptr.numpy()}


def test_matrices_keep_their_elements() -> None:
    """Guards empty rows, the three parts, and what is no matrix."""
    dense = matrix(4, 6)
    found = sparse.array(dense)
    np.testing.assert_array_equal(found.numpy(), dense)
    again = sparse.CSRNDArray((found.data, found.indices, found.indptr), shape=(4, 6))
    np.testing.assert_array_equal(again.numpy(), dense)
    with pytest.raises(ValueError, match="not a CSR matrix of 5 rows"):
        sparse.CSRNDArray((found.data, found.indices, found.indptr), shape=(5, 6))
    with pytest.raises(ValueError, match="out of range for 2 columns"):
        sparse.CSRNDArray((found.data, found.indices, found.indptr), shape=(4, 2))
    with pytest.raises(NotImplementedError, match="coo"):
        sparse.array(dense, stype="coo")


def test_products_with_matrices_and_vectors() -> None:
    """Guards csrmm and csrmv, with and without what is added."""
    dense, b = matrix(5, 4), RNG.integers(-5, 5, (4, 3)).astype("float32")
    a, inputs = sparse_inputs(dense)
    right, bias = te.placeholder((4, 3), name="B"), te.placeholder((5,), name="c")
    np.testing.assert_array_equal(run(topi.sparse.csrmm(a, right), {**inputs, right: b}, (5, 3)), dense @ b)
    c = np.arange(5, dtype="float32")
    found = run(topi.sparse.csrmm(a, right, bias), {**inputs, right: b, bias: c}, (5, 3))
    np.testing.assert_array_equal(found, dense @ b + c[:, None])
    x = te.placeholder((4, 1), name="x")
    column = np.ascontiguousarray(b[:, :1])
    np.testing.assert_array_equal(run(topi.sparse.csrmv(a, x), {**inputs, x: column}, (5, 1)), dense @ column)


def test_dense_layers() -> None:
    """Guards sparse data, sparse weights, the bias, and what fits neither."""
    dense, other = matrix(5, 4), RNG.integers(-5, 5, (3, 4)).astype("float32")
    a, inputs = sparse_inputs(dense)
    t, bias = te.placeholder((3, 4), name="T"), te.placeholder((3,), name="bias")
    c = np.arange(3, dtype="float32")
    found = run(topi.sparse.dense(a, t, bias), {**inputs, t: other, bias: c}, (5, 3))
    np.testing.assert_array_equal(found, dense @ other.T + c)
    np.testing.assert_array_equal(run(topi.sparse.dense(t, a), {**inputs, t: other}, (3, 5)), other @ dense.T)
    with pytest.raises(DiagnosticError, match="one of data and weight"):
        topi.sparse.dense(t, t)
    with pytest.raises(DiagnosticError, match="one dtype"):
        topi.sparse.csrmm(a, te.placeholder((4, 3), "float64"))
