"""Algebra of small matrices in PyTorch's terms, written out step by step: determinants, triangular systems."""

from __future__ import annotations

from typing import Any

from baton._src.frontends.torch.library import torch_library

LARGEST = 32
"""As many rows are written out: every one is a step of its own."""


def log_determinant(x: Any) -> Any:
    """(sign, log |det|, the factors, the swaps). As PyTorch has it, what lies by rows is factorised by columns."""
    torch = torch_library()
    if x.is_complex() or not _is_small(x):
        return NotImplemented
    factors, swaps = factorised(x.mT if x.is_contiguous() else x)
    diagonal = factors.diagonal(dim1=-2, dim2=-1)
    swapped = (swaps != torch.arange(1, x.shape[-1] + 1)).sum(-1) % 2
    sign = torch.sign(diagonal).prod(-1) * (1 - 2 * swapped).to(x.dtype)
    return sign, torch.log(diagonal.abs()).sum(-1), factors, swaps


def factorised(x: Any) -> tuple[Any, Any]:
    """(L below the diagonal and U, the row that each one was swapped with, counted from 1): Gauss with pivots."""
    torch = torch_library()
    rows = torch.arange(x.shape[-1])
    swaps = []
    for k in range(x.shape[-1]):
        behind = rows > k
        chosen = torch.where(rows >= k, x[..., k].abs(), -1).argmax(-1, keepdim=True)
        order = torch.where(rows == k, chosen, torch.where(rows == chosen, k, rows))
        x = x.gather(-2, order[..., None].expand(x.shape))
        pivot = x[..., k, k][..., None]
        factor = torch.where(behind & (pivot != 0), x[..., k] / torch.where(pivot == 0, 1, pivot), 0)
        rest = torch.where(behind, x[..., k, :], 0)
        x = torch.where(behind[:, None] & (rows == k), factor[..., None], x - factor[..., None] * rest[..., None, :])
        swaps.append(chosen)
    return x, (torch.cat(swaps, -1) + 1).to(torch.int32)


def triangular_solution(x: Any, y: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """The z of x @ z = y, or of z @ x = y if not `left`, row by row."""
    torch = torch_library()
    if not left:
        found = triangular_solution(x.mT, y.mT, upper=not upper, unitriangular=unitriangular)
        return found if found is NotImplemented else found.mT
    if x.is_complex() or not _is_small(x):
        return NotImplemented
    count = x.shape[-1]
    solved: dict[int, Any] = {}
    for k in reversed(range(count)) if upper else range(count):
        rest = y[..., k, :]
        for other, row in solved.items():
            rest = rest - x[..., k, other][..., None] * row
        solved[k] = rest if unitriangular else rest / x[..., k, k][..., None]
    return torch.stack([solved[k] for k in range(count)], -2)


def _is_small(x: Any) -> bool:
    return isinstance(x.shape[-1], int) and 0 < x.shape[-1] <= LARGEST
