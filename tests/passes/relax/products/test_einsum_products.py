"""EinsumProducts: which sums over axes of two tensors become products of matrices, and that they mean the same."""

from __future__ import annotations

from typing import Any

import pytest

from baton._src.passes.relax.products.einsum_products import EinsumProducts
from baton._src.relax.nodes import Tuple
from tests.passes.relax.programs import R, arrays, called, check, dim, program, tensor


def einsum(equation: str, left: tuple[Any, ...], right: tuple[Any, ...]) -> Any:
    return program([tensor("x", *left), tensor("w", *right)], lambda b, x, w: R.einsum(Tuple([x, w]), equation))


@pytest.mark.parametrize(
    ("equation", "left", "right"),
    [
        ("ibnd,hnd->ibh", (3, 2, 2, 4), (5, 2, 4)),  # two axes summed, weights transposed
        ("ibh,hnd->ibnd", (3, 2, 4), (4, 2, 5)),  # several columns
        ("hnd,ibnd->ibh", (5, 2, 4), (3, 2, 2, 4)),  # the second operand has the rows
        ("ij,jk->ik", (3, 4), (4, 5)),
        ("ij,jk", (3, 4), (4, 5)),
    ],
)
def test_products(equation: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    after = check(EinsumProducts(), einsum(equation, left, right), *arrays(left, right))
    assert [name for name in called(after) if name not in ("reshape", "permute_dims")] == ["matmul"]


def test_open_sizes() -> None:
    n = dim()
    after = check(EinsumProducts(), einsum("nbd,hbd->nh", (n, 2, 4), (5, 2, 4)), *arrays((3, 2, 4), (5, 2, 4)))
    assert [name for name in called(after) if name not in ("reshape", "permute_dims")] == ["matmul"]


@pytest.mark.parametrize(
    ("equation", "left", "right"),
    [
        ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),  # a letter in both and the result
        ("ij,jk->ki", (3, 4), (4, 5)),  # the result is transposed
        ("ji,jk->ik", (4, 3), (4, 5)),  # and here the operand with the rows
        ("iij,jk->ik", (3, 3, 4), (4, 5)),  # a diagonal
        ("...ij,jk->...ik", (2, 3, 4), (4, 5)),
        ("ij,jk->ik", (3, 1), (4, 5)),  # the one axis is repeated
        ("ij,k->ik", (3, 4), (5,)),  # nothing shared
        ("ij,ij->i", (3, 4), (3, 4)),
    ],
)
def test_left_alone(equation: str, left: tuple[int, ...], right: tuple[int, ...]) -> None:
    assert called(check(EinsumProducts(), einsum(equation, left, right), *arrays(left, right))) == ["einsum"]
