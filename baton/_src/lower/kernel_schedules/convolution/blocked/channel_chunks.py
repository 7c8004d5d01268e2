"""Sums over many channels are computed in chunks of these, each for the whole map before the next.

All tiles of a map multiply by the same weights. Where those of a group of blocks exceed the first-level cache, each
tile would load them again from the second-level one; those of a chunk stay. Unfinished sums wait in memory of the
kernel's own. With AVX2, 1024 to 256 channels of 14 x 14 points take 0.90 of the time, 2048 to 256 channels 0.78,
ResNet-50 0.96 (Zen 4). With AVX-512 a tile has more multiply-adds for each weight, and gains nothing.
"""

from __future__ import annotations

from dataclasses import replace

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.convolution.blocked.parts import BlockedConv
from baton._src.lower.kernel_schedules.shared.factors import load_of
from baton._src.lower.kernel_schedules.shared.loops import constant, i64, index_var, local_buffer, product
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.buffer import Buffer

CACHE_SHARE = 4
"""The weights of a chunk take at most this part of the first-level cache: inputs and sums pass through it too."""
FEWEST_STEPS = 128
"""Steps of a tile in a chunk, at least: with fewer, loading and storing the sums would take more than it saves."""
FEWEST_TILES = 16
"""Tiles of a map that share the weights of a chunk, at least: maps of 7 x 7 points gain nothing."""
TASKS_A_THREAD = 4
"""Groups of blocks for each thread, at least: one thread computes all tiles of a chunk."""


@dataclass(frozen=True, eq=False)
class Chunks:
    """`count` chunks, of which `var` is the present one; `sums` are those of all points of a group of blocks."""

    var: tir.Var
    count: int
    sums: Buffer
    row_length: int

    @staticmethod
    def of(conv: BlockedConv, shape: tuple[int, int, int], tasks: int, target: Target) -> Chunks | None:
        """For tiles of `shape` (blocks, points, lines); threads share `tasks` groups. None: one pass is better."""
        blocks, points, lines = shape
        steps = constant(product([a.extent for a in conv.anchored.stage.reduce]))
        outer = conv.channels[0].size if len(conv.channels) > 1 else None
        width, height = conv.columns.axis.size, 1 if conv.rows is None else conv.rows.axis.size
        if conv.is_depthwise or steps is None or outer is None or width is None or height is None:
            return None
        counts = [n for n in range(1, outer + 1) if outer % n == 0 and steps // n >= FEWEST_STEPS] or [1]
        weights = steps * blocks * conv.width * load_of(conv.weight).dtype.itemsize
        wanted = -(-weights * CACHE_SHARE // target.cpu.l1_bytes)
        tiles = -(-height // lines) * -(-width // points)
        pays = target.vector_bits < 512 and tiles >= FEWEST_TILES and tasks >= TASKS_A_THREAD * target.num_cores
        usual = next((n for n in counts if n >= wanted), counts[-1]) if pays else 1
        count = tuned("channel_chunks", usual, counts)
        if count == 1:
            return None
        sums = local_buffer("sums", (blocks, height * width, conv.width), conv.anchored.stage.buffer.dtype)
        return Chunks(index_var("chunk"), count, sums, width)

    def part_of(self, conv: BlockedConv) -> BlockedConv:
        """The convolution of the present chunk's channels alone."""
        whole = conv.channels[0]
        size = tir.IntImm(whole.extent.dtype, (whole.size or 0) // self.count)
        part = Axis(tir.Var(whole.var.name, whole.var.dtype), size)
        at = ops.add(ops.multiply(ops.cast(whole.var.dtype, self.var), size), part.var)
        data, weight = (substitute_and_fold(factor, {whole.var: at}) for factor in (conv.data, conv.weight))
        return replace(conv, channels=(part, *conv.channels[1:]), data=data, weight=weight)

    def place(
        self, block: PrimExpr, row: PrimExpr | None, point: PrimExpr, lane: PrimExpr
    ) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
        """Where an unfinished sum waits; blocks count from the first of the group."""
        return block, point if row is None else ops.add(ops.multiply(row, i64(self.row_length)), point), lane

    @property
    def is_first(self) -> PrimExpr:
        return tir.EQ(self.var, i64(0))

    @property
    def is_last(self) -> PrimExpr:
        return tir.EQ(self.var, i64(self.count - 1))
