"""Memory of the kernels of `fourier`: complex arrays in two buffers, which a kernel has to itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.ops.linalg.fourier_kernel.butterflies import Complex
from baton._src.ops.loop_nests import both, local
from baton._src.ops.vector_loops import places
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import BufferStore, Stmt
from baton._src.values.dtype import DataType


class Parts:
    """A complex array in memory, as two flat buffers."""

    def __init__(self, re: Buffer, im: Buffer) -> None:
        self.re, self.im = re, im

    def vector(self, at: PrimExpr, lanes: int) -> Complex:
        """The elements from `at` on."""
        return Complex(*(tir.BufferLoad(b, (places(at, lanes),)) for b in (self.re, self.im)))

    def spread(self, at: PrimExpr, lanes: int) -> Complex:
        """One element in all lanes."""
        single = Complex(*(tir.BufferLoad(b, (at,)) for b in (self.re, self.im)))
        return Complex(*(tir.Broadcast(part, lanes) for part in single)) if lanes > 1 else single

    def put(self, at: PrimExpr, value: Complex) -> Stmt:
        """Store vectors from `at` on."""
        index = (places(at, value.re.dtype.lanes),)
        return both(BufferStore(self.re, value.re, index), BufferStore(self.im, value.im, index))


def in_memory(room: int, dtype: DataType, body: Callable[[Parts, Parts], Stmt]) -> Stmt:
    """`body` with two arrays of `room` elements of its own."""

    def more(names: Sequence[str], made: tuple[Buffer, ...]) -> Stmt:
        if not names:
            return body(Parts(*made[:2]), Parts(*made[2:]))
        return local(names[0], (room,), dtype, lambda b: more(names[1:], (*made, b)))

    return more([f"{name}_{part}" for name in ("first", "second") for part in ("re", "im")], ())
