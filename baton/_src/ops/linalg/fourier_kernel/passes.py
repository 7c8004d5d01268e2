"""The kernel of `fourier`: each row is transformed in memory of its own, by passes over whole vectors.

    rows of a x b -> passes of the radices of a, twiddled -> transposed -> passes of the radices of b -> result

A pass of radix r over n = r * m rows of `size` contiguous elements (Stockham's, which leaves the results in order):

    y[p * r + f] = root_n^(p f) * sum over j of root_r^(j f) * x[p + m * j]           each a row of `size` elements

after which there are m rows of r * size. They lie in two pieces of memory in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.ops import kernel_words as k
from baton._src.ops.linalg.fourier_kernel.butterflies import Complex, Lines, butterfly, product, square
from baton._src.ops.linalg.fourier_kernel.memory import Parts
from baton._src.ops.linalg.fourier_kernel.plan import Plan, plan
from baton._src.ops.linalg.fourier_kernel.roots import roots
from baton._src.ops.loop_nests import both, loop
from baton._src.ops.vector_loops import VECTOR
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.stmt import AllocateConst, BufferStore, Stmt
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray, array

Read = Callable[[PrimExpr, PrimExpr], Complex]
Write = Callable[[Lines, PrimExpr, PrimExpr, Complex], Stmt]
"""What a pass reads at a row and a column, and the statement that writes what it has computed there."""


class Passes:
    """Passes in one direction, and the constants of the kernel they are in."""

    def __init__(self, sign: int, dtype: DataType) -> None:
        self.dtype, self.sign, self.lanes = dtype, sign, VECTOR // dtype.itemsize
        self.constants: list[tuple[Buffer, AnyArray]] = []

    def columns(self, read: Read, write: Write, radices: tuple[int, ...], width: int, spare: list[Parts]) -> list[Stmt]:
        """Transforms of the columns of a matrix, `width` of them, through the `spare` memory in turn."""
        found, rest, before = [], prod(radices), 1
        stages = radices or (1,)
        for n, radix in enumerate(stages):
            rest //= radix
            target = write if n == len(stages) - 1 else self.writing(spare[n % 2], width)
            found.append(self._pass(read, target, radix, rest, before, width))
            read = self.reading(spare[n % 2], width)
            before *= radix
        return found

    def reading(self, memory: Parts, width: int) -> Read:
        """Whole vectors of a matrix in memory."""
        return lambda row, column: memory.vector(row * k.index(width) + column, self.lanes)

    def writing(self, memory: Parts, width: int) -> Write:
        """Whole vectors into a matrix in memory."""
        return lambda lines, row, column, value: memory.put(row * k.index(width) + column, value)

    def _pass(self, read: Read, write: Write, radix: int, rest: int, before: int, width: int) -> Stmt:
        """One pass over rows of `before` * `width` elements."""
        twiddles = self.table(_twiddles(radix, rest, self.sign)) if rest > 1 else None

        def at(p: PrimExpr, q: PrimExpr, column: PrimExpr) -> Stmt:
            lines, size = Lines(), k.index(before)
            x = [lines.complex(*read((p + k.index(rest * j)) * size + q, column)) for j in range(radix)]
            stores = []
            for f, y in enumerate(butterfly(lines, x, self.sign)):
                place = p * k.index(radix) + k.index(f)
                if twiddles is not None and f:
                    y = product(lines, y, twiddles.spread(place, self.lanes))
                stores.append(write(lines, place * size + q, column, y))
            return lines.before(both(*stores))

        def row(p: PrimExpr, q: PrimExpr) -> Stmt:
            return loop(width // self.lanes, lambda chunk: at(p, q, chunk * k.index(self.lanes)), "chunk")

        return _loop(rest, "p", lambda p: _loop(before, "q", lambda q: row(p, q)))

    def table(self, values: AnyArray) -> Parts:
        """Constants of the kernel."""
        made = []
        for part in (values.real, values.imag):
            buffer = decl_buffer([k.index(values.size)], self.dtype, f"table{len(self.constants)}")
            self.constants.append((buffer, np.ascontiguousarray(part.reshape(-1))))
            made.append(buffer)
        return Parts(*made)

    def with_constants(self, body: Stmt) -> Stmt:
        """The tables around the statement."""
        for buffer, values in self.constants:
            data = array(values.astype(buffer.dtype.numpy))
            body = AllocateConst(buffer.data, buffer.dtype, buffer.shape, data, body)
        return body


class RowPasses(Passes):
    """The transform of a row of `length` elements, as a matrix; results are times `scale`."""

    def __init__(self, length: int, sign: int, scale: float, dtype: DataType) -> None:
        super().__init__(sign, dtype)
        self.plan: Plan = plan(length, self.lanes)
        self.wide = tuple(-(-n // self.lanes) * self.lanes for n in (self.plan.a, self.plan.b))
        self.scale = scale

    @property
    def room(self) -> int:
        """Elements of each buffer."""
        return prod(self.wide)

    def whole(self, read: Read, write: Write | None, first: Parts, second: Parts) -> tuple[list[Stmt], Parts]:
        """From rows of b columns to rows of a columns, both rounded up: the statements, and where the result is unless
        `write` is given. `read` may read `second`.
        """
        a, b, (wide_a, wide_b) = self.plan.a, self.plan.b, self.wide
        table = self.reading(self.table(_padded(_twiddles(a, b, self.sign, across=True) * self.scale, wide_b)), wide_b)
        target, other = (first, second) if len(self.plan.rows or (1,)) % 2 else (second, first)

        def twiddled(lines: Lines, row: PrimExpr, column: PrimExpr, value: Complex) -> Stmt:
            return target.put(row * k.index(wide_b) + column, product(lines, value, table(row, column)))

        down = self.columns(read, twiddled, self.plan.rows, wide_b, [first, second])
        moved = [self._transposed(s, t) for s, t in ((target.re, other.re), (target.im, other.im))]
        landing = target if len(self.plan.columns or (1,)) % 2 else other
        write = write or self.writing(landing, wide_a)
        across = self.columns(self.reading(other, wide_a), write, self.plan.columns, wide_a, [target, other])
        return [*down, *moved, *across], landing

    def _transposed(self, source: Buffer, target: Buffer) -> Stmt:
        lanes, (wide_a, wide_b) = self.lanes, self.wide

        def block(i: PrimExpr, j: PrimExpr) -> Stmt:
            lines, (down, across) = Lines(), (i * k.index(lanes), j * k.index(lanes))
            rows = [
                tir.BufferLoad(source, (tir.Ramp((down + k.index(r)) * k.index(wide_b) + across, k.index(1), lanes),))
                for r in range(lanes)
            ]
            stores = [
                BufferStore(target, v, (tir.Ramp((across + k.index(c)) * k.index(wide_a) + down, k.index(1), lanes),))
                for c, v in enumerate(square(lines, rows))
            ]
            return lines.before(both(*stores))

        return loop(wide_a // lanes, lambda i: loop(wide_b // lanes, lambda j: block(i, j), "j"), "i")


def _loop(extent: int, name: str, body: Callable[[PrimExpr], Stmt]) -> Stmt:
    return body(k.index(0)) if extent == 1 else loop(extent, body, name)


def _twiddles(a: int, b: int, sign: int, across: bool = False) -> AnyArray:
    """Twiddle factors root^(p f) of a * b, as a row of a elements for each of b, or of b for each of a (`across`)."""
    places = np.outer(np.arange(a), np.arange(b)) if across else np.outer(np.arange(b), np.arange(a))
    found: AnyArray = roots(a * b, sign)[places]
    return found


def _padded(values: AnyArray, columns: int) -> AnyArray:
    found: AnyArray = np.pad(values, ((0, 0), (0, columns - values.shape[1])))
    return found
