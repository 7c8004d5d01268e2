"""Linear algebra of whole matrices, (..., m, n), by NumPy's LAPACK at run time: there are no kernels for it.

A matrix may have no inverse or factor. As in LAPACK, a number for every matrix reports that: 0, or which pivot or
leading minor failed. `wanted_by` names an operator that cannot go on without: then it is an error.

Arrays may be complex inside: `complex_matrices` passes such ones, for which adjoints are conjugated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from baton._src.support.diagnostics import fail
from baton._src.values.tensor import AnyArray, NDArray


def _given(array: Any, like: AnyArray) -> NDArray:
    return NDArray(np.ascontiguousarray(array, like.dtype))


def batch_of(x: AnyArray, inner: int) -> AnyArray:
    """The outer axes merged into one, even if one of the `inner` last axes is empty."""
    outer = x.ndim - inner
    return x.reshape(math.prod(x.shape[:outer]), *x.shape[outer:])


def reported(info: AnyArray, wanted_by: str, reason: str) -> NDArray:
    """The numbers of all matrices; an error if one failed and `wanted_by` is given."""
    failed = np.argwhere(info)
    if wanted_by and len(failed):
        at = tuple(int(i) for i in failed[0])
        place = f"matrix {', '.join(map(str, at))} of the batch: " if at else ""
        raise fail("matrix-failed", f"{wanted_by}: {place}{reason.format(int(info[at]))}")
    return NDArray(info)


_SINGULAR = "pivot {} is zero, the matrix has no inverse"
_INDEFINITE = "leading minor {} is not positive, the matrix is not positive-definite"


def sizes_of(x: AnyArray) -> AnyArray:
    """What LAPACK compares pivots by."""
    found: AnyArray = np.abs(x.real) + np.abs(x.imag) if np.iscomplexobj(x) else np.abs(x)
    return found


def _adjoint(x: AnyArray) -> AnyArray:
    return np.swapaxes(x, -1, -2).conj()


def _factorised(x: AnyArray, pivoted: bool = True) -> tuple[AnyArray, AnyArray, AnyArray]:
    """(L below the diagonal and U, the row that each one was exchanged with, counted from 1, the first zero pivot)"""
    rows, columns = x.shape[-2:]
    a = batch_of(x, 2).copy()
    batch = np.arange(len(a))
    pivots = np.empty((len(a), min(rows, columns)), np.int32)
    info = np.zeros(len(a), np.int32)
    for c in range(min(rows, columns)):
        p = c + sizes_of(a[:, c:, c]).argmax(1) if pivoted else np.full(len(a), c)
        pivots[:, c] = p + 1
        a[batch, c], a[batch, p] = a[batch, p], a[batch, c]
        is_zero = a[:, c, c] == 0
        info[is_zero & (info == 0)] = c + 1
        a[:, c + 1 :, c] /= np.where(is_zero, 1, a[:, c, c])[:, None]
        a[:, c + 1 :, c + 1 :] -= a[:, c + 1 :, c, None] * a[:, None, c, c + 1 :]
    outer = x.shape[:-2]
    return a.reshape(x.shape), pivots.reshape(*outer, min(rows, columns)), info.reshape(outer)


def lu_factor(x: NDArray, pivoted: int, wanted_by: str) -> tuple[NDArray, NDArray, NDArray]:
    """(the factors, the exchanges, the number of the first pivot that is zero)"""
    factors, pivots, info = _factorised(x.data, bool(pivoted))
    return NDArray(factors), NDArray(pivots), reported(info, wanted_by, _SINGULAR)


def _order(pivots: AnyArray, rows: int) -> AnyArray:
    """The rows in the order that exchanges bring them to."""
    flat = batch_of(pivots, 1)
    batch, order = np.arange(len(flat)), np.tile(np.arange(rows), (len(flat), 1))
    for c in range(flat.shape[1]):
        p = flat[:, c] - 1
        order[batch, c], order[batch, p] = order[batch, p], order[batch, c]
    return order.reshape(*pivots.shape[:-1], rows)


def lu_unpack(
    factors: NDArray, pivots: NDArray, unpack_data: int, unpack_pivots: int
) -> tuple[NDArray, NDArray, NDArray]:
    """The P, L and U of x = P L U; those not wanted are empty."""
    x = factors.data
    rows, columns = x.shape[-2:]
    both = min(rows, columns)
    order = left = right = np.empty(0)
    if unpack_pivots:
        order = np.swapaxes(np.eye(rows)[_order(pivots.data, rows)], -1, -2)
    if unpack_data:
        left, right = np.tril(x[..., :both], -1) + np.eye(rows, both), np.triu(x[..., :both, :])
    return _given(order, x), _given(left, x), _given(right, x)


def _triangular(x: AnyArray, y: AnyArray, upper: bool, unit: bool = False) -> AnyArray:
    """The z of x @ z = y, row by row; zeros on the diagonal give infinities, as in LAPACK."""
    outer = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    z = np.broadcast_to(y, (*outer, *y.shape[-2:])).copy()
    with np.errstate(divide="ignore", invalid="ignore"):
        for r in reversed(range(x.shape[-1])) if upper else range(x.shape[-1]):
            known = slice(r + 1, None) if upper else slice(0, r)
            z[..., r, :] -= (x[..., r, None, known] @ z[..., known, :])[..., 0, :]
            if not unit:
                z[..., r, :] /= x[..., r, r, None]
    return z


def triangular_solve(x: NDArray, y: NDArray, upper: int, left: int, unit: int) -> NDArray:
    """The z of x @ z = y, or of z @ x = y if not `left`; only one triangle of `x` is read."""
    a, b = x.data, y.data
    if left:
        return _given(_triangular(a, b, bool(upper), bool(unit)), b)
    found = _triangular(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2), not upper, bool(unit))
    return _given(np.swapaxes(found, -1, -2), b)


def _lu_solved(factors: AnyArray, pivots: AnyArray, y: AnyArray, adjoint: bool) -> AnyArray:
    """The z of x @ z = y, or of xᴴ @ z = y, where x = P L U."""
    order = _order(pivots, factors.shape[-1])
    outer = np.broadcast_shapes(order.shape[:-1], y.shape[:-2])
    b = np.broadcast_to(y, (*outer, *y.shape[-2:]))
    places = np.broadcast_to(order, (*outer, order.shape[-1]))
    if not adjoint:
        exchanged = np.take_along_axis(b, places[..., None], -2)
        return _triangular(factors, _triangular(factors, exchanged, False, unit=True), True)
    turned = _adjoint(factors)
    found = _triangular(turned, _triangular(turned, b, False), True, unit=True)
    return np.take_along_axis(found, np.argsort(places, -1)[..., None], -2)


def lu_solve(factors: NDArray, pivots: NDArray, y: NDArray, left: int, adjoint: int) -> NDArray:
    """The z of x @ z = y, or of z @ x = y if not `left`; of the adjoint of x if `adjoint`."""
    b = y.data
    if left:
        return _given(_lu_solved(factors.data, pivots.data, b, bool(adjoint)), b)
    return _given(_adjoint(_lu_solved(factors.data, pivots.data, _adjoint(b), not adjoint)), b)


def inverse(x: NDArray, wanted_by: str) -> tuple[NDArray, NDArray]:
    """(the inverses, the number of the first pivot that is zero)"""
    factors, pivots, info = _factorised(x.data)
    told = reported(info, wanted_by, _SINGULAR)
    found = _lu_solved(factors, pivots, np.eye(x.shape[-1], dtype=factors.dtype), adjoint=False)
    return _given(found, x.data), told


def cholesky(x: NDArray, upper: int, wanted_by: str) -> tuple[NDArray, NDArray]:
    """(L of x = L Lᴴ, or its adjoint if `upper`; the first leading minor that is not positive)

    Only that triangle is read. A matrix without the factor has NaN for it.
    """
    given = _adjoint(x.data) if upper else x.data
    flat = batch_of(given, 2)
    found, info = np.full_like(flat, np.nan), np.zeros(len(flat), np.int32)
    for k, matrix in enumerate(flat):
        info[k] = _failing_minor(matrix)
        if not info[k]:
            found[k] = np.linalg.cholesky(matrix)
    factor = found.reshape(given.shape)
    told = reported(info.reshape(given.shape[:-2]), wanted_by, _INDEFINITE)
    return _given(_adjoint(factor) if upper else factor, x.data), told


def _failing_minor(matrix: AnyArray) -> int:
    """The order of the first leading minor without a factor, found by halving; 0 if there is none."""

    def has_factor(order: int) -> bool:
        try:
            return bool(np.isfinite(np.linalg.cholesky(matrix[:order, :order])).all())
        except np.linalg.LinAlgError:
            return False

    if has_factor(len(matrix)):
        return 0
    good, bad = 0, len(matrix)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if has_factor(middle) else (good, middle)
    return bad


def qr(x: NDArray, mode: str) -> tuple[NDArray, NDArray]:
    """(Q, R); Q is empty where only R is wanted."""
    if mode == "r":
        return _given(np.empty(0), x.data), _given(np.linalg.qr(x.data, "r"), x.data)
    q, r = np.linalg.qr(x.data, "complete" if mode == "complete" else "reduced")
    return _given(q, x.data), _given(r, x.data)


def eigh(x: NDArray, triangle: str, vectors: int) -> tuple[NDArray, NDArray]:
    """(ascending eigenvalues of Hermitian matrices, their vectors); only one triangle is read."""
    side: Literal["L", "U"] = "L" if triangle.upper() == "L" else "U"
    if not vectors:
        return _given(np.linalg.eigvalsh(x.data, side), x.data), _given(np.empty(0), x.data)
    values, found = np.linalg.eigh(x.data, side)
    return _given(values, x.data), _given(found, x.data)


def svd(x: NDArray, full: int, vectors: int) -> tuple[NDArray, NDArray, NDArray]:
    """(U, descending singular values, Vᴴ)"""
    if not vectors:
        nothing = np.empty(0)
        values = np.linalg.svd(x.data, compute_uv=False)
        return _given(nothing, x.data), _given(values, x.data), _given(nothing, x.data)
    u, values, v = np.linalg.svd(x.data, full_matrices=bool(full))
    return _given(u, x.data), _given(values, x.data), _given(v, x.data)


def eig(x: NDArray) -> tuple[NDArray, NDArray]:
    """(all eigenvalues of square matrices, their vectors), which are complex"""
    dtype = np.result_type(x.data.dtype, np.complex64)
    values, found = np.linalg.eig(x.data)
    return NDArray(values.astype(dtype)), NDArray(np.ascontiguousarray(found, dtype))


_TERMS = 16
"""Of e to the power of 1/2 and less: the next one is below what float64 tells from nothing."""


def exponential(x: NDArray) -> NDArray:
    """e to the power of matrices: Taylor's series of x / 2**s, squared s times. Computed in float64."""
    a = x.data.astype(np.result_type(x.data.dtype, np.float64))
    norm = np.abs(a).sum(-1).max(-1, initial=0)
    halvings = np.maximum(np.frexp(norm)[1] + 1, 0)[..., None, None]
    a = a * np.ldexp(1.0, -halvings)
    total = term = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(1, _TERMS):
            term = term @ a / k
            total = total + term
        for turn in range(halvings.max(initial=0)):
            total = np.where(turn < halvings, total @ total, total)
        return _given(total, x.data)


TABLE: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.matrices.lu_factor": lu_factor,
    "vm.builtin.matrices.lu_solve": lu_solve,
    "vm.builtin.matrices.lu_unpack": lu_unpack,
    "vm.builtin.matrices.triangular_solve": triangular_solve,
    "vm.builtin.matrices.inverse": inverse,
    "vm.builtin.matrices.cholesky": cholesky,
    "vm.builtin.matrices.qr": qr,
    "vm.builtin.matrices.eigh": eigh,
    "vm.builtin.matrices.svd": svd,
    "vm.builtin.matrices.exponential": exponential,
}
