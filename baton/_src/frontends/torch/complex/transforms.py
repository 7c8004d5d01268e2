"""The Fourier transform of the last axis: a product with a matrix, or of a long axis two shorter transforms.

Tensors are lists of parts here: the real one, and the imaginary one where there is one. With n = a * b, places
b * p + q and frequencies r + a * s,

    X[r + a s] = sum over q of root_b^(q s) * root_n^(q r) * (sum over p of root_a^(p r) * x[b p + q])

so that the axis is a matrix whose columns are transformed, then turned element by element, then its rows. Where no
factor fits, the transform is a convolution with root_2n^(k * k) (Bluestein), made by transforms of a power of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isqrt

import numpy as np

from baton._src.frontends.graph_builder.value import Value
from baton._src.frontends.torch.node import AtenNode
from baton._src.frontends.torch.operators.padding import pad
from baton._src.frontends.torch.operators.shape import cut
from baton._src.support.dataclass import dataclass
from baton._src.values.tensor import AnyArray

_SHORT = 32
"""Transforms up to this length are one product; longer factors are not chosen."""
_LONG = 128
"""The longest transform that is one product for want of factors: its matrix has n * n complex elements."""


@dataclass(frozen=True)
class Transform:
    """Which transform: of `length` elements, of which those that a tensor lacks at the end are zero; `sign` of the
    exponent; a factor; how many of the results are kept, the first ones; whether only their real parts are.
    """

    length: int
    sign: int
    scale: float
    kept: int
    to_real: bool = False


def transformed(node: AtenNode, parts: Sequence[Value], wanted: Transform) -> list[Value]:
    first = _factor(wanted.length)
    if first > 1:
        return _in_two(node, parts, wanted, first)
    if wanted.length > _LONG:
        return _by_convolution(node, parts, wanted)
    given = _size(node, parts)
    matrix = _matrix(wanted.length, wanted.sign)[:given, : wanted.kept] * wanted.scale
    both = _real_matrix(matrix, parts, wanted.to_real)
    rank = parts[0].rank
    found = node.graph.call("matmul", _joined(node, parts, rank - 1), node.graph.constant(both, parts[0].dtype))
    return [found] if wanted.to_real else _halves(node, found, rank - 1)


def _in_two(node: AtenNode, parts: Sequence[Value], wanted: Transform, first: int) -> list[Value]:
    g, rest, (*lines, given) = node.graph, wanted.length // first, node.sizes(parts[0])
    rows = -(-_size(node, parts) // rest)
    tables = [g.reshape(pad(node, p, (0, rows * rest - given)), (*lines, rows, rest)) for p in parts]
    down = len(lines)
    matrix = _real_matrix(_matrix(first, wanted.sign)[:rows] * wanted.scale, parts).T
    columns = g.call("matmul", g.constant(matrix, parts[0].dtype), _joined(node, tables, down))
    turns = _roots(wanted.length, wanted.sign)[np.outer(np.arange(first), np.arange(rest))]
    turned = _times(node, _halves(node, columns, down), turns)
    kept = -(-wanted.kept // first)
    found = transformed(node, turned, replace(wanted, length=rest, scale=1.0, kept=kept))
    order = (*range(down), down + 1, down)
    rows_first = [g.reshape(g.transpose(p, order), (*lines, kept * first)) for p in found]
    return [cut(node, p, down, 0, wanted.kept) for p in rows_first]


def _by_convolution(node: AtenNode, parts: Sequence[Value], wanted: Transform) -> list[Value]:
    """q k = (q^2 + k^2 - (k - q)^2) / 2 makes a convolution of the sum over q."""
    length, given = wanted.length, _size(node, parts)
    size = 1 << (2 * length - 2).bit_length()
    chirp = _roots(2 * length, wanted.sign)[np.arange(length) ** 2 % (2 * length)]
    kernel = np.zeros(size, np.complex128)
    kernel[:length] = chirp.conj()
    kernel[size - length + 1 :] = chirp[:0:-1].conj()
    spectrum = transformed(node, _times(node, parts, chirp[:given]), Transform(size, -1, 1.0, size))
    mixed = _times(node, spectrum, np.fft.fft(kernel) / size)
    found = transformed(node, mixed, Transform(size, 1, wanted.scale, wanted.kept))
    real, imag = _times(node, found, chirp[: wanted.kept])
    if wanted.to_real:
        return [real]
    return [real, imag if len(parts) == 2 else _without_ends(node, imag, length)]


def _without_ends(node: AtenNode, imag: Value, length: int) -> Value:
    """Zero where a spectrum of reals is real, whatever was rounded."""
    g, places = node.graph, np.arange(_size(node, [imag]))
    return g.call("where", g.constant(2 * places % length != 0), imag, g.scalar(0.0, imag))


def _factor(length: int) -> int:
    """The factor to divide a transform by, 1 if there is none.

    What is left of an even length is even: the middle frequency of reals is then added up from real numbers.
    """
    if length <= _SHORT:
        return 1
    return max(f for f in range(1, min(isqrt(length), _SHORT) + 1) if not length % f and not (length // f - length) % 2)


def _size(node: AtenNode, parts: Sequence[Value]) -> int:
    return node.known(node.sizes(parts[0])[-1], "the length of a transform")


def _times(node: AtenNode, parts: Sequence[Value], factors: AnyArray) -> list[Value]:
    g, dtype = node.graph, parts[0].dtype
    across, along = (g.constant(np.ascontiguousarray(f), dtype) for f in (factors.real, factors.imag))
    if len(parts) == 1:
        return [g.call("multiply", parts[0], f) for f in (across, along)]
    (re, im), times = parts, "multiply"
    return [
        g.call("subtract", g.call(times, re, across), g.call(times, im, along)),
        g.call("add", g.call(times, re, along), g.call(times, im, across)),
    ]


def _joined(node: AtenNode, parts: Sequence[Value], axis: int) -> Value:
    return parts[0] if len(parts) == 1 else node.graph.call("concat", tuple(parts), axis=axis)


def _halves(node: AtenNode, x: Value, axis: int) -> list[Value]:
    half = node.known(node.sizes(x)[axis], "the length of a transform") // 2
    return [cut(node, x, axis, half * k, half * (k + 1)) for k in (0, 1)]


def _real_matrix(matrix: AnyArray, parts: Sequence[Value], to_real: bool = False) -> AnyArray:
    """From the parts, side by side, to the parts of the product with `matrix`, side by side."""
    rows = [[matrix.real, matrix.imag], [-matrix.imag, matrix.real]][: len(parts)]
    found: AnyArray = np.block([row[: 1 if to_real else 2] for row in rows]) + 0.0  # no negative zeros
    return found


def _matrix(length: int, sign: int) -> AnyArray:
    places = np.arange(length)
    found: AnyArray = _roots(length, sign)[np.outer(places, places) % length]
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
