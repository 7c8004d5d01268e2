"""`fourier` by other operators, where its kernel does not serve: a product with a matrix for short lengths, two shorter
transforms for very long ones and for factors that are large primes, and a convolution for these primes.

With n = a * b, places b * p + q and frequencies r + a * s,

    X[r + a s] = sum over q of root_b^(q s) * root_n^(q r) * (sum over p of root_a^(p r) * x[b p + q])

so that the axis is a matrix whose columns are transformed, then multiplied by twiddle factors, then its rows. Where no
factor fits, the transform is a convolution with root_2n^(k * k) (Bluestein), made by transforms of a power of two.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from baton._src.ir.expr import GraphExpr
from baton._src.ir.op_def import CallMaker, Exprs
from baton._src.ir.tensor_info import Dim, TensorInfo
from baton._src.ops.dims import as_dim
from baton._src.ops.linalg.fourier_attributes import FourierAttrs
from baton._src.ops.linalg.fourier_kernel.columns import are_columns
from baton._src.ops.linalg.fourier_kernel.plan import is_planned
from baton._src.ops.linalg.fourier_kernel.roots import roots
from baton._src.support.dataclass import dataclass
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray

SHORT = 64
"""Transforms up to this length are one product."""
_COLUMNS = 32
"""The longest factor that is split off."""
_LONG = 128
"""The longest transform that is one product for want of factors: its matrix has n * n complex elements."""


def decompose(b: CallMaker, args: Exprs, a: FourierAttrs, out: TensorInfo) -> GraphExpr | None:
    """The transform by other operators; None where the kernel serves, or nothing is known of the shape."""
    fields = args[0].struct_info.fields
    shape = getattr(fields[0].shape, "values", None)
    if shape is not None and a.columns:
        width = as_dim(shape[-1])
        if isinstance(width, int) and width and are_columns(a.length, width, fields[0].dtype):
            return None
        return _as_rows(b, [b.item(args[0], n) for n in range(len(fields))], a, len(shape))
    if shape is None or (a.length > SHORT and is_planned(transformed_length(a, len(fields)))):
        return None
    work = _Work(b, tuple(shape[:-1]), fields[0].dtype)
    parts = [b.item(args[0], n) for n in range(len(fields))]
    if a.to_real and a.length > SHORT:
        parts = work.mirrored(parts, a.length)
        return work.transformed(parts, a.length, a.sign, a.scale, a.length)[0]
    found = work.transformed(parts, a.length, a.sign, a.scale, a.results, a.to_real)
    return found[0] if a.to_real else b.tuple(*found)


def _as_rows(b: CallMaker, parts: Exprs, a: FourierAttrs, rank: int) -> GraphExpr:
    """The last two axes exchanged, before and after."""
    order = (*range(rank - 2), rank - 1, rank - 2)
    moved = b.tuple(*(b.op("permute_dims", p, axes=order) for p in parts))
    found = b.op("fourier", moved, length=a.length, sign=a.sign, scale=a.scale, kept=a.kept)
    return b.tuple(*(b.op("permute_dims", b.item(found, n), axes=order) for n in (0, 1)))


def transformed_length(a: FourierAttrs, parts: int) -> int:
    """The complex elements that the kernel transforms: half as many if they are real, before or after."""
    return a.length // 2 if a.length % 2 == 0 and (a.to_real or parts == 1) else a.length


@dataclass(frozen=True)
class _Work:
    """The operators to make, for rows of the leading axes `lines`."""

    b: CallMaker
    lines: tuple[Dim, ...]
    dtype: DataType

    def transformed(
        self, parts: Exprs, length: int, sign: int, scale: float, kept: int, to_real: bool = False
    ) -> list[GraphExpr]:
        """The parts of the first `kept` results."""
        if length <= SHORT:
            matrix = _from_half(length, sign) if to_real else _matrix(length, sign)[:, :kept]
            return self._product(parts, matrix * scale, to_real)
        first = _factor(length)
        if first > 1:
            return self._in_two(parts, length, sign, scale, kept, first)
        if length > _LONG:
            return self._by_convolution(parts, length, sign, scale, kept)
        return self._product(parts, _matrix(length, sign)[:, :kept] * scale)

    def _again(self, parts: Exprs, length: int, sign: int, scale: float, kept: int) -> list[GraphExpr]:
        """The operator itself, of another length."""
        found = self.b.op("fourier", self.b.tuple(*parts), length=length, sign=sign, scale=scale, kept=kept)
        return [self.b.item(found, n) for n in (0, 1)]

    def _product(self, parts: Exprs, matrix: AnyArray, to_real: bool = False) -> list[GraphExpr]:
        joined = self._joined(parts, len(self.lines))
        found = self.b.op("matmul", joined, self._constant(_real_matrix(matrix, len(parts), to_real)))
        return [found] if to_real else self._halves(found, len(self.lines), matrix.shape[1])

    def _in_two(self, parts: Exprs, length: int, sign: int, scale: float, kept: int, first: int) -> list[GraphExpr]:
        b, down, rest = self.b, len(self.lines), length // first
        tables = [b.op("reshape", p, b.shape((*self.lines, first, rest))) for p in parts]
        matrix = _real_matrix(_matrix(first, sign) * scale, len(parts)).T
        columns = b.op("matmul", self._constant(matrix), self._joined(tables, down))
        twiddles = roots(length, sign)[np.outer(np.arange(first), np.arange(rest))]
        rows = self._times(self._halves(columns, down, first), twiddles)
        each = -(-kept // first)
        order = (*range(down), down + 1, down)
        found = [b.op("permute_dims", p, axes=order) for p in self._again(rows, rest, sign, 1.0, each)]
        flat = [b.op("reshape", p, b.shape((*self.lines, each * first))) for p in found]
        return [self._cut(p, down, 0, kept) if kept != each * first else p for p in flat]

    def _by_convolution(self, parts: Exprs, length: int, sign: int, scale: float, kept: int) -> list[GraphExpr]:
        """q k = (q^2 + k^2 - (k - q)^2) / 2 makes a convolution of the sum over q."""
        size = 1 << (2 * length - 2).bit_length()
        chirp = roots(2 * length, sign)[np.arange(length) ** 2 % (2 * length)]
        kernel = np.zeros(size, np.complex128)
        kernel[:length] = chirp.conj()
        kernel[size - length + 1 :] = chirp[:0:-1].conj()
        wide = ((0, 0),) * len(self.lines) + ((0, size - length),)
        signal = [self.b.op("nn.pad", p, pad_width=wide) for p in self._times(parts, chirp)]
        mixed = self._times(self._again(signal, size, -1, 1.0, size), np.fft.fft(kernel) / size)
        real, imag = self._times(self._again(mixed, size, 1, scale, kept), chirp[:kept])
        return [real, imag if len(parts) == 2 else self._without_ends(imag, length, kept)]

    def _without_ends(self, imag: GraphExpr, length: int, kept: int) -> GraphExpr:
        """Zero where a spectrum of reals is real, whatever was rounded."""
        within = self.b.const(2 * np.arange(kept) % length != 0)
        return self.b.op("where", within, imag, self._constant(np.zeros(())))

    def mirrored(self, parts: Exprs, length: int) -> list[GraphExpr]:
        """Half a spectrum and its mirror image, conjugated."""
        b, axis = self.b, len(self.lines)
        ends = 2 * np.arange(length // 2 + 1) % length != 0
        parts = [parts[0], b.op("multiply", parts[1], self._constant(ends * 1.0))]
        found = []
        for part, factor in zip(parts, (1.0, -1.0)):
            others = b.op("flip", self._cut(part, axis, 1, (length + 1) // 2), axis=axis)
            mirror = b.op("multiply", others, self._constant(np.array(factor)))
            found.append(b.op("concat", b.tuple(part, mirror), axis=axis))
        return found

    def _times(self, parts: Exprs, factors: AnyArray) -> list[GraphExpr]:
        b = self.b
        across, along = (self._constant(np.ascontiguousarray(f)) for f in (factors.real, factors.imag))
        if len(parts) == 1:
            return [b.op("multiply", parts[0], f) for f in (across, along)]
        (re, im), times = parts, "multiply"
        return [
            b.op("subtract", b.op(times, re, across), b.op(times, im, along)),
            b.op("add", b.op(times, re, along), b.op(times, im, across)),
        ]

    def _constant(self, values: AnyArray) -> GraphExpr:
        return self.b.const(values.astype(self.dtype.numpy), self.dtype)

    def _joined(self, parts: Exprs, axis: int) -> GraphExpr:
        return parts[0] if len(parts) == 1 else self.b.op("concat", self.b.tuple(*parts), axis=axis)

    def _halves(self, x: GraphExpr, axis: int, half: int) -> list[GraphExpr]:
        return [self._cut(x, axis, half * n, half * (n + 1)) for n in (0, 1)]

    def _cut(self, x: GraphExpr, axis: int, begin: int, end: int) -> GraphExpr:
        return self.b.op("strided_slice", x, (axis,), (begin,), (end,), (1,))


def _factor(length: int) -> int:
    """The factor to divide a transform by, 1 if there is none.

    What is left of an even length is even: the middle frequency of reals is then added up from real numbers.
    """
    most = min(isqrt(length), _COLUMNS)
    return max(f for f in range(1, most + 1) if not length % f and not (length // f - length) % 2)


def _real_matrix(matrix: AnyArray, parts: int, to_real: bool = False) -> AnyArray:
    """From the parts, side by side, to the parts of the product with `matrix`, side by side."""
    rows = [[matrix.real, matrix.imag], [-matrix.imag, matrix.real]][:parts]
    found: AnyArray = np.block([row[: 1 if to_real else 2] for row in rows]) + 0.0  # no negative zeros
    return found


def _matrix(length: int, sign: int) -> AnyArray:
    places = np.arange(length)
    found: AnyArray = roots(length, sign)[np.outer(places, places) % length]
    return found


def _from_half(length: int, sign: int) -> AnyArray:
    """What turns half a spectrum into a real signal: the other half is its mirror image, conjugated."""
    places = np.arange(length // 2 + 1)
    found: AnyArray = _matrix(length, sign)[: len(places)] * np.where(2 * places % length, 2.0, 1.0)[:, None]
    return found
