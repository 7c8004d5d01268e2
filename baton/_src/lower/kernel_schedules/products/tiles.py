"""Register tiles: a block of results held in vector registers during a reduction, then stored with the epilogue.

A tile has `rows` rows of `vectors` vectors. Its accumulators are a local buffer that only constants index after
unrolling, so LLVM keeps it in registers; the tile's size leaves registers for the operands.
"""

from __future__ import annotations

from collections.abc import Callable

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.shared.loops import (
    SERIAL,
    UNROLLED,
    VECTORIZED,
    constant,
    i64,
    index_var,
    local_buffer,
    loop,
    sequence,
)
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.values.dtype import DataType

TALLEST_UNKNOWN, TALLEST_UNKNOWN_HALVES = 12, 8
"""Rows of tiles, if their number is not known: each height takes time to compile. Where half vectors are cheaper than
whole ones, 8 are nearly as fast as more; a processor that multiplies two whole ones a cycle waits for weights then
(9 rows of 768x768 as 5 and 4: 0.81 of one tile).
"""


UNROLLED_STEPS = 4
"""Steps along k of a tile in 16 registers that are unrolled: one has 12 multiply-adds, whose loop a core that another
hardware thread shares would notice (Zen 3: 0.94 of the time, for any number of rows 0.85 to 0.95). One of 32 registers
has 24; there a single step compiles in half the time.
"""
CHAINS = 10
"""Vectors of sums of a tile, at least: two multiply-adds a cycle keep eight waiting for each other (with AVX2, tiles of
4x2 reach 0.85 of the peak, tiles of 6x2 all of it).
"""


@dataclass(frozen=True)
class TileShape:
    """The rows of a tile, and the `vectors` of `lanes` elements in each."""

    rows: int
    vectors: int
    lanes: int
    registers: int = 16
    """Of the processor."""
    halves: bool = False
    """Whether half vectors are cheaper than whole ones."""
    masks: bool = False
    """Whether masked vectors cost as much as others."""

    @property
    def width(self) -> int:
        return self.vectors * self.lanes

    @property
    def grain(self) -> int:
        """The width of a narrow tile is a multiple of this many columns."""
        return self.lanes // 2 if self.halves else self.lanes

    @property
    def tallest_unknown(self) -> int:
        """Most rows of a tile when the number of rows is unknown."""
        return min(self.rows, TALLEST_UNKNOWN_HALVES if self.halves else TALLEST_UNKNOWN)

    @property
    def steps(self) -> int:
        """How many steps along k are unrolled."""
        return steps_of_k(1 if self.registers >= 32 else UNROLLED_STEPS)

    def heights(self, vectors: int) -> range:
        """Row counts of tiles `vectors` wide that leave registers for a row of operands and a broadcast."""
        return range(1, max(1, (self.registers - 1 - vectors) // vectors) + 1)


def tile_shape(target: Target, dtype: DataType) -> TileShape:
    """The largest tile that leaves registers for two operand vectors and a broadcast: 32 registers on AVX-512 and
    NEON.
    """
    lanes = max(2, target.lanes(max(32, dtype.bits)))
    if target.vector_bits >= 512:
        return TileShape(12, 2, lanes, 32, halves=target.cpu.halves, masks=True)
    if target.vector_bits == 128 and "neon" in target.features:
        return TileShape(8, 3, lanes, 32)
    return TileShape(6, 2, lanes)


@dataclass(frozen=True)
class Accumulators:
    """The registers of a tile of `rows` x `width` elements."""

    buffer: Buffer
    rows: int
    width: int

    @staticmethod
    def of(rows: int, width: int, dtype: DataType) -> Accumulators:
        return Accumulators(local_buffer("acc", (rows * width,), dtype), rows, width)

    def at(self, row: PrimExpr | int, lane: PrimExpr) -> PrimExpr:
        """The index of one accumulator."""
        start = row * self.width if isinstance(row, int) else ops.multiply(row, i64(self.width))
        return ops.add(start if isinstance(start, PrimExpr) else i64(start), lane)

    def load(self, row: PrimExpr | int, lane: PrimExpr) -> tir.BufferLoad:
        return tir.BufferLoad(self.buffer, (self.at(row, lane),))

    def each(self, value: Callable[[int, tir.Var], PrimExpr]) -> st.Stmt:
        """Store value(row, lane) to every accumulator."""
        parts = []
        for row in range(self.rows):
            lane = index_var("v")
            store = st.BufferStore(self.buffer, value(row, lane), (self.at(row, lane),))
            parts.append(loop(lane, self.width, store, VECTORIZED))
        return sequence(*parts)

    def add_products(self, left: Callable[[int], PrimExpr], right: Callable[[tir.Var], PrimExpr]) -> st.Stmt:
        """Add left(row) * right(lane) to every accumulator. An element of the left factor is loaded once per row, not
        once per vector, so that there are fewer instructions to compile.
        """
        parts = []
        for row in range(self.rows):
            lane, scalar = index_var("v"), tir.Var(f"a{row}", self.buffer.dtype)
            total = tir.Add(self.load(row, lane), tir.Mul(scalar, right(lane)))
            store = st.BufferStore(self.buffer, total, (self.at(row, lane),))
            parts.append(st.LetStmt(scalar, left(row), loop(lane, self.width, store, VECTORIZED)))
        return sequence(*parts)


def steps_of_k(usual: int = 1) -> int:
    """The number of steps along k to unroll."""
    return tuned("unroll_k", usual, (1, 2, 4, 8))


def unrolled_by(count: int, extent: PrimExpr, name: str, body: Callable[[PrimExpr], st.Stmt]) -> st.Stmt:
    """`body(k)` for k in [0, extent), unrolled `count` times, with a serial loop for the remainder."""
    wide = as_int64(extent)
    if count == 1:
        only = index_var(name)
        return loop(only, wide, body(only), SERIAL)
    outer, inner = index_var(f"{name}_o"), index_var(f"{name}_i")
    full = ops.floordiv(wide, i64(count))
    place = ops.add(ops.multiply(outer, i64(count)), inner)
    main = loop(outer, full, loop(inner, count, body(place), UNROLLED), SERIAL)
    size = constant(wide)
    if size is not None and size % count == 0:
        return main
    last = index_var(f"{name}_t")
    done = ops.multiply(full, i64(count))
    tail = loop(last, ops.subtract(wide, done), body(ops.add(done, last)), SERIAL)
    return tail if size is not None and size < count else sequence(main, tail)


def tile_rows(rows: int | None, most: int, vectors: int = 2) -> int:
    """Rows of a tile of that many vectors: the most that registers allow, or fewer if that leaves no remainder, or no
    small one.
    """
    if rows is None or rows <= most:
        return most
    even, least = -(-rows // -(-rows // most)), max(most * 2 // 3, -(-CHAINS // vectors))
    return next((count for count in range(most, least - 1, -1) if rows % count == 0), even)
