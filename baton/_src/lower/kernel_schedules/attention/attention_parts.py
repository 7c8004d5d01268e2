"""The parts of attention: its factors by role, and the buffers of one block of keys."""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.ir.expr import PrimExpr
from baton._src.ir.traverse import rewrite
from baton._src.lower.kernel_schedules.products.tiles import TileShape
from baton._src.lower.kernel_schedules.shared.loops import i64
from baton._src.lower.kernel_schedules.shared.stages import Axis, Stage
from baton._src.passes.tir.lowering.flatten_buffers import as_int64
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer

BLOCK_KEYS = 256
"""Keys in a block: packed, they and their values stay in the second-level cache, a tile's scores in the first."""
BLOCK_ROWS = 192
"""Most queries in a block: packing then costs each of them one percent."""

Members = tuple[Axis, tir.Var, int]
"""The axis of heads of which several share keys: with the number of the group, and the heads in it."""


@dataclass(frozen=True, eq=False)
class Attention:
    """The stages and axes of attention. `place` says where the second product reads an axis of the scores."""

    scores: Stage
    masked: Stage
    batch: tuple[Axis, ...]
    row: Axis
    key: Axis
    inner: Axis
    query: PrimExpr
    keys: PrimExpr
    value: PrimExpr
    place: Mapping[tir.Var, tir.Var]
    weighed: Stage
    column: Axis
    result: Stage
    quotient: PrimExpr
    """The part of the last stage's value that is the weighed values divided by their total."""

    def shared_factors(self, axis: Axis) -> tuple[tuple[PrimExpr, tir.Var], ...]:
        """Keys and values, each with its index in place of `axis`."""
        return (self.keys, axis.var), (self.value, self.place[axis.var])

    def query_at(self, row: PrimExpr, inner: PrimExpr) -> PrimExpr:
        return read_at(self.query, {self.row.var: row, self.inner.var: inner})

    def key_at(self, key: PrimExpr, inner: PrimExpr) -> PrimExpr:
        return read_at(self.keys, {self.key.var: key, self.inner.var: inner})

    def value_at(self, key: PrimExpr, column: PrimExpr) -> PrimExpr:
        places: dict[tir.Var, PrimExpr] = {self.place[a.var]: a.var for a in self.batch}
        places[self.place[self.key.var]] = key
        places[self.column.var] = column
        return read_at(self.value, places)

    def score(self, value: PrimExpr, row: PrimExpr, key: PrimExpr) -> PrimExpr:
        """The masked score, given the product `value`."""
        if self.masked is self.scores:
            return value
        buffer = self.scores.buffer

        def rule(node: object) -> PrimExpr | None:
            return value if isinstance(node, tir.BufferLoad) and node.buffer is buffer else None

        own = dict(zip((a.var for a in self.masked.spatial), (*(a.var for a in self.batch), row, key)))
        return read_at(rewrite(self.masked.value, rule), own)

    def store(self, quotient: PrimExpr, row: PrimExpr, column: PrimExpr) -> st.Stmt:
        """Store one result, given the quotient that it is computed from."""
        known: dict[tir.Var, PrimExpr] = {self.place[a.var]: a.var for a in self.batch}
        known[self.place[self.row.var]] = row
        known[self.column.var] = column
        places = {mine.var: known[own.var] for own, mine in zip(self.weighed.spatial, self.result.spatial)}
        value = rewrite(self.result.value, lambda node: quotient if node is self.quotient else None)
        indices = tuple(ops.cast(a.var.dtype, places[a.var]) for a in self.result.spatial)
        return st.BufferStore(self.result.buffer, read_at(value, places), indices)


def read_at(value: PrimExpr, places: Mapping[tir.Var, PrimExpr]) -> PrimExpr:
    found: PrimExpr = substitute_and_fold(value, {var: ops.cast(var.dtype, at) for var, at in places.items()})
    return found


@dataclass(frozen=True, eq=False)
class Block:
    """One task's current block of keys, and its buffers."""

    found: Attention
    shape: TileShape
    rows: int
    """Queries of the task at most."""
    start: PrimExpr
    """The first key of the block."""
    count: PrimExpr
    """The keys of the block."""
    single: bool
    """Whether all keys are in one block, so that no running state is needed."""
    packed_keys: Buffer
    packed_values: Buffer
    strip: Buffer
    """The scores of a tile."""
    top: Buffer
    share: Buffer
    """The maximum and the sum of each row of a tile, for this block only."""
    shrink: Buffer
    tops: Buffer
    totals: Buffer
    sums: Buffer
    """The running state over all blocks so far: maxima, sums and results of the task's queries."""

    @property
    def width(self) -> int:
        return self.shape.width

    @property
    def panels(self) -> PrimExpr:
        """Panels of keys."""
        return panels_of(self.count, self.width)

    @property
    def columns(self) -> int:
        return -(-(self.found.column.size or 1) // self.width)


def panels_of(count: PrimExpr, width: int) -> PrimExpr:
    return ops.floordiv(ops.add(as_int64(count), i64(width - 1)), i64(width))
