"""Columns of bfloat16 that become floats two vectors at a time, for sums that are kept in another order of columns.

A register of bfloat16 is one of 32-bit words that hold two neighbours each. A word shifted up is the float of the
first, a masked one that of the second: two instructions for two vectors of floats, where widening each half of the
register takes four. The even columns then lie in one vector and the odd ones in the next; sums are put in order at the
end.

    words   c1 c0 | c3 c2 | ..         acc[0]  += a * (words << 16)             c0 c2 ..
                                       acc[1]  += a * (words & 0xffff0000)      c1 c3 ..
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.lower.kernel_schedules.products.tiles import Accumulators
from baton._src.lower.kernel_schedules.shared.loops import i64, sequence
from baton._src.lower.kernel_schedules.shared.register_shuffles import interleave
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.buffer import Buffer
from baton._src.tir.intrinsics import intrinsic
from baton._src.values.dtype import FLOAT32, INT32, DataType

BFLOAT16 = DataType("bfloat16")


@dataclass(frozen=True)
class Pairs:
    """`count` pairs of vectors of `lanes` sums, the first ones of every row of accumulators."""

    count: int
    lanes: int

    @staticmethod
    def of(weights: DataType, total: DataType, width: int, lanes: int) -> Pairs:
        """As many as fit in `width` columns of such weights; none if they are not bfloat16."""
        return Pairs(width // (2 * lanes) if weights == BFLOAT16 and total == FLOAT32 else 0, lanes)

    @property
    def width(self) -> int:
        """Columns in pairs."""
        return self.count * 2 * self.lanes

    def add_products(self, acc: Accumulators, row: int, left: PrimExpr, weights: Buffer, start: PrimExpr) -> st.Stmt:
        """Add to the pairs of a row of accumulators the products of `left` and the weights from `start` on."""
        scalar = tir.Var("a", acc.buffer.dtype)
        stores = []
        for pair in range(self.count):
            words = self._words(weights, ops.add(start, i64(pair * 2 * self.lanes)))
            for side, floats in enumerate(self._floats(words)):
                at = self._at(acc, row, 2 * pair + side, 1)
                total = tir.Add(tir.BufferLoad(acc.buffer, (at,)), tir.Mul(tir.Broadcast(scalar, self.lanes), floats))
                stores.append(st.BufferStore(acc.buffer, total, (at,)))
        return st.LetStmt(scalar, left, sequence(*stores))

    def put_in_order(self, acc: Accumulators, rows: int) -> list[st.Stmt]:
        """Interleave the vectors of each pair of the first `rows` rows of accumulators."""
        stores: list[st.Stmt] = []
        for row in range(rows):
            for pair in range(self.count):
                sides = [tir.BufferLoad(acc.buffer, (self._at(acc, row, 2 * pair + side, 1),)) for side in range(2)]
                stores.append(st.BufferStore(acc.buffer, interleave([*sides]), (self._at(acc, row, 2 * pair, 2),)))
        return stores

    def _at(self, acc: Accumulators, row: int, vector: int, vectors: int) -> tir.Ramp:
        return tir.Ramp(i64(row * acc.width + vector * self.lanes), i64(1), vectors * self.lanes)

    def _words(self, weights: Buffer, start: PrimExpr) -> PrimExpr:
        run = tir.BufferLoad(weights, (tir.Ramp(start, i64(1), 2 * self.lanes),))
        return tir.Call(INT32.with_lanes(self.lanes), intrinsic("reinterpret"), (run,))

    def _floats(self, words: PrimExpr) -> list[PrimExpr]:
        """The floats of the even, then of the odd columns."""
        found: list[PrimExpr] = []
        for operation, constant in (("shift_left", 16), ("bitwise_and", -(1 << 16))):
            by = tir.Broadcast(tir.IntImm(INT32, constant), self.lanes)
            bits = tir.Call(words.dtype, intrinsic(operation), (words, by))
            found.append(tir.Call(FLOAT32.with_lanes(self.lanes), intrinsic("reinterpret"), (bits,)))
        return found
