"""The plan of a convolution by Winograd's algorithm: how its work is blocked, and the form its weights take."""

from __future__ import annotations

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.convolution.blocked.parts import BlockedConv
from baton._src.lower.kernel_schedules.convolution.winograd.numbers import TAPS, Transform
from baton._src.lower.kernel_schedules.shared.loops import i64, product
from baton._src.lower.kernel_schedules.shared.stages import Axis
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir.buffer import Buffer, decl_buffer
from baton._src.values.tensor import AnyArray

_COLUMNS = 768
"""Columns of a product that are written at once: few enough for OpenBLAS (its limit is 2^18 multiply-adds) to do it on
one core. Its threads spin after each product, and both cores are needed to compile kernels meanwhile."""


@dataclass(frozen=True)
class Sizes:
    """How the work is cut: tiles of a block, tiles and blocks of channels of a register tile, register tiles of a
    chunk of channels; whether threads share blocks of tiles, or channels, or nothing; input channels that a register
    tile unrolls.
    """

    tiles: int
    rows: int
    beside: int
    panels: int
    shared: str = ""
    """"tiles", "channels" or nothing"""
    channels: int = 1

    @property
    def blocks(self) -> int:
        """Blocks of output channels of a chunk."""
        return self.beside * self.panels


@dataclass(frozen=True, eq=False)
class Winograd:
    """A convolution and how it is computed."""

    conv: BlockedConv
    transform: Transform
    sizes: Sizes

    @property
    def map(self) -> tuple[Axis, Axis]:
        """Rows and columns of the result."""
        assert self.conv.rows is not None
        return self.conv.rows.axis, self.conv.columns.axis

    @property
    def channels(self) -> tuple[int, int]:
        """Blocks of input channels, and channels of one."""
        outer, inner = (a.size or 0 for a in self.conv.channels)
        return outer, inner

    @property
    def across(self) -> tuple[PrimExpr, PrimExpr]:
        """Tiles down and across one map."""
        down, wide = (rounded_up(as_int64(a.extent), self.transform.results) for a in self.map)
        return down, wide

    @property
    def total(self) -> PrimExpr:
        """Tiles of all maps."""
        return product([self.conv.anchored.stage.spatial[0].extent, *self.across])

    def groups(self, first: PrimExpr) -> PrimExpr:
        """Register tiles down a block whose first tile is given: no more than there are tiles for."""
        whole = i64(-(-self.sizes.tiles // self.sizes.rows))
        if isinstance(self.total, tir.IntImm):
            return whole
        return ops.min(whole, rounded_up(ops.subtract(self.total, first), self.sizes.rows))

    @property
    def chunks(self) -> int:
        return (self.conv.blocks.size or 0) // self.sizes.blocks

    def weight_shape(self) -> tuple[int, ...]:
        """U as (chunk, element, panel, channel, block beside another, lane)."""
        s, inputs = self.sizes, self.channels[0] * self.channels[1]
        return (self.chunks, self.transform.products, s.panels, inputs, s.beside, self.conv.width)

    def write_weights(self, into: AnyArray, packed: AnyArray) -> None:
        """Write U, of `weight_shape()`, from a weight of layout (O, I, 3, 3, i, o).

        The taps, a quarter of U, are put in its order first; U itself is then written once, as products of matrices.
        """
        s, (outer, inner) = self.sizes, self.channels
        taps = packed.reshape(self.chunks, s.panels, s.beside, outer, TAPS * TAPS, inner, self.conv.width)
        taps = taps.transpose(0, 4, 1, 3, 5, 2, 6).reshape(self.chunks, TAPS * TAPS, -1)
        both, found = self.transform.both(packed.dtype), into.reshape(self.chunks, self.transform.products, -1)
        for first in range(0, taps.shape[2], _COLUMNS):
            piece = slice(first, first + _COLUMNS)
            np.matmul(both, taps[:, :, piece], out=found[:, :, piece])


def rounded_up(count: PrimExpr, each: int) -> PrimExpr:
    """How many groups so many make, the last of which may be smaller."""
    return ops.floordiv(ops.add(count, i64(each - 1)), i64(each))


def transformed_weight(plan: Winograd, like: Buffer) -> Buffer:
    """The parameter that takes the place of the weight."""
    return decl_buffer([i64(s) for s in plan.weight_shape()], like.dtype, like.name)
