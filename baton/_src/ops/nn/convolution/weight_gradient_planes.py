"""The kernel of nn.conv2d_backward_weight for groups of few channels, depthwise ones above all.

    dw[o, i, r] = sum over n, s of grad[n, o, s] * x[n, g * I + i, s * stride + r * dilation - begin]

A plane of the data is copied into memory with its borders, every `stride`th row and column to a part of its own; the
plane of the gradient into rows as wide as these parts, the rest of which is zero. Then what a place of the kernel meets
begins at a distance of its own, and is a run of neighbours over the whole plane: no row ends, and one vector of the
gradient serves all places. (Zeros of the gradient meet data, too: what is infinite there makes sums NaN of places that
do not meet it.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from baton._src.ir.expr import PrimExpr
from baton._src.ir.tensor_info import Dim
from baton._src.ops import kernel_words as k
from baton._src.ops.dims import as_dims, known_dim
from baton._src.ops.loop_nests import both, local, loop
from baton._src.ops.nn.convolution.geometry import Geometry, kernel_size
from baton._src.ops.precision import accumulator
from baton._src.ops.vector_loops import VECTOR, along, load, over_rows, places
from baton._src.te.computation import extern
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import BufferStore, Stmt

MOST_CHANNELS = 16
"""Input channels of a group from which on products of matrices are faster."""
_SUMS = 12
"""Sums that are kept in registers at a time."""


def serves_planes(a: Geometry, grad: Sequence[Dim], x: Sequence[Dim], is_float: bool) -> bool:
    """Whether the kernel serves: channels first, floats of one kind, planes of known size."""
    layouts = (a.data_layout, a.kernel_layout, a.out_layout or a.data_layout)
    sizes = as_dims((*grad[1:], *x[1:]))
    known = all(isinstance(size, int) and size > 0 for size in sizes)
    return is_float and known and layouts == ("NCHW", "OIHW", "NCHW")


def compute_planes(inputs: Sequence[k.Tensor], a: Geometry, out: k.Result) -> k.Tensor:
    """One extern computation; see the module."""
    grad, x = inputs

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        return _Planes(a, ins, outs[0]).whole()

    return extern(k.dims(out.shape), [grad, x], body, "conv2d_backward_weight", out.dtype)


class _Planes:
    """The statements, over the buffers of one call."""

    def __init__(self, a: Geometry, ins: Sequence[Buffer], out: Buffer) -> None:
        self.a, (self.grad, self.x), self.out = a, ins, out
        self.dtype = accumulator(out.dtype)
        self.lanes = VECTOR // self.dtype.itemsize
        self.images = self.grad.shape[0]
        self.taps = kernel_size(a)
        self.result, self.image = (tuple(map(known_dim, b.shape[2:])) for b in ins)
        self.outputs, self.inner = map(known_dim, out.shape[:2])
        """Output channels, and input channels of a group."""
        reach = [(n - 1) * d for n, d in zip(self.taps, a.dilation)]
        self.part = tuple(n + r // s for n, r, s in zip(self.result, reach, a.strides))
        """Rows and columns of a part of the data."""
        self.run = -(-self.result[0] * self.part[1] // self.lanes) * self.lanes
        """Elements of the gradient, and of what each place meets."""
        self.room = prod(self.part) + self.lanes + self.part[1]
        """Elements of a part, and what runs read beyond."""

    def whole(self) -> Stmt:
        """Output channels in parallel, each with planes of its own."""
        room, parts = -(-self.room // self.lanes) * self.lanes, prod(self.a.strides)
        self.room = room

        def each(row: tuple[PrimExpr, ...]) -> Stmt:
            (o,) = row

            def planes(slope: Buffer, data: Buffer) -> Stmt:
                zeros = [self._zeros(slope, self.run), self._zeros(data, room * parts)]
                return both(*zeros, loop(self.inner, lambda i: both(*self._sums(o, i, slope, data)), "i"))

            return local(
                "slope",
                (self.run,),
                self.dtype,
                lambda s: local("data", (room * parts,), self.dtype, lambda d: planes(s, d)),
            )

        return over_rows((k.index(self.outputs),), self.run * self.inner * prod(self.taps), each)

    def _zeros(self, buffer: Buffer, count: int) -> Stmt:
        return along(count, self.lanes, lambda at, n: BufferStore(buffer, self._constant(n), (places(at, n),)))

    def _constant(self, lanes: int) -> PrimExpr:
        zero = k.const(0, self.dtype)
        return tir.Broadcast(zero, lanes) if lanes > 1 else zero

    def _sums(self, o: PrimExpr, i: PrimExpr, slope: Buffer, data: Buffer) -> Iterator[Stmt]:
        """All places of the kernel, for one pair of channels."""
        taps = [(r, c) for r in range(self.taps[0]) for c in range(self.taps[1])]
        each = -(-self.outputs // self.a.groups)
        channel = o // k.index(each) * k.index(self.inner) + i
        for begin in range(0, len(taps), _SUMS):
            yield self._some_sums(taps[begin : begin + _SUMS], o, i, channel, slope, data)

    def _some_sums(
        self, taps: Sequence[tuple[int, int]], o: PrimExpr, i: PrimExpr, channel: PrimExpr, slope: Buffer, data: Buffer
    ) -> Stmt:
        lanes, count = self.lanes, len(taps)

        def own(n: int) -> tuple[PrimExpr]:
            return (tir.Ramp(k.index(n * lanes), k.index(1), lanes),)

        def body(sums: Buffer) -> Stmt:
            def image(n: PrimExpr) -> Stmt:
                filled = [self._slope_filled(slope, n, o), *self._data_filled(data, n, channel)]
                return both(*filled, loop(self.run // lanes, chunk, "t"))

            def chunk(t: PrimExpr) -> Stmt:
                at = t * k.index(lanes)
                seen = tir.BufferLoad(slope, (places(at, lanes),))
                found = []
                for n, tap in enumerate(taps):
                    met = tir.BufferLoad(data, (places(at + k.index(self._distance(tap)), lanes),))
                    found.append(BufferStore(sums, tir.BufferLoad(sums, own(n)) + seen * met, own(n)))
                return both(*found)

            start = [BufferStore(sums, self._constant(lanes), own(n)) for n in range(count)]
            return both(
                *start, loop(self.images, image, "n"), *(self._total(sums, n, o, i, taps[n]) for n in range(count))
            )

        return local("sums", (count * lanes,), self.dtype, body)

    def _total(self, sums: Buffer, n: int, o: PrimExpr, i: PrimExpr, tap: tuple[int, int]) -> Stmt:
        lanes: list[PrimExpr] = [tir.BufferLoad(sums, (k.index(n * self.lanes + lane),)) for lane in range(self.lanes)]
        while len(lanes) > 1:
            lanes = [a + b for a, b in zip(lanes[::2], lanes[1::2])]
        return BufferStore(self.out, k.cast(self.out.dtype, lanes[0]), (o, i, *(k.index(t) for t in tap)))

    def _distance(self, tap: tuple[int, int]) -> int:
        """Where the elements begin that a place of the kernel meets."""
        (row, down), (column, across) = (divmod(t * d, s) for t, d, s in zip(tap, self.a.dilation, self.a.strides))
        found: int = (down * self.a.strides[1] + across) * self.room + row * self.part[1] + column
        return found

    def _slope_filled(self, slope: Buffer, n: PrimExpr, o: PrimExpr) -> Stmt:
        def row(y: PrimExpr) -> Stmt:
            def put(at: PrimExpr, lanes: int) -> Stmt:
                value = load(self.grad, (n, o, y), places(at, lanes), self.dtype)
                return BufferStore(slope, value, (places(y * k.index(self.part[1]) + at, lanes),))

            return along(self.result[1], self.lanes, put)

        return loop(self.result[0], row, "y")

    def _data_filled(self, data: Buffer, n: PrimExpr, channel: PrimExpr) -> Iterator[Stmt]:
        """Every part of a plane, without what lies in the borders."""
        strides = self.a.strides
        for phase in ((p, q) for p in range(strides[0]) for q in range(strides[1])):
            (top, rows), (left, columns) = (self._inside(axis, at) for axis, at in enumerate(phase))
            if rows > 0 and columns > 0:
                yield self._part_filled(data, n, channel, phase, (top, left), (rows, columns))

    def _inside(self, axis: int, phase: int) -> tuple[int, int]:
        """The first place of a part that is in the image, and how many are."""
        stride, begin = self.a.strides[axis], self.a.padding[axis]
        first = max(0, -(-(begin - phase) // stride))
        end = min(self.part[axis], -(-(self.image[axis] + begin - phase) // stride))
        return first, end - first

    def _part_filled(
        self,
        data: Buffer,
        n: PrimExpr,
        channel: PrimExpr,
        phase: tuple[int, int],
        first: tuple[int, int],
        count: tuple[int, int],
    ) -> Stmt:
        (down, across), begins = self.a.strides, self.a.padding
        source = [f * s + p - b for f, s, p, b in zip(first, self.a.strides, phase, begins)]
        start = (phase[0] * across + phase[1]) * self.room + first[0] * self.part[1] + first[1]

        def row(y: PrimExpr) -> Stmt:
            above = (n, channel, y * k.index(down) + k.index(source[0]))

            def put(at: PrimExpr, lanes: int) -> Stmt:
                place = places(at * k.index(across) + k.index(source[1]), lanes, across)
                value = load(self.x, above, place, self.dtype)
                return BufferStore(data, value, (places(y * k.index(self.part[1]) + at + k.index(start), lanes),))

            return along(count[1], self.lanes, put)

        return loop(count[0], row, "y")
