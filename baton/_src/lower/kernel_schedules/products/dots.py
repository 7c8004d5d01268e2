"""The CPU's dot-product instructions: which one fits two factors, and how its operand words are loaded."""

from __future__ import annotations

from baton._src.ir.cpu import has_byte_dots, has_fast_bfloat16_dots
from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir.intrinsics import intrinsic
from baton._src.values.dtype import FLOAT32, INT32, DataType

INT8, UINT8, BFLOAT16 = DataType("int8"), DataType("uint8"), DataType("bfloat16")


@dataclass(frozen=True)
class Dot:
    """A dot-product instruction: its intrinsic, the elements per word, and whether the left factor is its second
    operand.
    """

    name: str
    group: int
    swapped: bool

    def __call__(self, total: PrimExpr, left: PrimExpr, right: PrimExpr) -> PrimExpr:
        operands = (right, left) if self.swapped else (left, right)
        return tir.Call(total.dtype, intrinsic(self.name), (total, *operands))


def dot_instruction(left: DataType, right: DataType, total: DataType, target: Target, lanes: int) -> Dot | None:
    """The instruction for vectors of `lanes` sums, or None if the target has none that is fast for these factors."""
    if total == INT32 and {left, right} == {UINT8, INT8} and has_byte_dots(target.features, lanes):
        return Dot("tir.dot_u8s8", 4, left == INT8)
    if total == FLOAT32 and left == right == BFLOAT16 and has_fast_bfloat16_dots(target.cpu, lanes):
        return Dot("tir.dot_bf16", 2, False)
    return None


def words_at(load: tir.BufferLoad, lanes: int, group: int) -> PrimExpr:
    """Load `lanes` words of `group` elements each, beginning at the element that `load` reads."""
    at = tir.Ramp(load.indices[-1], tir.IntImm("int64", 1), lanes * group)
    run = tir.BufferLoad(load.buffer, (*load.indices[:-1], at))
    dtype = INT32 if lanes == 1 else INT32.with_lanes(lanes)
    return tir.Call(dtype, intrinsic("reinterpret"), (run,))
