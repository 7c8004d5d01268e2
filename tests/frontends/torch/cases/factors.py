"""Factors of matrices, and what is solved with them."""

from __future__ import annotations

from typing import Any

import torch
from torch import linalg

from tests.frontends.torch.cases.inputs import Case, floats

SQUARES, TALL, RIGHT = floats(2, 4, 4), floats(2, 5, 3), floats(2, 4, 3)
POSITIVE = SQUARES @ SQUARES.mT + 4 * torch.eye(4)


def put_together(x: Any, tall: Any) -> Any:
    """Vectors of eigenvalues and singular values have signs that nobody fixes: what they are the factors of."""
    values, vectors = linalg.eigh(x)
    u, singular, v = linalg.svd(tall, full_matrices=False)
    _, most, wide = linalg.svd(tall)
    again = (vectors @ torch.diag_embed(values) @ vectors.mT, u @ torch.diag_embed(singular) @ v)
    return *again, values, most, wide.mT @ wide, linalg.eigvalsh(x, UPLO="U"), linalg.svdvals(tall)


def solved_by_factors(x: Any, y: Any) -> Any:
    factors, pivots = linalg.lu_factor(x)
    return (
        linalg.lu_solve(factors, pivots, y),
        linalg.lu_solve(factors, pivots, y, adjoint=True),
        linalg.lu_solve(factors, pivots, y.mT, left=False),
    )


def turned(x: Any) -> Any:
    """Eigenvalues of matrices that are not symmetric: complex, as are their vectors, which nobody gives a phase."""
    values, vectors = linalg.eig(x)
    total = linalg.eigvals(x).sum(-1)
    error = x @ vectors.real - (vectors * values[..., None, :]).real
    return total.real, values.abs().sort()[0], vectors.abs().square().sum(-2), error


def of_nothing(x: Any, y: Any, z: Any) -> Any:
    """No matrix, matrices without rows, both."""
    found = (linalg.inv(x), linalg.inv(y), linalg.cholesky(x), linalg.solve(y, y), *linalg.lu_factor(y))
    return (
        *found,
        linalg.det(x),
        linalg.pinv(x),
        linalg.pinv(z),
        linalg.slogdet(x)[1],
        linalg.svdvals(y),
        linalg.eigvalsh(x),
    )


def of_reflections(x: Any, y: Any) -> Any:
    """Householder's: LAPACK's own signs, so that Q and what it multiplies are compared as they are."""
    packed, factors = torch.geqrf(x)
    products = [torch.ormqr(packed, factors, y, transpose=turned) for turned in (False, True)] + [
        torch.ormqr(packed, factors, y.mT, left=False, transpose=turned) for turned in (False, True)
    ]
    tall = packed[..., : packed.shape[-2]]
    return packed, factors, linalg.householder_product(tall, factors[..., : tall.shape[-1]]), *products


FACTORS: list[Case] = [
    (of_reflections, (TALL, floats(2, 5, 2))),
    (of_reflections, (TALL[0].mT, floats(3, 2))),
    (of_nothing, (torch.zeros(0, 0), torch.zeros(0, 5, 5), torch.zeros(2, 0))),
    (turned, (SQUARES,)),
    (lambda x: (linalg.matrix_exp(x), linalg.matrix_exp(x[0] * 3), linalg.matrix_exp(x * 0)), (SQUARES,)),
    (lambda x: (linalg.inv(x), linalg.inv_ex(x * 0)[1], linalg.matrix_power(x, -2)), (SQUARES,)),
    (lambda x: (linalg.cholesky(x), linalg.cholesky(x[0], upper=True), linalg.cholesky_ex(x - 8)[1]), (POSITIVE,)),
    (lambda x, y: (torch.cholesky_solve(y, x), torch.cholesky_solve(y, x.mT, True)), (POSITIVE.tril(), RIGHT)),
    (lambda x: (torch.cholesky_inverse(x), torch.cholesky_inverse(x.mT[0], upper=True)), (POSITIVE.tril(),)),
    (lambda x: (*linalg.qr(x), *linalg.qr(x, "complete"), linalg.qr(x.mT, "r")[1]), (TALL,)),
    (put_together, (POSITIVE, TALL)),
    (lambda x, p: (linalg.pinv(x), linalg.pinv(p, hermitian=True), linalg.pinv(x, rtol=0.5)), (TALL, POSITIVE)),
    (lambda x: (linalg.matrix_rank(x), linalg.cond(x), linalg.matrix_norm(x, 2)), (SQUARES,)),
    (
        lambda x, y: (linalg.solve(x, y), linalg.solve(x, y[..., 0]), linalg.solve(x, y.mT, left=False)),
        (SQUARES, RIGHT),
    ),
    (lambda x: (linalg.solve(x.mT, x[:, 0]), linalg.solve(x[0], x[0, 0])), (SQUARES,)),
    (lambda x, t: (*linalg.lu(t), *linalg.lu(t.mT), *linalg.lu_factor(x)), (SQUARES, TALL)),
    (solved_by_factors, (SQUARES, RIGHT)),
    (lambda x: (*linalg.slogdet(x), *linalg.slogdet(x.mT), *linalg.slogdet(x[0] * 0), x.mT.logdet()), (SQUARES,)),
    (lambda x, y: linalg.solve_triangular(x + 3 * torch.eye(4), y, upper=True), (SQUARES, RIGHT)),
    (lambda x, y: linalg.solve_triangular(x, y.mT, upper=False, left=False, unitriangular=True), (SQUARES, RIGHT)),
    (lambda x, y: torch.triangular_solve(y, x + 3 * torch.eye(4), transpose=True)[0], (SQUARES, RIGHT)),
]
"""Only Relax has calls of the machine's functions."""
