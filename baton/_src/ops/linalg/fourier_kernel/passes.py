"""The kernel of `fourier`: each row is transformed in memory of its own, by passes over whole vectors.

    rows of a x b -> passes of the radices of a, turned -> transposed -> passes of the radices of b -> result

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
from baton._src.ops.linalg.fourier_kernel.plan import Plan, plan
from baton._src.ops.linalg.fourier_kernel.roots import roots
from baton._src.ops.loop_nests import both, loop
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.tir.stmt import AllocateConst, BufferStore, Stmt
from baton._src.values.dtype import DataType
from baton._src.values.tensor import AnyArray, array

VECTOR = 64
"""Bytes of the vectors that passes are written in."""


Read = Callable[[PrimExpr], Complex]
Write = Callable[[Lines, PrimExpr, Complex], Stmt]
"""What a pass reads at a place, and the statement that writes what it has computed."""


class Parts:
    """A complex array in memory, as two flat buffers."""

    def __init__(self, re: Buffer, im: Buffer) -> None:
        self.re, self.im = re, im

    def vector(self, at: PrimExpr, lanes: int) -> Complex:
        """The elements from `at` on."""
        index = (at if lanes == 1 else tir.Ramp(at, k.index(1), lanes),)
        return Complex(tir.BufferLoad(self.re, index), tir.BufferLoad(self.im, index))

    def spread(self, at: PrimExpr, lanes: int) -> Complex:
        """One element in all lanes."""
        return Complex(*(tir.Broadcast(tir.BufferLoad(b, (at,)), lanes) for b in (self.re, self.im)))

    def put(self, at: PrimExpr, value: Complex) -> Stmt:
        """Store vectors from `at` on."""
        lanes = value.re.dtype.lanes
        index = (at if lanes == 1 else tir.Ramp(at, k.index(1), lanes),)
        return both(BufferStore(self.re, value.re, index), BufferStore(self.im, value.im, index))

    def write(self, lines: Lines, at: PrimExpr, value: Complex) -> Stmt:
        """`put` as where passes write."""
        return self.put(at, value)


class Passes:
    """The transform of `length` complex elements in memory."""

    def __init__(self, length: int, sign: int, scale: float, dtype: DataType) -> None:
        self.dtype, self.sign, self.lanes = dtype, sign, VECTOR // dtype.itemsize
        self.plan: Plan = plan(length, self.lanes)
        self.length = length
        self.wide = tuple(-(-n // self.lanes) * self.lanes for n in (self.plan.a, self.plan.b))
        self.scale = scale
        self.constants: list[tuple[Buffer, AnyArray]] = []

    @property
    def room(self) -> int:
        """Elements of each buffer."""
        return prod(self.wide)

    def columns(self, read: Read, write: Write, radices: tuple[int, ...], size: int, spare: list[Parts]) -> list[Stmt]:
        """Transforms along the rows of a matrix with `size` columns, through the `spare` memory in turn."""
        found, rest = [], prod(radices)
        stages = radices or (1,)
        for n, radix in enumerate(stages):
            rest //= radix
            into = spare[n % 2]
            found.append(self._pass(read, write if n == len(stages) - 1 else into.write, radix, rest, size))
            read = self.reading(into)
            size *= radix
        return found

    def reading(self, memory: Parts) -> Read:
        """Whole vectors of an array."""
        return lambda at: memory.vector(at, self.lanes)

    def _pass(self, read: Read, write: Write, radix: int, rest: int, size: int) -> Stmt:
        turns = self.table(_turns(radix, rest, self.sign)) if rest > 1 else None

        def at(p: PrimExpr, chunk: PrimExpr) -> Stmt:
            lines, place = Lines(), chunk * k.index(self.lanes)
            x = [lines.complex(*read((p + k.index(rest * j)) * k.index(size) + place)) for j in range(radix)]
            stores = []
            for f, y in enumerate(butterfly(lines, x, self.sign)):
                if turns is not None and f:
                    y = product(lines, y, turns.spread(p * k.index(radix) + k.index(f), self.lanes))
                stores.append(write(lines, (p * k.index(radix) + k.index(f)) * k.index(size) + place, y))
            return lines.before(both(*stores))

        def row(p: PrimExpr) -> Stmt:
            return loop(size // self.lanes, lambda chunk: at(p, chunk), "chunk")

        return row(k.index(0)) if rest == 1 else loop(rest, row, "p")

    def whole(self, read: Read, write: Write | None, first: Parts, second: Parts) -> tuple[list[Stmt], Parts]:
        """From rows of b columns to rows of a columns, both rounded up: the statements, and where the result is unless
        `write` is given. `read` may read `second`.
        """
        a, b = self.plan.a, self.plan.b
        table = self.table(_padded(_turns(a, b, self.sign, across=True) * self.scale, self.wide[1]))
        target, other = (first, second) if len(self.plan.rows or (1,)) % 2 else (second, first)

        def turned(lines: Lines, at: PrimExpr, value: Complex) -> Stmt:
            return target.put(at, product(lines, value, table.vector(at, self.lanes)))

        down = self.columns(read, turned, self.plan.rows, self.wide[1], [first, second])
        moved = [self._transposed(s, t) for s, t in ((target.re, other.re), (target.im, other.im))]
        landing = target if len(self.plan.columns or (1,)) % 2 else other
        write = write or landing.write
        across = self.columns(self.reading(other), write, self.plan.columns, self.wide[0], [target, other])
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
            body = AllocateConst(
                buffer.data, buffer.dtype, buffer.shape, array(values.astype(buffer.dtype.numpy)), body
            )
        return body


def _turns(a: int, b: int, sign: int, across: bool = False) -> AnyArray:
    """root^(p f) of a * b, as a row of a elements for each of b, or of b for each of a (`across`)."""
    places = np.outer(np.arange(a), np.arange(b)) if across else np.outer(np.arange(b), np.arange(a))
    found: AnyArray = roots(a * b, sign)[places]
    return found


def _padded(values: AnyArray, columns: int) -> AnyArray:
    found: AnyArray = np.pad(values, ((0, 0), (0, columns - values.shape[1])))
    return found
