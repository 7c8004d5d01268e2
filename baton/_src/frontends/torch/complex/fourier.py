"""Fourier transforms: products with matrices computed while importing, one axis after another. Lengths must be
known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.complex.pair import Pair
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.ir.tensor_info import Dim
from baton._src.values.tensor import AnyArray

MAX_LENGTH = 1 << 13
"""A transform of length n costs an n x n matrix."""


def from_real(node: AtenNode, x: Value, dims: Sequence[int], normalization: int, onesided: bool) -> Pair:
    """`_fft_r2c`: the last axis named from reals, only the first half of it if one-sided; the others after it."""
    lengths = _lengths(node, node.sizes(x), dims)
    last = dims[-1] % x.rank
    matrix = _matrix(lengths[-1], forward=True)
    if onesided:
        matrix = matrix[:, : lengths[-1] // 2 + 1]
    scale = _scale(lengths, normalization)
    found = Pair(*(_along(node, x, last, part * scale) for part in (matrix.real, matrix.imag)))
    for dim, length in zip(dims[:-1], lengths[:-1], strict=True):
        found = _turned(node, found, dim % x.rank, _matrix(length, forward=True))
    return found


def between(node: AtenNode, x: Pair, dims: Sequence[int], normalization: int, forward: bool) -> Pair:
    """`_fft_c2c`"""
    lengths = _lengths(node, node.sizes(x.real), dims)
    scale = _scale(lengths, normalization)
    for place, (dim, length) in enumerate(zip(dims, lengths, strict=True)):
        x = _turned(node, x, dim % x.real.rank, _matrix(length, forward) * (1 if place else scale))
    return x


def to_real(node: AtenNode, x: Pair, dims: Sequence[int], normalization: int, last_dim_size: Dim) -> Value:
    """`_fft_c2r`: the inverse of half a spectrum, whose other half is its mirror image, conjugated."""
    rank, shape = x.real.rank, node.sizes(x.real)
    last, length = dims[-1] % rank, node.known(last_dim_size, "the length of a transform")
    lengths = [*_lengths(node, shape, dims[:-1]), length]
    for dim, own in zip(dims[:-1], lengths[:-1], strict=True):
        x = _turned(node, x, dim % rank, _matrix(own, forward=False))
    count = node.known(shape[last], "the size of a spectrum")
    if length > MAX_LENGTH:
        _too_long(node, length)
    twice = np.array([1 if k == 0 or 2 * k == length else 2 for k in range(count)])[:, None]
    matrix = _matrix(length, forward=False)[:count] * twice * _scale(lengths, normalization)
    real, imag = _along(node, x.real, last, matrix.real), _along(node, x.imag, last, matrix.imag)
    return node.graph.call("subtract", real, imag)


def _lengths(node: AtenNode, shape: Sequence[Dim], dims: Sequence[int]) -> list[int]:
    found = [node.known(shape[d % len(shape)], "the length of a transform") for d in dims]
    for length in found:
        if length > MAX_LENGTH:
            _too_long(node, length)
    return found


def _too_long(node: AtenNode, length: int) -> None:
    node.fail(f"a transform of length {length} is not supported", help=f"at most {MAX_LENGTH}; take it in parts")


def _scale(lengths: Sequence[int], normalization: int) -> float:
    """PyTorch numbers its normalisations: none, by the square root of the number of elements, by that number."""
    count = math.prod(lengths)
    return {0: 1.0, 1: 1 / math.sqrt(count), 2: 1 / count}[normalization]


def _matrix(length: int, forward: bool) -> AnyArray:
    places = np.arange(length)
    found: AnyArray = _roots(length, -1 if forward else 1)[np.outer(places, places) % length]
    return found


def _roots(length: int, sign: int) -> AnyArray:
    """All roots of 1, counted from 1 in the direction of `sign`.

    Quarters of a turn are exact, and zeros positive: where a spectrum of real numbers is real, its angle is 0 or pi.
    """
    turns = np.arange(length)
    angle = 2 * np.pi * turns / length
    cosine, sine = np.cos(angle), np.sin(angle)
    quarters = turns[4 * turns % length == 0]
    for part, values in ((cosine, (1, 0, -1, 0)), (sine, (0, 1, 0, -1))):
        part[quarters] = np.take(values, 4 * quarters // length)
    found = np.empty(length, np.complex128)
    found.real, found.imag = cosine, sign * sine + 0.0
    return found


def _turned(node: AtenNode, x: Pair, axis: int, matrix: AnyArray) -> Pair:
    g = node.graph
    products = {(p, q): _along(node, getattr(x, p), axis, getattr(matrix, q)) for p in _NAMES for q in _NAMES}
    real = g.call("subtract", products["real", "real"], products["imag", "imag"])
    return Pair(real, g.call("add", products["real", "imag"], products["imag", "real"]))


_NAMES = ("real", "imag")


def _along(node: AtenNode, x: Value, axis: int, matrix: AnyArray) -> Value:
    """Every line along an axis times a matrix [before, after]."""
    g = node.graph
    order = [a for a in range(x.rank) if a != axis] + [axis]
    found = g.call("matmul", g.transpose(x, order), g.constant(matrix, x.dtype))
    return g.transpose(found, [order.index(a) for a in range(x.rank)])


FOURIER: dict[str, Converter] = {
    "aten._fft_r2c.default": from_real, "aten._fft_c2c.default": between, "aten._fft_c2r.default": to_real,
}  # fmt: skip
