"""Groups of neighbouring panels of columns whose tiles alternate (cache blocking of A).

A tile reads its rows of A again for each panel. If A is larger than L2, all of it is streamed from L3 for every panel.
If each tile of rows is computed for several panels before the next tile, A is streamed once for all of them, while the
panels of the group stay in L2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec

from baton._src.ir.expr import PrimExpr
from baton._src.ir.target import Target
from baton._src.lower.kernel_schedules.choices import tuned
from baton._src.lower.kernel_schedules.products.products import Product
from baton._src.lower.kernel_schedules.shared.loops import i64, loop
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st

SIZES = (8, 4, 2)
"""Possible numbers of panels in a group."""
PIECES = 4
"""Least number of groups per thread, so that threads finish at about the same time."""


def group_size(matrix: Product, width: int, target: Target) -> int:
    """The number of panels in a group: as many as fit in half the second-level cache if A is larger than it, else 1.

    Tiles in 16 registers read panels twice as fast, from where they are as near as can be: the one in use (Zen 3:
    groups took 1.0 to 1.35 of the time).
    """
    k, rows, columns = matrix.k.size, matrix.row_count, matrix.columns.size
    if k is None or rows is None or columns is None or matrix.pack is not None or not matrix.has_one_row_axis:
        return 1
    half, line = target.cpu.l2_bytes // 2, k * matrix.stage.buffer.dtype.itemsize
    sizes = [n for n in SIZES if columns % (n * width) == 0]
    fitting = [n for n in shareable_sizes(columns, width, target) if n * width * line <= half]
    is_far = rows * line > target.cpu.l2_bytes
    usual = fitting[0] if fitting and is_far and target.cpu.vector_registers >= 32 else 1
    return tuned("panels_in_turn", usual, (1, *sizes))


def shareable_sizes(columns: int, width: int, target: Target) -> list[int]:
    """The sizes of groups that so many columns have, and each thread several of."""
    pieces = PIECES * target.num_cores if target.num_cores > 1 else 1
    return [n for n in SIZES if columns % (n * width) == 0 and n * width * pieces <= columns]


P = ParamSpec("P")


def in_turn(size: int, turn: tir.Var, make: Callable[P, st.Stmt]) -> Callable[P, st.Stmt]:
    """Return a function that makes a tile for each panel of the group, where `make` makes the tile of one panel."""
    if size == 1:
        return make

    def of_all(*args: P.args, **more: P.kwargs) -> st.Stmt:
        return loop(turn, size, make(*args, **more))

    return of_all


def member(size: int, group: tir.Var, turn: tir.Var) -> PrimExpr:
    """The index of the current panel."""
    return group if size == 1 else ops.add(ops.multiply(group, i64(size)), turn)
