"""Linear algebra in PyTorch's terms, real and complex: what is made of the factors that `factors` converts."""

from __future__ import annotations

from typing import Any

from baton._src.frontends.torch.library import torch_library


def log_determinant(x: Any) -> Any:
    """(sign, log |det|, the factors, the exchanges). As PyTorch has it, what lies by rows is factorised by columns."""
    torch = torch_library()
    factors, pivots, diagonal, exchanged = _eliminated(x)
    return torch.sgn(diagonal).prod(-1) * exchanged, torch.log(diagonal.abs()).sum(-1), factors, pivots


def determinant(x: Any) -> Any:
    """(det, the factors, the exchanges) of complex matrices; real ones have a kernel."""
    if not x.is_complex():
        return NotImplemented
    factors, pivots, diagonal, exchanged = _eliminated(x)
    return diagonal.prod(-1) * exchanged, factors, pivots


def _eliminated(x: Any) -> Any:
    """(the factors, the exchanges, the diagonal of U, 1 or -1 by the number of exchanges)"""
    torch = torch_library()
    factors, pivots, _ = torch.linalg.lu_factor_ex(x.mT if _by_columns(x) else x)
    exchanged = (pivots != torch.arange(1, x.shape[-1] + 1)).sum(-1) % 2
    return factors, pivots, factors.diagonal(dim1=-2, dim2=-1), (1 - 2 * exchanged).to(x.dtype)


def _by_columns(x: Any) -> bool:
    """Whether PyTorch factorises the transpose, which is what lies in memory as LAPACK wants it."""
    return x.is_contiguous() and not x.is_complex()


def solution(a: Any, b: Any, *, left: bool = True, check_errors: bool = False) -> Any:
    """(the x of a @ x = b, or of x @ a = b if not `left`, the factors of a, their exchanges, the first zero pivot)

    As PyTorch has it, and as its gradient expects, `a` is factorised however it lies. A `b` of one axis fewer is a
    vector for each matrix.
    """
    torch = torch_library()
    factors, pivots, info = torch.ops.aten.linalg_lu_factor_ex(a, check_errors=check_errors)
    is_vector = b.dim() == 1 or (a.dim() - 1 == b.dim() and b.shape == a.shape[:-1])
    given = b.unsqueeze(-1) if is_vector else b
    found = torch.linalg.lu_solve(factors, pivots, given, left=left)
    return found.squeeze(-1) if is_vector else found, factors, pivots, info


def factors_of(x: Any, *, pivot: bool = True) -> Any:
    """(P, L, U)"""
    torch = torch_library()
    factors, pivots, _ = torch.linalg.lu_factor_ex(x, pivot=pivot)
    order, left, right = torch.lu_unpack(factors, pivots)
    return (order if pivot else x.new_empty(0)), left, right


def solution_by_triangle(
    y: Any, x: Any, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> Any:
    """(the z of x @ z = y, `x` again)"""
    given = x.mT if transpose else x
    found = torch_library().linalg.solve_triangular(given, y, upper=upper is not transpose, unitriangular=unitriangular)
    return found, x.clone()


def cholesky(x: Any, upper: bool = False) -> Any:
    return torch_library().linalg.cholesky_ex(x, upper=upper, check_errors=True)[0]


def solution_by_cholesky(y: Any, factor: Any, upper: bool = False) -> Any:
    """The z of L @ Lᴴ @ z = y"""
    solve = torch_library().linalg.solve_triangular
    left = factor.mH if upper else factor
    return solve(left.mH, solve(left, y, upper=False), upper=True)


def inverse_by_cholesky(factor: Any, upper: bool = False) -> Any:
    ones = torch_library().eye(factor.shape[-1], dtype=factor.dtype).expand(factor.shape)
    return solution_by_cholesky(ones, factor, upper)


def pseudo_inverse(x: Any, *, atol: Any = None, rtol: Any = None, hermitian: bool = False) -> Any:
    """V / s @ Uᴴ of the singular values (or eigenvalues) s above the tolerances."""
    torch = torch_library()
    if hermitian:
        values, u = torch.linalg.eigh(x)
        v = u.mH
    else:
        u, values, v = torch.linalg.svd(x, full_matrices=False)
    if not values.shape[-1]:
        return x.mH.clone()
    size = values.abs()
    given = torch.zeros((), dtype=values.dtype) if atol is None else atol
    usual = max(x.shape[-2:]) * torch.finfo(x.dtype).eps
    share = torch.where(given > 0, 0.0, usual).to(values.dtype) if rtol is None else rtol
    least = torch.maximum(given[..., None], share[..., None] * size.amax(-1, keepdim=True))
    turned = torch.where(size > least, 1 / torch.where(size > least, values, 1), 0)
    return v.mH * turned[..., None, :] @ u.mH
