"""Recognise the parts of a recurrent layer in a kernel: the loop over steps, its products, the updates of the
states.
"""

from __future__ import annotations

from baton._src.ir.expr import PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.structural import structural_equal
from baton._src.ir.traverse import rewrite
from baton._src.lower.kernel_schedules.shared.affine import coefficient, depends, same
from baton._src.lower.kernel_schedules.shared.factors import is_simple, load_of
from baton._src.lower.kernel_schedules.shared.loops import (
    constant,
)
from baton._src.lower.kernel_schedules.shared.stages import Axis, Kernel, Opaque
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer


@dataclass(frozen=True, eq=False)
class Part:
    """A product within a step, and the stores (over rows and units) that read its sums."""

    sums: Buffer
    rows: Axis
    columns: Axis
    k: Axis
    left: PrimExpr
    right: PrimExpr
    update_row: tir.Var
    unit: Axis
    stores: tuple[st.BufferStore, ...]

    @property
    def size(self) -> int:
        """The number of hidden units."""
        return self.unit.size or 1

    @property
    def gates(self) -> int:
        return (self.columns.size or 1) // self.size

    @property
    def packed_width(self) -> int | None:
        """The width of a block, if the weights are packed."""
        load = load_of(self.right)
        if len(load.indices) != 4:
            return None
        width = constant(load.buffer.shape[3])
        wanted = gate_panel(self.columns.var, self.k.var, self.size, width or 1)
        return width if all(structural_equal(a, b) for a, b in zip(load.indices, wanted)) else None


@dataclass(frozen=True, eq=False)
class Recurrence:
    """The loop over steps, and the statements before and after it."""

    before: tuple[st.Stmt, ...]
    steps: st.For
    parts: tuple[Part, ...]
    after: tuple[st.Stmt, ...]


def gate_panel(column: PrimExpr, row: PrimExpr, size: int, width: int) -> tuple[PrimExpr, ...]:
    """The position of weight (row, column) among packed ones; `column` counts gate by gate, `size` units each."""
    number = tir.IntImm(column.dtype, size)
    unit, wide = ops.floormod(column, number), tir.IntImm(column.dtype, width)
    return ops.floordiv(unit, wide), row, ops.floordiv(column, number), ops.floormod(unit, wide)


def find_recurrence(kernel: Kernel) -> Recurrence | None:
    """Return the recurrence that the kernel consists of, if it is one."""
    if len(kernel.stages) != 1 or not isinstance(kernel.stages[0], Opaque):
        return None
    stmt = kernel.stages[0].stmt
    if not isinstance(stmt, st.BlockRealize) or stmt.block.iter_vars or not isinstance(stmt.block.body, st.SeqStmt):
        return None
    statements = stmt.block.body.seq
    for place, item in enumerate(statements):
        if isinstance(item, st.For) and isinstance(item.body, st.SeqStmt):
            parts = _read_parts(item.body.seq)
            before, after = statements[:place], statements[place + 1 :]
            if parts is not None and _sums_are_read_by_updates_only(parts, (*before, *after)):
                return Recurrence(before, item, parts, after)
    return None


def _read_parts(statements: tuple[st.Stmt, ...]) -> tuple[Part, ...] | None:
    """Read alternating products and updates; each update reads the sums of its own product, gate by gate."""
    if len(statements) % 2:
        return None
    found = [_read_part(a, b) for a, b in zip(statements[::2], statements[1::2])]
    parts = [p for p in found if p is not None]
    if len(parts) < len(found) or not parts:
        return None
    all_sums = {p.sums for p in parts}
    if not all(map(_blocks_are_apart, parts)):
        return None
    for part in parts:
        loads = [n for s in part.stores for n in _loads(s) if n.buffer in all_sums]
        if not all(n.buffer is part.sums and gate_of_load(n, part) is not None for n in loads):
            return None
    return tuple(parts)


