"""The kernel of `fourier` along the axis before the last: blocks of columns, passes all along, nothing transposed.

The last block begins where it ends with the last column: what it shares with the one before is computed twice. Fewer
columns than a vector has lanes are a smaller vector.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.ir.expr import PrimExpr
from baton._src.ops import kernel_words as k
from baton._src.ops.linalg.fourier_attributes import FourierAttrs
from baton._src.ops.linalg.fourier_kernel.butterflies import Complex, Lines, constant
from baton._src.ops.linalg.fourier_kernel.memory import Parts, in_memory
from baton._src.ops.linalg.fourier_kernel.passes import Passes
from baton._src.ops.linalg.fourier_kernel.plan import LONGEST, radices
from baton._src.ops.loop_nests import both, loop
from baton._src.ops.precision import accumulator
from baton._src.ops.vector_loops import VECTOR, load, over_rows, places, store
from baton._src.te.computation import externs
from baton._src.tir import expr as tir
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.values.dtype import DataType

_BLOCK = 1 << 12
"""Elements of a block that is wider than one vector."""


def are_columns(length: int, width: int, dtype: DataType) -> bool:
    """Whether there is a vector of columns, whose length has small factors."""
    return width >= VECTOR // accumulator(dtype).itemsize and length <= LONGEST and radices(length) is not None


def transform_columns(parts: Sequence[k.Tensor], a: FourierAttrs, results: Sequence[k.Result]) -> tuple[k.Tensor, ...]:
    """The results of the operator, from one extern computation; see the module."""

    def body(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        return _Columns(a, ins, outs).whole()

    return externs([k.dims(r.shape) for r in results], parts, body, "fourier", [parts[0].dtype] * 2)


class _Columns:
    """The statements, over the buffers of one call."""

    def __init__(self, a: FourierAttrs, ins: Sequence[Buffer], outs: Sequence[Buffer]) -> None:
        self.a, self.ins, self.outs = a, ins, outs
        self.passes = Passes(a.sign, accumulator(ins[0].dtype))
        width = ins[0].shape[-1]
        assert isinstance(width, tir.IntImm)
        self.width = width.value
        lanes = self.passes.lanes = max(1, min(self.passes.lanes, self.width))
        self.block = max(1, min(self.width // lanes, _BLOCK // (a.length * lanes))) * lanes

    def whole(self) -> Stmt:
        """Blocks in parallel, each in its own memory."""
        count = -(-self.width // self.block)

        def each(row: tuple[PrimExpr, ...]) -> Stmt:
            first = k.minimum(row[-1] * k.index(self.block), k.index(self.width - self.block))
            room = self.a.length * self.block
            return in_memory(room, self.passes.dtype, lambda one, two: self._steps(row[:-1], first, [one, two]))

        dims = (*self.ins[0].shape[:-2], k.index(count))
        return self.passes.with_constants(over_rows(dims, self.a.length * self.block, each))

    def _steps(self, row: tuple[PrimExpr, ...], first: PrimExpr, spare: list[Parts]) -> Stmt:
        dtype, lanes, kept = self.passes.dtype, self.passes.lanes, self.a.results

        def read(place: PrimExpr, column: PrimExpr) -> Complex:
            re, *im = (load(b, (*row, place), places(first + column, lanes), dtype) for b in self.ins)
            return Complex(re, im[0] if im else constant(0.0, re))

        def write(lines: Lines, place: PrimExpr, column: PrimExpr, value: Complex) -> Stmt:
            at = places(first + column, lanes)
            scaled = value if self.a.scale == 1 else [part * constant(self.a.scale, part) for part in value]
            return both(*(store(b, (*row, place), at, part) for b, part in zip(self.outs, scaled)))

        found = radices(self.a.length) or ()
        if kept == self.a.length:
            return both(*self.passes.columns(read, write, found, self.block, spare))
        memory = spare[(len(found or (1,)) - 1) % 2]
        steps = self.passes.columns(read, self.passes.writing(memory, self.block), found, self.block, spare)
        result = self.passes.reading(memory, self.block)

        def copied(place: PrimExpr) -> Stmt:
            step = k.index(lanes)
            return loop(
                self.block // lanes, lambda c: write(Lines(), place, c * step, result(place, c * step)), "chunk"
            )

        return both(*steps, loop(kept, copied, "f"))
