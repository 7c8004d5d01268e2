"""The kernel of `fourier` over all rows: what is read and written around the passes of each.

    complex -> complex       the passes
    real -> complex          of even length n = 2 h: z[t] = x[2 t] + i x[2 t + 1], transformed, with z[f] and z[h - f]
                             taken apart into the transforms of the even and the odd elements
    half a spectrum -> real  the same in reverse; the imaginary parts of the ends do not count

Rows of an odd length are taken as complex.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.ops import kernel_words as k
from baton._src.ops.linalg.fourier_attributes import FourierAttrs
from baton._src.ops.linalg.fourier_kernel.butterflies import Complex, Lines, constant, product
from baton._src.ops.linalg.fourier_kernel.memory import Parts, in_memory
from baton._src.ops.linalg.fourier_kernel.passes import Read, RowPasses, Write
from baton._src.ops.linalg.fourier_kernel.roots import roots
from baton._src.ops.loop_nests import both, loop
from baton._src.ops.precision import accumulator
from baton._src.ops.vector_loops import along, load, over_rows, places, store
from baton._src.te.computation import externs
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import BufferStore, Stmt


def transform_rows(parts: Sequence[k.Tensor], a: FourierAttrs, results: Sequence[k.Result]) -> tuple[k.Tensor, ...]:
    """The results of the operator, from one extern computation; see the module."""
    shapes = [k.dims(r.shape) for r in results]

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        return _Rows(a, ins, outs).whole()

    return externs(shapes, parts, body, "fourier", [parts[0].dtype] * len(results))


class _Rows:
    """The statements, over the buffers of one call."""

    def __init__(self, a: FourierAttrs, ins: Sequence[Buffer], outs: Sequence[Buffer]) -> None:
        self.a, self.ins, self.outs = a, ins, outs
        self.length = a.length
        self.kept = a.results
        self.packed = self.length % 2 == 0 and (a.to_real or len(ins) == 1)
        """Whether two real elements are one complex one."""
        count = self.length // 2 if self.packed else self.length
        halved = 0.5 if self.packed and not a.to_real else 1.0
        self.passes = RowPasses(count, a.sign, a.scale * halved, accumulator(ins[0].dtype))
        self.count, self.lanes = count, self.passes.lanes
        self.row: tuple[PrimExpr, ...] = ()

    def whole(self) -> Stmt:
        """Rows in parallel, each in its own memory."""

        def each(row: tuple[PrimExpr, ...]) -> Stmt:
            self.row = row
            return in_memory(self.passes.room + self.lanes, self.passes.dtype, self._steps)

        return self.passes.with_constants(over_rows(self.ins[0].shape[:-1], self.length, each))

    def _steps(self, first: Parts, second: Parts) -> Stmt:
        plan, (wide_a, wide_b) = self.passes.plan, self.passes.wide
        found: list[Stmt] = []
        read = self._read() if plan.b == wide_b else None
        if read is None:
            found += self._gathered(second)
            read = self.passes.reading(second, wide_b)
        write = self._write() if plan.a == wide_a else None
        steps, landing = self.passes.whole(read, write, first, second)
        found += steps
        if write is None:
            found += self._results(landing, second if landing is first else first)
        return both(*found)

    # ------------------------------------------------------------------------------------------ before the passes

    def _read(self) -> Read | None:
        """What the first pass reads: the operand itself, if that takes no more than loads."""
        if self.a.to_real or (len(self.ins) == 1 and not self.packed):
            return None
        width = k.index(self.passes.wide[1])
        return lambda row, column: self._element(row * width + column, self.lanes)

    def _element(self, at: PrimExpr, lanes: int) -> Complex:
        """Elements of what the passes transform."""
        if self.a.to_real:
            return self._of_half(at, lanes)
        if self.packed:
            two = k.index(2)
            return Complex(*(self._load(self.ins[0], at * two + k.index(n), lanes, 2) for n in (0, 1)))
        re = self._load(self.ins[0], at, lanes)
        return Complex(re, self._load(self.ins[1], at, lanes) if len(self.ins) == 2 else constant(0.0, re))

    def _of_half(self, at: PrimExpr, lanes: int) -> Complex:
        """(x + y) + i root^at (x - y), with x = s[at] and y the conjugate of s[h - at]."""
        x = Complex(*(self._load(b, at, lanes) for b in self.ins))
        from_end = k.index(self.count) - at - k.index(lanes - 1)
        y = Complex(*(_reversed(self._load(b, from_end, lanes)) for b in self.ins))
        gap = Complex(x.re - y.re, x.im + y.im)
        root = self._root(at, lanes)
        return Complex(
            x.re + y.re - (root.re * gap.im + root.im * gap.re), x.im - y.im + (root.re * gap.re - root.im * gap.im)
        )

    def _gathered(self, memory: Parts) -> list[Stmt]:
        """The elements in rows of whole vectors."""
        if self.a.to_real and not self.packed:
            return self._mirrored_spectrum(memory)
        plan, wide = self.passes.plan, self.passes.wide[1]

        def row(j: PrimExpr, count: int) -> Stmt:
            def part(at: PrimExpr, lanes: int) -> Stmt:
                value = self._element(j * k.index(plan.b) + at, lanes)
                return memory.put(j * k.index(wide) + at, value)

            return along(count, self.lanes, part)

        found = [row(k.index(0), plan.a * plan.b) if plan.b == wide else loop(plan.a, lambda j: row(j, plan.b), "j")]
        if self.a.to_real and self.packed:
            ends = [self._load(self.ins[0], k.index(at), 1) for at in (0, self.count)]
            found.append(memory.put(k.index(0), Complex(ends[0] + ends[1], ends[0] - ends[1])))
        return found

    def _mirrored_spectrum(self, memory: Parts) -> list[Stmt]:
        """Half a spectrum of an odd length, and its mirror image, conjugated."""
        columns, wide, half = k.index(self.passes.plan.b), k.index(self.passes.wide[1]), self.length // 2
        zero, one, from_end = k.index(0), k.index(1), k.index(self.length - 1)

        def put(at: PrimExpr, value: Complex) -> Stmt:
            return memory.put(at // columns * wide + at % columns, value)

        def element(f: PrimExpr) -> Stmt:
            re, im = (self._load(b, f + one, 1) for b in self.ins)
            return both(
                put(f + one, Complex(re, im)),
                put(from_end - f, Complex(re, im * k.const(-1, im.dtype))),
            )

        first = self._load(self.ins[0], zero, 1)
        return [memory.put(zero, Complex(first, constant(0.0, first))), *([loop(half, element, "f")] if half else [])]

    def _load(self, buffer: Buffer, at: PrimExpr, lanes: int, stride: int = 1) -> PrimExpr:
        return load(buffer, self.row, places(at, lanes, stride), self.passes.dtype)

    # ------------------------------------------------------------------------------------------- after the passes

    def _write(self) -> Write | None:
        """Where the last pass writes: the result itself, if that takes no more than stores."""
        width = k.index(self.passes.wide[0])
        if self.a.to_real and self.packed:
            return lambda lines, row, column, value: self._interleaved(row * width + column, value)
        if self.packed or self.a.to_real or self.kept != self.length or len(self.ins) == 1:
            return None
        return lambda lines, row, column, value: self._put(row * width + column, value)

    def _put(self, at: PrimExpr, value: Complex) -> Stmt:
        return both(*(self._store(b, at, part) for b, part in zip(self.outs, value)))

    def _interleaved(self, at: PrimExpr, value: Complex) -> Stmt:
        lanes = value.re.dtype.lanes
        if lanes == 1:
            return both(*(self._store(self.outs[0], at * k.index(2) + k.index(n), v) for n, v in enumerate(value)))
        order = tuple(n + lanes * side for n in range(lanes) for side in (0, 1))
        return self._store(self.outs[0], at * k.index(2), tir.Shuffle(tuple(value), order))

    def _store(self, buffer: Buffer, at: PrimExpr, value: PrimExpr) -> Stmt:
        return store(buffer, self.row, places(at, value.dtype.lanes), value)

    def _results(self, source: Parts, spare: Parts) -> list[Stmt]:
        """The transform in memory, in rows of whole vectors, as the results."""
        found: list[Stmt] = []
        plan, wide = self.passes.plan, self.passes.wide[0]
        if plan.a != wide:
            found.append(self._joined(source, spare))
            source = spare
        if self.packed and not self.a.to_real:
            return [*found, *self._apart(source)]
        put, count = (self._interleaved, self.count) if self.packed else (self._put, self.kept)
        copied = along(count, self.lanes, lambda at, lanes: put(at, source.vector(at, lanes)))
        return [*found, copied, *self._real_ends()]

    def _joined(self, source: Parts, target: Parts) -> Stmt:
        """Rows of whole vectors end to end: each overwrites what the one before wrote beyond its end."""
        plan, wide, lanes = self.passes.plan, self.passes.wide[0], self.lanes

        def row(u: PrimExpr) -> Stmt:
            def part(at: PrimExpr, width: int) -> Stmt:
                return target.put(u * k.index(plan.a) + at, source.vector(u * k.index(wide) + at, width))

            return along(wide, lanes, part)

        return loop(plan.b, row, "u")

    def _apart(self, z: Parts) -> list[Stmt]:
        """(z[f] + y) - i root^f (z[f] - y), y the conjugate of z[h - f]; z is half as large already."""
        half = k.index(self.count)
        zero = k.index(0)
        again = z.put(half, z.vector(zero, 1))

        def part(at: PrimExpr, lanes: int) -> Stmt:
            lines = Lines()
            x = lines.complex(*z.vector(at, lanes))
            y = lines.complex(*(_reversed(v) for v in z.vector(half - at - k.index(lanes - 1), lanes)))
            even = Complex(x.re + y.re, x.im - y.im)
            odd = product(lines, Complex(x.im + y.im, y.re - x.re), self._root(at, lanes))
            return lines.before(self._put(at, Complex(even.re + odd.re, even.im + odd.im)))

        found = [again, along(min(self.kept, self.count + 1), self.lanes, part)]
        return [*found, *self._mirrored()]

    def _mirrored(self) -> list[Stmt]:
        """What follows half a spectrum of reals: its mirror image, conjugated."""
        first = self.count + 1
        more = self.kept - first
        if more <= 0:
            return []

        def element(f: PrimExpr) -> Stmt:
            there, here = k.index(self.length - first) - f, k.index(first) + f
            re, im = (tir.BufferLoad(b, (*self.row, there)) for b in self.outs)
            minus = k.const(-1, im.dtype)
            return self._put_as_is(here, (re, im * minus))

        return [loop(more, element, "f")]

    def _put_as_is(self, at: PrimExpr, values: Sequence[PrimExpr]) -> Stmt:
        return both(*(BufferStore(b, v, (*self.row, at)) for b, v in zip(self.outs, values)))

    def _real_ends(self) -> list[Stmt]:
        """The first element of a spectrum of reals is real, however it was added up."""
        if len(self.ins) == 2 or self.a.to_real:
            return []
        return [BufferStore(self.outs[1], k.const(0, self.outs[1].dtype), (*self.row, k.index(0)))]

    def _root(self, at: PrimExpr, lanes: int) -> Complex:
        """The roots of the whole length from `at` on."""
        if self._roots is None:
            self._roots = self.passes.table(roots(self.length, self.a.sign)[: self.count + 1])
        return self._roots.vector(at, lanes)

    _roots: Parts | None = None


def _reversed(value: PrimExpr) -> PrimExpr:
    lanes = value.dtype.lanes
    return value if lanes == 1 else tir.Shuffle((value, value), tuple(range(lanes - 1, -1, -1)))
