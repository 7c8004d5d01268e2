"""Matrix factorisations, and solvers that use them: the VM computes them (`runtime/vm/builtins/matrices.py`).

Operators that can fail give a number for every matrix, 0 where all is well; with `check_errors` it is an error when the
program runs.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.tir.operators import min as tir_min
from baton._src.values.dtype import INT32

_SPACE = "vm.builtin.matrices."


def _outer(node: AtenNode, *operands: Value) -> tuple[Dim, ...]:
    """The dims ahead of the matrices, broadcast."""
    shapes = [node.sizes(o)[:-2] for o in operands]
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


def inverse(node: AtenNode, x: Value, *, check_errors: bool = False) -> tuple[Value, ...]:
    results = (x.info, TensorInfo(node.sizes(x)[:-2], INT32))
    return node.graph.packed(f"{_SPACE}inverse", x, _wanted_by(node, check_errors), results=results)


def cholesky(node: AtenNode, x: Value, *, upper: bool = False, check_errors: bool = False) -> tuple[Value, ...]:
    results = (x.info, TensorInfo(node.sizes(x)[:-2], INT32))
    return node.graph.packed(f"{_SPACE}cholesky", x, int(upper), _wanted_by(node, check_errors), results=results)


def lu_factor(node: AtenNode, x: Value, *, pivot: bool = True, check_errors: bool = False) -> tuple[Value, ...]:
    """(the factors, the exchanges, the first zero pivot)"""
    *outer, rows, columns = node.sizes(x)
    results = (x.info, TensorInfo((*outer, _least(rows, columns)), INT32), TensorInfo(tuple(outer), INT32))
    return node.graph.packed(f"{_SPACE}lu_factor", x, int(pivot), _wanted_by(node, check_errors), results=results)


def lu_unpack(
    node: AtenNode, x: Value, pivots: Value, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Value, ...]:
    """(P, L, U) of P L U"""
    *outer, rows, columns = node.sizes(x)
    both = _least(rows, columns)
    order = _matrices(node, outer, rows, rows) if unpack_pivots else _empty(node)
    left = _matrices(node, outer, rows, both) if unpack_data else _empty(node)
    right = _matrices(node, outer, both, columns) if unpack_data else _empty(node)
    given = (x, pivots, int(unpack_data), int(unpack_pivots))
    return node.graph.packed(f"{_SPACE}lu_unpack", *given, results=(order, left, right))


def lu_solve(
    node: AtenNode, factors: Value, pivots: Value, y: Value, *, left: bool = True, adjoint: bool = False
) -> Value:
    info = TensorInfo((*_outer(node, factors, y), *node.sizes(y)[-2:]), node.dtype)
    given = (factors, pivots, y, int(left), int(adjoint))
    return node.graph.packed(f"{_SPACE}lu_solve", *given, results=(info,))[0]


def triangular_solve(
    node: AtenNode, x: Value, y: Value, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Value:
    info = TensorInfo((*_outer(node, x, y), *node.sizes(y)[-2:]), node.dtype)
    given = (x, y, int(upper), int(left), int(unitriangular))
    return node.graph.packed(f"{_SPACE}triangular_solve", *given, results=(info,))[0]


def qr(node: AtenNode, x: Value, mode: str = "reduced") -> tuple[Value, ...]:
    *outer, rows, columns = node.sizes(x)
    inner = rows if mode == "complete" else _least(rows, columns)
    q = _empty(node) if mode == "r" else _matrices(node, outer, rows, inner)
    return node.graph.packed(f"{_SPACE}qr", x, mode, results=(q, _matrices(node, outer, inner, columns)))


def eigh(node: AtenNode, x: Value, triangle: str = "L", compute_v: bool = True) -> tuple[Value, ...]:
    """(ascending eigenvalues, their vectors)"""
    results = (TensorInfo(node.sizes(x)[:-1], node.dtype), x.info if compute_v else _empty(node))
    return node.graph.packed(f"{_SPACE}eigh", x, triangle, int(compute_v), results=results)


def exponential(node: AtenNode, x: Value) -> Value:
    return node.graph.packed(f"{_SPACE}exponential", x, results=(x.info,))[0]


def svd(
    node: AtenNode, x: Value, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None
) -> tuple[Value, ...]:
    """(U, descending singular values, Vᵀ)"""
    *outer, rows, columns = node.sizes(x)
    both = _least(rows, columns)
    u = _matrices(node, outer, rows, rows if full_matrices else both) if compute_uv else _empty(node)
    v = _matrices(node, outer, columns if full_matrices else both, columns) if compute_uv else _empty(node)
    values = TensorInfo((*outer, both), node.dtype)
    return node.graph.packed(f"{_SPACE}svd", x, int(full_matrices), int(compute_uv), results=(u, values, v))


def reflectors(node: AtenNode, x: Value) -> tuple[Value, ...]:
    """(R and Householder's reflections below it, their factors)"""
    *outer, rows, columns = node.sizes(x)
    results = (x.info, TensorInfo((*outer, _least(rows, columns)), node.dtype))
    return node.graph.packed(f"{_SPACE}reflectors", x, results=results)


def reflectors_product(node: AtenNode, x: Value, factors: Value) -> Value:
    return node.graph.packed(f"{_SPACE}reflectors_product", x, factors, results=(x.info,))[0]


def reflectors_multiply(
    node: AtenNode, x: Value, factors: Value, y: Value, left: bool = True, transpose: bool = False
) -> Value:
    given = (x, factors, y, int(left), int(transpose))
    return node.graph.packed(f"{_SPACE}reflectors_multiply", *given, results=(y.info,))[0]


def _matrices(node: AtenNode, outer: Sequence[Dim], rows: Dim, columns: Dim) -> TensorInfo:
    return TensorInfo((*outer, rows, columns), node.dtype)


FACTORS: dict[str, Converter] = {
    "aten.linalg_inv_ex.default": inverse, "aten.linalg_cholesky_ex.default": cholesky,
    "aten.linalg_lu_factor_ex.default": lu_factor, "aten.linalg_lu_solve.default": lu_solve,
    "aten.linalg_solve_triangular.default": triangular_solve, "aten.linalg_qr.default": qr,
    "aten._linalg_eigh.default": eigh, "aten._linalg_svd.default": svd, "aten.lu_unpack.default": lu_unpack,
    "aten.linalg_matrix_exp.default": exponential, "aten.geqrf.default": reflectors,
    "aten.linalg_householder_product.default": reflectors_product, "aten.ormqr.default": reflectors_multiply,
}  # fmt: skip
