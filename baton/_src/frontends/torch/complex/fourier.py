"""Fourier transforms of PyTorch, one axis after another. Lengths must be known."""

from __future__ import annotations

import math
from collections.abc import Sequence

from baton._src.frontends.graph_builder.fourier import fourier
from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.complex.pair import Pair
from baton._src.frontends.torch.node import AtenNode, Converter
from baton._src.frontends.torch.operators.padding import pad
from baton._src.frontends.torch.operators.shape import cut
from baton._src.ir.tensor_info import Dim


def from_real(node: AtenNode, x: Value, dims: Sequence[int], normalization: int, onesided: bool) -> Pair:
    """`_fft_r2c`: only the first half of the last axis named if one-sided."""
    return _of_reals(node, x, dims, normalization, -1, onesided)


def between(node: AtenNode, x: Pair, dims: Sequence[int], normalization: int, forward: bool) -> Pair:
    """`_fft_c2c`"""
    sign = -1 if forward else 1
    if x.imag.array is not None and not x.imag.array.any():
        return _of_reals(node, x.real, dims, normalization, sign, onesided=False)
    lengths = _lengths(node, node.sizes(x.real), dims)
    return _whole(node, x, dims, lengths, sign, _scale(lengths, normalization))


def _of_reals(node: AtenNode, x: Value, dims: Sequence[int], normalization: int, sign: int, onesided: bool) -> Pair:
    """The last axis named from reals, the others after it."""
    lengths = _lengths(node, node.sizes(x), dims)
    length = lengths[-1]
    kept = length // 2 + 1 if onesided else length
    scale = _scale(lengths, normalization)
    found = Pair(*fourier(node.graph, [x], dims[-1] % x.rank, length=length, sign=sign, scale=scale, kept=kept))
    return _whole(node, found, dims[:-1], lengths[:-1], sign)


def to_real(node: AtenNode, x: Pair, dims: Sequence[int], normalization: int, last_dim_size: Dim) -> Value:
    """`_fft_c2r`: the inverse of half a spectrum, whose other half is its mirror image, conjugated."""
    rank, shape = x.real.rank, node.sizes(x.real)
    last, length = dims[-1] % rank, node.known(last_dim_size, "the length of a transform")
    lengths = [*_lengths(node, shape, dims[:-1]), length]
    x = _whole(node, x, dims[:-1], lengths[:-1], 1)
    parts = [_of_size(node, p, last, length // 2 + 1) for p in (x.real, x.imag)]
    scale = _scale(lengths, normalization)
    (found,) = fourier(node.graph, parts, last, length=length, sign=1, scale=scale, to_real=True)
    return found


def _of_size(node: AtenNode, x: Value, axis: int, size: int) -> Value:
    """Cut, or zeros appended, along an axis."""
    given = node.known(node.sizes(x)[axis], "the size of a spectrum")
    if given >= size:
        return cut(node, x, axis, 0, size) if given > size else x
    return pad(node, x, (0, 0) * (x.rank - 1 - axis) + (0, size - given))


def _whole(node: AtenNode, x: Pair, dims: Sequence[int], lengths: Sequence[int], sign: int, scale: float = 1.0) -> Pair:
    """All of a spectrum along each axis, `scale` times."""
    for place, (dim, length) in enumerate(zip(dims, lengths, strict=True)):
        parts = [x.real, x.imag]
        factor = 1.0 if place else scale
        x = Pair(*fourier(node.graph, parts, dim % x.real.rank, length=length, sign=sign, scale=factor))
    return x


def _lengths(node: AtenNode, shape: Sequence[Dim], dims: Sequence[int]) -> list[int]:
    return [node.known(shape[d % len(shape)], "the length of a transform") for d in dims]


def _scale(lengths: Sequence[int], normalization: int) -> float:
    """PyTorch numbers its normalisations: none, by the square root of the number of elements, by that number."""
    count = math.prod(lengths)
    return {0: 1.0, 1: 1 / math.sqrt(count), 2: 1 / count}[normalization]


FOURIER: dict[str, Converter] = {
    "aten._fft_r2c.default": from_real, "aten._fft_c2c.default": between, "aten._fft_c2r.default": to_real,
}  # fmt: skip
