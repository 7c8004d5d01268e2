"""Factors of matrices, real or complex, and what is solved with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import linalg

from tests.frontends.torch.cases.inputs import Case


def put_together(x: Any, tall: Any) -> Any:
    """Vectors of eigenvalues and singular values have signs that nobody fixes: what they are the factors of."""
    values, vectors = linalg.eigh(x)
    u, singular, v = linalg.svd(tall, full_matrices=False)
    _, most, wide = linalg.svd(tall)
    again = (vectors * values[..., None, :] @ vectors.mH, u * singular[..., None, :] @ v)
    return *again, values, most, wide.mH @ wide, linalg.eigvalsh(x, UPLO="U"), linalg.svdvals(tall)


def of_one_triangle(x: Any) -> Any:
    """The other one, and imaginary parts on the diagonal, are not read."""
    upper = linalg.eigh(x, UPLO="U")
    return linalg.eigvalsh(x), upper[0], upper[1].abs(), linalg.cholesky_ex(x, upper=True)[1]


def solved_by_factors(x: Any, y: Any) -> Any:
    factors, pivots = linalg.lu_factor(x)
    return (
        linalg.lu_solve(factors, pivots, y),
        linalg.lu_solve(factors, pivots, y, adjoint=True),
        linalg.lu_solve(factors, pivots, y.mT, left=False),
        linalg.lu_solve(factors, pivots, y.mT, left=False, adjoint=True),
        linalg.lu_solve(factors[:, None].contiguous(), pivots[:, None], y),
    )


def of_symmetric(x: Any, y: Any) -> Any:
    """Blocks of one row and of two, singular ones; Hermitian matrices are another thing."""
    found: list[Any] = []
    for given, hermitian in ((x + x.mT, False), (x + x.mH, True)):
        factors, pivots, info = linalg.ldl_factor_ex(given, hermitian=hermitian)
        found += factors, pivots, info, linalg.ldl_solve(factors, pivots, y, hermitian=hermitian)
    return *found, *linalg.ldl_factor_ex(x * 0)


def turned(x: Any) -> Any:
    """Eigenvalues of matrices that are not symmetric: complex, as are their vectors, which nobody gives a phase."""
    values, vectors = linalg.eig(x)
    total = linalg.eigvals(x).sum(-1)
    error = x.to(vectors.dtype) @ vectors - vectors * values[..., None, :]
    return total.real, total.imag, values.abs().sort()[0], vectors.abs().square().sum(-2), error.abs()


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


def linear_algebra(numbers: Callable[..., Any]) -> list[Case]:
    """`numbers` gives random ones for a shape."""
    squares, tall, right = numbers(2, 4, 4), numbers(2, 5, 3), numbers(2, 4, 3)
    positive = squares @ squares.mH + 4 * torch.eye(4)
    return [
        (of_reflections, (tall, numbers(2, 5, 2))),
        (of_reflections, (tall[0].mT, numbers(3, 2))),
        (of_one_triangle, (squares,)),
        (of_nothing, (numbers(0, 0), numbers(0, 5, 5), numbers(2, 0))),
        (turned, (squares,)),
        (of_symmetric, (numbers(2, 7, 7), numbers(2, 7, 2))),
        (lambda x: (linalg.matrix_exp(x), linalg.matrix_exp(x[0] * 1.5), linalg.matrix_exp(x * 0)), (squares,)),
        (lambda x: (linalg.inv(x), linalg.inv_ex(x * 0)[1], linalg.matrix_power(x, -2)), (squares,)),
        (lambda x: (linalg.cholesky(x), linalg.cholesky(x[0], upper=True), linalg.cholesky_ex(x - 8)[1]), (positive,)),
        (lambda x, y: (torch.cholesky_solve(y, x), torch.cholesky_solve(y, x.mT, True)), (positive.tril(), right)),
        (lambda x: (torch.cholesky_inverse(x), torch.cholesky_inverse(x.mT[0], upper=True)), (positive.tril(),)),
        (lambda x: (*linalg.qr(x), *linalg.qr(x, "complete"), linalg.qr(x.mT, "r")[1]), (tall,)),
        (put_together, (positive, tall)),
        (lambda x, p: (linalg.pinv(x), linalg.pinv(p, hermitian=True), linalg.pinv(x, rtol=0.5)), (tall, positive)),
        (lambda x: (linalg.matrix_rank(x), linalg.cond(x), linalg.matrix_norm(x, 2)), (squares,)),
        (
            lambda x, y: (linalg.solve(x, y), linalg.solve(x, y[..., 0]), linalg.solve(x, y.mT, left=False)),
            (squares, right),
        ),
        (lambda x: (linalg.solve(x.mT, x[:, 0]), linalg.solve(x[0], x[0, 0])), (squares,)),
        (lambda x, t: (*linalg.lu(t), *linalg.lu(t.mT), *linalg.lu_factor(x)), (squares, tall)),
        (solved_by_factors, (squares, right)),
        (lambda x: (*linalg.slogdet(x), *linalg.slogdet(x.mT), *linalg.slogdet(x[0] * 0), x.mT.logdet()), (squares,)),
        (lambda x: (linalg.det(x), linalg.det(x.mH[0]), linalg.det(x * 0)), (squares,)),
        (lambda x, y: linalg.solve_triangular(x + 3 * torch.eye(4), y, upper=True), (squares, right)),
        (lambda x, y: linalg.solve_triangular(x, y.mT, upper=False, left=False, unitriangular=True), (squares, right)),
        (lambda x, y: torch.triangular_solve(y, x + 3 * torch.eye(4), transpose=True)[0], (squares, right)),
    ]