def _sums_are_read_by_updates_only(parts: tuple[Part, ...], around: tuple[st.Stmt, ...]) -> bool:
    """Whether nothing misses sums that stay in registers."""
    kept = {p.sums.data for p in parts}
    factors = [factor for part in parts for factor in (part.left, part.right)]
    others = [load for item in (*around, *factors) for load in _loads(item)]
    return not any(n.buffer.data in kept for n in others)


def _blocks_are_apart(part: Part) -> bool:
    """Whether no block of units reads, in its product or update, what another one stores."""
    for store in part.stores:
        memory = store.buffer.data
        factors = [n for factor in (part.left, part.right) for n in _loads(factor) if n.buffer.data is memory]
        own = [n for s in part.stores for n in _loads(s.value) if n.buffer.data is memory]
        own = [n for n in own if not structural_equal(n.indices, store.indices)]
        if not all(any(map(_differ, n.indices, store.indices)) for n in (*factors, *own)):
            return False
    return True


def _differ(a: PrimExpr, b: PrimExpr) -> bool:
    """Whether two indices are never the same: t % 2 and (t + 1) % 2, say."""
    cycle = 0
    match a, b:
        case tir.FloorMod(a=first, b=tir.IntImm(value=m)), tir.FloorMod(a=second, b=tir.IntImm(value=n)) if m == n:
            a, b, cycle = first, second, m
        case _:
            pass
    apart = constant(Analyzer().simplify(ops.subtract(a, b)))
    return apart is not None and (apart % cycle if cycle else apart) != 0


def _loads(stmt: Node) -> list[tir.BufferLoad]:
    found: list[tir.BufferLoad] = []

    def rule(node: Node) -> None:
        if isinstance(node, tir.BufferLoad):
            found.append(node)

    rewrite(stmt, rule)
    return found


def _nest(stmt: st.Stmt) -> tuple[list[Axis], st.Stmt] | None:
    """Two loops around a body."""
    axes: list[Axis] = []
    while len(axes) < 2:
        if not isinstance(stmt, st.For) or stmt.kind is not st.ForKind.SERIAL or constant(stmt.min) != 0:
            return None
        axes.append(Axis(stmt.loop_var, stmt.extent))
        stmt = stmt.body
    return axes, stmt


def _read_part(product: st.Stmt, update: st.Stmt) -> Part | None:
    outer, inner = _nest(product), _nest(update)
    if outer is None or inner is None:
        return None
    (rows, columns), body = outer
    (update_rows, unit), work = inner
    steps = work.seq if isinstance(work, st.SeqStmt) else (work,)
    stores = tuple(s for s in steps if isinstance(s, st.BufferStore))
    if len(stores) < len(steps) or not same(rows.extent, update_rows.extent):
        return None
    if columns.size is None or not unit.size or columns.size % unit.size:
        return None
    if not isinstance(body, st.SeqStmt) or len(body.seq) != 2:
        return None
    match body.seq:
        case (
            st.BufferStore(buffer=sums, indices=place, value=tir.FloatImm(value=0.0)),
            st.For(
                min=tir.IntImm(value=0),
                body=st.BufferStore(
                    buffer=again,
                    indices=there,
                    value=tir.Add(a=tir.BufferLoad(buffer=held, indices=here), b=tir.Mul() as term),
                ),
            ),
        ) if sums is again is held and place == there == here == (rows.var, columns.var):
            k = Axis(body.seq[1].loop_var, body.seq[1].extent)
            left, right = term.a, term.b
        case _:
            return None
    fits = depends(left, rows.var) and depends(right, columns.var) and not depends(left, columns.var)
    if not fits or depends(right, rows.var) or not is_simple(left) or not is_simple(right):
        return None
    return Part(sums, rows, columns, k, left, right, update_rows.var, unit, stores)


def gate_of_load(load: tir.BufferLoad, part: Part) -> int | None:
    """Which gate's sum a load in an update reads."""
    row, column = load.indices
    if row is not part.update_row or coefficient(column, part.unit.var) != 1:
        return None
    first = constant(substitute_and_fold(column, {part.unit.var: tir.IntImm(part.unit.var.dtype, 0)}))
    return first // part.size if first is not None and first % part.size == 0 else None
