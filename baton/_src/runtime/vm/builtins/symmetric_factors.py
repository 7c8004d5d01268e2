"""L D Lᵀ of symmetric matrices (L D Lᴴ of Hermitian ones) with Bunch and Kaufman's pivots, as LAPACK keeps it.

D has blocks of one and two rows. It and L, whose diagonal of ones is left out, take the lower triangle. A pivot tells
the row that one was exchanged with, counted from 1; both rows of a block of two have the number of the second one's,
negative.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.runtime.vm.builtins.matrices import batch_of, reported, sizes_of
from baton._src.values.tensor import AnyArray, NDArray

_SHARE = (1 + math.sqrt(17)) / 8
"""What a pivot must have of the greatest element: with this share L grows least."""


def ldl_factor(x: NDArray, hermitian: int, wanted_by: str) -> tuple[NDArray, NDArray, NDArray]:
    """(D and L of symmetric matrices, the exchanges, the number of the first pivot that is zero)

    Only the lower triangle is read.
    """
    given = np.tril(x.data)
    found = batch_of(given, 2).copy()
    pivots, info = np.zeros(found.shape[:2], np.int32), np.zeros(len(found), np.int32)
    for k, matrix in enumerate(found):
        found[k], info[k] = _factorised(matrix, pivots[k], bool(hermitian))
    told = reported(info.reshape(given.shape[:-2]), wanted_by, "pivot {} is zero, D is singular")
    return NDArray(found.reshape(given.shape)), NDArray(pivots.reshape(given.shape[:-1])), told


def _factorised(lower: AnyArray, pivots: AnyArray, hermitian: bool) -> tuple[AnyArray, int]:
    """Fills `pivots`."""
    diagonal = np.diag(lower.diagonal().real if hermitian else lower.diagonal())
    below = np.tril(lower, -1)
    a = below + (below.conj() if hermitian else below).T + diagonal.astype(lower.dtype)
    c = info = 0
    while c < len(a):
        rest = a[c:, c:]
        p, size = _pivot(rest)
        order = np.arange(len(rest))
        order[[size - 1, p]] = p, size - 1
        rest[:] = rest[order][:, order]
        pivots[c : c + size] = (c + p + 1) * (1 if size == 1 else -1)
        if rest[:, 0].any():
            _eliminate(rest, size, hermitian)
        else:
            info = info or c + 1
        c += size
    return np.tril(a), info


def _pivot(rest: AnyArray) -> tuple[int, int]:
    """(the row for the last place of the next block, the number of rows in it)"""
    sizes = sizes_of(rest)
    if len(rest) == 1 or not sizes[1:, 0].any():
        return 0, 1
    low = 1 + int(sizes[1:, 0].argmax())
    most, most_there = sizes[low, 0], np.delete(sizes[low], low).max()
    if sizes[0, 0] >= _SHARE * most * most / most_there:
        return 0, 1
    return (low, 1) if sizes[low, low] >= _SHARE * most_there else (low, 2)


def _eliminate(rest: AnyArray, size: int, hermitian: bool) -> None:
    """Take the block's multiples from what is below and right of it; the multiples take its place."""
    column = rest[size:, :size].copy()
    left = np.linalg.solve(rest[:size, :size].T, column.T).T if size == 2 else column / rest[0, 0]
    rest[size:, size:] -= left @ (column.conj() if hermitian else column).T
    rest[size:, :size] = left


def ldl_solve(factors: NDArray, pivots: NDArray, y: NDArray, hermitian: int) -> NDArray:
    """The z of x @ z = y, where `factors` and `pivots` are of x."""
    a, b = factors.data, y.data
    outer = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    found = batch_of(np.broadcast_to(b, (*outer, *b.shape[-2:])), 2).copy()
    matrices = batch_of(np.broadcast_to(a, (*outer, *a.shape[-2:])), 2)
    exchanged = batch_of(np.broadcast_to(pivots.data, (*outer, a.shape[-1])), 1)
    for k, (matrix, row) in enumerate(zip(matrices, exchanged, strict=True)):
        _solve(matrix, row, found[k], bool(hermitian))
    return NDArray(found.reshape(*outer, *b.shape[-2:]))


def _solve(a: AnyArray, pivots: AnyArray, z: AnyArray, hermitian: bool) -> None:
    """In place of `z`: through P L and D from the top, then through its transpose from the bottom."""
    starts, c = [], 0
    while c < len(a):
        size = 1 if pivots[c] > 0 else 2
        last, p = c + size - 1, abs(int(pivots[c])) - 1
        z[[last, p]] = z[[p, last]]
        z[c + size :] -= a[c + size :, c : c + size] @ z[c : c + size]
        z[c : c + size] = _divided(z[c : c + size], a[c : c + size, c : c + size], hermitian)
        starts.append((c, size, last, p))
        c += size
    for c, size, last, p in reversed(starts):
        below = a[c + size :, c : c + size]
        z[c : c + size] -= (below.conj() if hermitian else below).T @ z[c + size :]
        z[[last, p]] = z[[p, last]]


def _divided(z: AnyArray, block: AnyArray, hermitian: bool) -> AnyArray:
    """By a block of D, of which the lower triangle is given; by zero gives infinities, as in LAPACK."""
    if len(block) == 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            found: AnyArray = z / block[0, 0]
        return found
    below = np.tril(block, -1)
    whole = np.tril(block) + (below.conj() if hermitian else below).T
    return np.linalg.solve(whole, z)


TABLE: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.matrices.ldl_factor": ldl_factor,
    "vm.builtin.matrices.ldl_solve": ldl_solve,
}
