"""The loops and blocks around all accesses of a buffer, and which of those may allocate it in each iteration.

    for i in 16: { for j in 8: C[i * 8 + j] = ...; for j in 8: ... = C[i * 8 + j] }      C: inside of the loop over i

The buffer must be outside a loop whose iterations depend on what earlier ones stored in it: sums over a reduced axis,
sliding windows, anything read before the iteration has certainly stored it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.node import Node
from baton._src.ir.traverse import children, post_order, rebuild, rewrite, substitute
from baton._src.support.dataclass import dataclass
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.certain_stores import certain_stores
from baton._src.tir.analysis.regions import point_regions
from baton._src.tir.arith.analyzer import Analyzer
from baton._src.tir.buffer import Buffer

Scope = st.For | st.Block


def access_scopes(body: st.Stmt) -> dict[Buffer, Scope | None]:
    """For each buffer the innermost loop or block around all of its accesses, None if nothing is. Reductions, and
    blocks that depend on earlier iterations, access it from outside the loops that carry them.
    """
    return {a.buffer: a.scopes[-1] if a.scopes else None for a in accesses(body, {}).values()}


@dataclass
class Accesses:
    """The accesses of one buffer, in program order."""

    buffer: Buffer
    scopes: list[Scope]
    """Loops and blocks around all of them, from outside."""
    is_stored: bool
    """Whether the first one stores."""
    conditions: tuple[PrimExpr, ...]
    """Around the first one, in terms of loops."""

    def may_be_inside(self) -> list[Scope]:
        """Those of `scopes` that may allocate the buffer in each iteration, with their contexts."""
        found = [*self.scopes]
        while found and isinstance(found[-1], st.For) and self._goes_on(found[-1]):
            found.pop()
        return found

    def _goes_on(self, loop: st.For) -> bool:
        """Whether an iteration may read what an earlier one stored."""
        at_times = any(n is loop.loop_var for condition in self.conditions for n in post_order(condition))
        if not self.is_stored or at_times:
            return True
        loops = {n.loop_var: Range(n.min, n.extent) for n in self.scopes if isinstance(n, st.For)}
        analyzer = Analyzer.over(loops)
        for part, so_far in _parts(loop.body):
            found = [_reads(form, self.buffer) for form in (part, _unconditional(part))]
            reads = [region for region in found if region is not None]
            boxes = certain_stores(so_far, self.buffer) if reads else []
            if reads and not any(_covers(box, region, analyzer) for box in boxes for region in reads):
                return True
        return False


def _reads(part: st.Stmt, buffer: Buffer) -> Sequence[Range] | None:
    return next((r.region for r in point_regions(part)[0] if r.buffer is buffer), None)


def _unconditional(part: st.Stmt) -> st.Stmt:
    """The statement with blocks under no condition: boxes then follow the loops, and may go beyond the buffer, as those
    of certain stores do."""

    def rule(node: Node) -> Node | None:
        is_told = isinstance(node, st.BlockRealize) and ops.conjuncts(node.predicate)
        return node.with_fields(predicate=tir.IntImm("bool", 1)) if is_told else None

    found: st.Stmt = rewrite(part, rule)
    return found


def _parts(body: st.Stmt) -> list[tuple[st.Stmt, st.Stmt]]:
    """The parts of the first sequence in `body`, each with what is around it, and each with all that runs before it."""
    if isinstance(body, st.SeqStmt):
        return [(part, st.SeqStmt(body.seq[: n + 1])) for n, part in enumerate(body.seq)]
    inside = st.inner_statements(body)
    if len(inside) != 1:
        return [(body, body)]
    (only,) = inside
    return [(rebuild(body, {only: part}), rebuild(body, {only: so_far})) for part, so_far in _parts(only)]


def _covers(outer: Sequence[Range], inner: Sequence[Range], analyzer: Analyzer) -> bool:
    return all(
        analyzer.prove(ops.less_equal(a.min, b.min))
        and analyzer.prove(ops.less_equal(ops.add(b.min, b.extent), ops.add(a.min, a.extent)))
        for a, b in zip(outer, inner)
    )


class _Place(NamedTuple):
    """The context of a statement or expression."""

    scopes: tuple[Scope, ...] = ()
    carried: tuple[Scope, ...] | None = None
    """Within a block that depends on earlier iterations: the scopes around the loops that carry the dependence."""
    reduced: tuple[Scope, ...] | None = None
    """Within a reduction block: the scopes around the loops that carry the reduction."""
    conditions: tuple[PrimExpr, ...] = ()

    def inside(self, scope: Scope) -> _Place:
        return self._replace(scopes=(*self.scopes, scope))

    def under(self, condition: PrimExpr) -> _Place:
        return self._replace(conditions=(*self.conditions, condition))

    def realized(self, realize: st.BlockRealize) -> _Place:
        carried = self.carried if self.carried is not None else _outside(self.scopes, realize, "opaque")
        reduced = self.reduced if self.reduced is not None else _outside(self.scopes, realize, "reduce")
        return self._replace(carried=carried, reduced=reduced)

    def of_access(self, stores: bool) -> tuple[Scope, ...]:
        """The scopes that count for an access here."""
        found = [self.scopes, self.carried, self.reduced if stores else None]
        return min((scopes for scopes in found if scopes is not None), key=len)


def _outside(scopes: tuple[Scope, ...], realize: st.BlockRealize, kind: str) -> tuple[Scope, ...] | None:
    """The scopes around the outermost loop that carries an axis of this kind; None if none does."""
    pairs = zip(realize.block.iter_vars, realize.iter_values)
    along = {n for axis, value in pairs if axis.iter_type == kind for n in post_order(value)}
    found = tuple(takewhile(lambda scope: not (isinstance(scope, st.For) and scope.loop_var in along), scopes))
    return found if len(found) < len(scopes) else None


def accesses(body: st.Stmt, memory: Mapping[tir.Var, Buffer]) -> dict[tir.Var, Accesses]:
    """By pointer, in order of the first access. The pointers of `memory` count where they are used by themselves."""
    found: dict[tir.Var, Accesses] = {}
    values: dict[Any, PrimExpr] = {}
    """Of the axes of blocks, in terms of loops."""

    def note(buffer: Buffer, place: _Place, stores: bool) -> None:
        scopes = place.of_access(stores)
        known = found.get(buffer.data)
        if known is None:
            conditions = tuple(substitute(c, values) for c in place.conditions)
            found[buffer.data] = Accesses(buffer, list(scopes), stores, conditions)
        else:
            known.scopes = [a for a, b in takewhile(lambda pair: pair[0] is pair[1], zip(known.scopes, scopes))]

    pending: list[tuple[st.Stmt, _Place]] = [(body, _Place())]
    while pending:
        stmt, place = pending.pop()
        if isinstance(stmt, st.BlockRealize):
            place = place.realized(stmt)
            pairs = zip(stmt.block.iter_vars, stmt.iter_values)
            values.update({axis.var: substitute(value, values) for axis, value in pairs})
        for expr in _expressions(stmt):
            for node in post_order(expr, below=lambda n: () if isinstance(n, Buffer) else children(n)):
                if isinstance(node, tir.BufferLoad):
                    note(node.buffer, place, stores=False)
                elif node in memory:
                    note(memory[node], place, stores=True)
        for buffer in _stored(stmt):
            note(buffer, place, stores=True)
        if isinstance(stmt, st.For | st.Block):
            place = place.inside(stmt)
        elif isinstance(stmt, st.IfThenElse):
            place = place.under(stmt.condition)
        pending += [(part, place) for part in reversed(st.inner_statements(stmt))]
    return found


def _expressions(stmt: st.Stmt) -> list[PrimExpr]:
    return [part for part in children(stmt) if isinstance(part, PrimExpr)]


def _stored(stmt: st.Stmt) -> list[Buffer]:
    """What a statement writes itself, or may: views and declared buffers show memory of another one."""
    match stmt:
        case st.BufferStore() | st.DeclBuffer():
            return [stmt.buffer]
        case st.Block():
            return [view.source.buffer for view in stmt.match_buffers]
        case _:
            return []
