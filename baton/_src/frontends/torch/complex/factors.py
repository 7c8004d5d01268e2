"""Matrix factorisations, and solvers that use them: the VM computes them (`runtime/vm/builtins/matrices.py`).

Operators that can fail give a number for every matrix, 0 where all is well; with `check_errors` it is an error when the
program runs. Matrices may be complex: then operands and results are pairs, and the function is the one `of_complex`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.complex.pair import Pair, Part
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.tir.operators import min as tir_min
from baton._src.values.dtype import INT32

_SPACE = "vm.builtin.matrices."

Matrices = Value | Pair


def _call(node: AtenNode, name: str, *operands: Matrices | int | str, results: Sequence[TensorInfo]) -> tuple[Any, ...]:
    """The results of a function: `results` are their shapes, with the dtype of the parts of those that are complex."""
    given = [part for o in operands for part in ((o.real, o.imag) if isinstance(o, Pair) else (o,))]
    of_complex = "of_complex." if any(isinstance(o, Pair) for o in operands) else ""
    pairs = [isinstance(r, Part) for r in node.results]
    infos = [i for info, is_pair in zip(results, pairs, strict=True) for i in ((info, info) if is_pair else (info,))]
    found = iter(node.graph.packed(f"{_SPACE}{of_complex}{name}", *given, results=infos))
    return tuple(Pair(next(found), next(found)) if is_pair else next(found) for is_pair in pairs)


def _info(x: Matrices) -> TensorInfo:
    return x.real.info if isinstance(x, Pair) else x.info


def _sizes(node: AtenNode, x: Matrices) -> tuple[Dim, ...]:
    return node.sizes(x.real if isinstance(x, Pair) else x)


def _outer(node: AtenNode, *operands: Matrices) -> tuple[Dim, ...]:
    """The dims ahead of the matrices, broadcast."""
    shapes = [_sizes(node, o)[:-2] for o in operands]
    rank = max(len(s) for s in shapes)
    columns = zip(*[(1,) * (rank - len(s)) + s for s in shapes], strict=True)
    return tuple(next((d for d in column if not (isinstance(d, int) and d == 1)), 1) for column in columns)


def _least(a: Dim, b: Dim) -> Dim:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else tir_min(a, b)


def _empty(node: AtenNode) -> TensorInfo:
    """A result that is not wanted has no elements."""
    return TensorInfo((0,), node.dtype)


def _wanted_by(node: AtenNode, check_errors: bool) -> str:
    return node.title if check_errors else ""


def inverse(node: AtenNode, x: Matrices, *, check_errors: bool = False) -> tuple[Any, ...]:
    results = (_info(x), TensorInfo(_sizes(node, x)[:-2], INT32))
    return _call(node, "inverse", x, _wanted_by(node, check_errors), results=results)


def cholesky(node: AtenNode, x: Matrices, *, upper: bool = False, check_errors: bool = False) -> tuple[Any, ...]:
    results = (_info(x), TensorInfo(_sizes(node, x)[:-2], INT32))
    return _call(node, "cholesky", x, int(upper), _wanted_by(node, check_errors), results=results)


def lu_factor(node: AtenNode, x: Matrices, *, pivot: bool = True, check_errors: bool = False) -> tuple[Any, ...]:
    """(the factors, the exchanges, the first zero pivot)"""
    *outer, rows, columns = _sizes(node, x)
    results = (_info(x), TensorInfo((*outer, _least(rows, columns)), INT32), TensorInfo(tuple(outer), INT32))
    return _call(node, "lu_factor", x, int(pivot), _wanted_by(node, check_errors), results=results)


def determinant(node: AtenNode, x: Value) -> tuple[Value, Value | None, Value | None]:
    """(the determinant, and what only its gradient takes: the factors, the exchanges)

    As PyTorch has it, and as its gradient expects, what lies by rows is factorised by columns.
    """
    found = node.graph.call("linalg.det", x)
    if not node.used - {0}:
        return found, None, None
    axes = (*range(x.rank - 2), x.rank - 1, x.rank - 2)
    given = node.graph.transpose(x, axes) if node.operands[0].is_contiguous() else x
    factors, pivots, _ = lu_factor(replace(node, results=(*node.results[1:], node.results[2])), given)
    return found, factors, pivots


def ldl_factor(node: AtenNode, x: Matrices, *, hermitian: bool = False, check_errors: bool = False) -> tuple[Any, ...]:
    """(D and L, the exchanges, the first zero pivot)"""
    sizes = _sizes(node, x)
    results = (_info(x), TensorInfo(sizes[:-1], INT32), TensorInfo(sizes[:-2], INT32))
    return _call(node, "ldl_factor", x, int(hermitian), _wanted_by(node, check_errors), results=results)


def ldl_solve(node: AtenNode, factors: Matrices, pivots: Value, y: Matrices, *, hermitian: bool = False) -> Any:
    info = TensorInfo((*_outer(node, factors, y), *_sizes(node, y)[-2:]), node.dtype)
    return _call(node, "ldl_solve", factors, pivots, y, int(hermitian), results=(info,))[0]


def lu_unpack(
    node: AtenNode, x: Matrices, pivots: Value, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Any, ...]:
    """(P, L, U) of P L U"""
    *outer, rows, columns = _sizes(node, x)
    both = _least(rows, columns)
    order = _matrices(node, outer, rows, rows) if unpack_pivots else _empty(node)
    left = _matrices(node, outer, rows, both) if unpack_data else _empty(node)
    right = _matrices(node, outer, both, columns) if unpack_data else _empty(node)
    given = (x, pivots, int(unpack_data), int(unpack_pivots))
    return _call(node, "lu_unpack", *given, results=(order, left, right))


def lu_solve(
    node: AtenNode, factors: Matrices, pivots: Value, y: Matrices, *, left: bool = True, adjoint: bool = False
) -> Any:
    info = TensorInfo((*_outer(node, factors, y), *_sizes(node, y)[-2:]), node.dtype)
    given = (factors, pivots, y, int(left), int(adjoint))
    return _call(node, "lu_solve", *given, results=(info,))[0]


def triangular_solve(
    node: AtenNode, x: Matrices, y: Matrices, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    info = TensorInfo((*_outer(node, x, y), *_sizes(node, y)[-2:]), node.dtype)
    given = (x, y, int(upper), int(left), int(unitriangular))
    return _call(node, "triangular_solve", *given, results=(info,))[0]


def qr(node: AtenNode, x: Matrices, mode: str = "reduced") -> tuple[Any, ...]:
    *outer, rows, columns = _sizes(node, x)
    inner = rows if mode == "complete" else _least(rows, columns)
    q = _empty(node) if mode == "r" else _matrices(node, outer, rows, inner)
    return _call(node, "qr", x, mode, results=(q, _matrices(node, outer, inner, columns)))


def eigh(node: AtenNode, x: Matrices, triangle: str = "L", compute_v: bool = True) -> tuple[Any, ...]:
    """(ascending eigenvalues, their vectors)"""
    results = (TensorInfo(_sizes(node, x)[:-1], node.dtype), _info(x) if compute_v else _empty(node))
    return _call(node, "eigh", x, triangle, int(compute_v), results=results)


def eigenvalues(node: AtenNode, x: Matrices) -> tuple[Any, ...]:
    """(all eigenvalues, their vectors), which are complex; of real matrices, too"""
    return _call(node, "eig", x, results=(TensorInfo(_sizes(node, x)[:-1], node.dtype), _info(x)))


def exponential(node: AtenNode, x: Matrices) -> Any:
    return _call(node, "exponential", x, results=(_info(x),))[0]


def svd(
    node: AtenNode, x: Matrices, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> tuple[Any, ...]:
    """(U, descending singular values, Vᴴ)"""
    *outer, rows, columns = _sizes(node, x)
    both = _least(rows, columns)
    u = _matrices(node, outer, rows, rows if full_matrices else both) if compute_uv else _empty(node)
    v = _matrices(node, outer, columns if full_matrices else both, columns) if compute_uv else _empty(node)
    values = TensorInfo((*outer, both), node.dtype)
    return _call(node, "svd", x, int(full_matrices), int(compute_uv), results=(u, values, v))


def reflectors(node: AtenNode, x: Matrices) -> tuple[Any, ...]:
    """(R and Householder's reflections below it, their factors)"""
    *outer, rows, columns = _sizes(node, x)
    results = (_info(x), TensorInfo((*outer, _least(rows, columns)), node.dtype))
    return _call(node, "reflectors", x, results=results)


def reflectors_product(node: AtenNode, x: Matrices, factors: Matrices) -> Any:
    return _call(node, "reflectors_product", x, factors, results=(_info(x),))[0]


def reflectors_multiply(
    node: AtenNode, x: Matrices, factors: Matrices, y: Matrices, left: bool = True, transpose: bool = False
) -> Any:
    given = (x, factors, y, int(left), int(transpose))
    return _call(node, "reflectors_multiply", *given, results=(_info(y),))[0]


def _matrices(node: AtenNode, outer: Sequence[Dim], rows: Dim, columns: Dim) -> TensorInfo:
    return TensorInfo((*outer, rows, columns), node.dtype)


FACTORS: dict[str, Converter] = {
    "aten.linalg_inv_ex.default": inverse, "aten.linalg_cholesky_ex.default": cholesky,
    "aten.linalg_lu_factor_ex.default": lu_factor, "aten.linalg_lu_solve.default": lu_solve,
    "aten.linalg_solve_triangular.default": triangular_solve, "aten.linalg_qr.default": qr,
    "aten._linalg_eigh.default": eigh, "aten.linalg_eig.default": eigenvalues, "aten._linalg_svd.default": svd,
    "aten.lu_unpack.default": lu_unpack, "aten.linalg_matrix_exp.default": exponential,
    "aten.geqrf.default": reflectors, "aten.linalg_householder_product.default": reflectors_product,
    "aten.ormqr.default": reflectors_multiply, "aten._linalg_det.default": determinant,
    "aten.linalg_ldl_factor_ex.default": ldl_factor, "aten.linalg_ldl_solve.default": ldl_solve,
}  # fmt: skip
