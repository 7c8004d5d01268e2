"""Products of Householder's reflections, I - tau v vᴴ, as LAPACK keeps them: v below a diagonal of ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from baton._src.values.tensor import AnyArray, NDArray


def _given(array: Any, like: AnyArray) -> NDArray:
    return NDArray(np.ascontiguousarray(array, like.dtype))


def reflectors(x: NDArray) -> tuple[NDArray, NDArray]:
    """(R with the reflections' vectors below it, their factors tau)"""
    packed, factors = np.linalg.qr(x.data, "raw")
    return _given(np.swapaxes(packed, -1, -2), x.data), _given(factors, x.data)


def _reflected(packed: AnyArray, factors: AnyArray, y: AnyArray, adjoint: bool) -> AnyArray:
    """Qᴴ y if `adjoint`, else Q y, where Q is the product of all reflections in order."""
    outer = np.broadcast_shapes(packed.shape[:-2], y.shape[:-2])
    found = np.broadcast_to(y, (*outer, *y.shape[-2:])).copy()
    turns, scales = range(factors.shape[-1]), factors.conj() if adjoint else factors
    for c in turns if adjoint else reversed(turns):
        v = packed[..., c:, c].copy()
        v[..., 0] = 1
        along = v.conj()[..., None, :] @ found[..., c:, :]
        found[..., c:, :] -= scales[..., c, None, None] * v[..., :, None] * along
    return found


def product(packed: NDArray, factors: NDArray) -> NDArray:
    """The first columns of Q, as many as `packed` has."""
    x = packed.data
    return _given(_reflected(x, factors.data, np.eye(*x.shape[-2:], dtype=x.dtype), adjoint=False), x)


def multiply(packed: NDArray, factors: NDArray, y: NDArray, left: int, adjoint: int) -> NDArray:
    """Q y, or y Q if not `left`; of the adjoint of Q if `adjoint`."""
    x, b = packed.data, y.data
    if left:
        return _given(_reflected(x, factors.data, b, bool(adjoint)), b)
    found = _reflected(x, factors.data, np.swapaxes(b, -1, -2).conj(), not adjoint)
    return _given(np.swapaxes(found, -1, -2).conj(), b)


TABLE: Mapping[str, Callable[..., Any]] = {
    "vm.builtin.matrices.reflectors": reflectors,
    "vm.builtin.matrices.reflectors_product": product,
    "vm.builtin.matrices.reflectors_multiply": multiply,
}
