"""The loads and stores in a loop, their indices in terms of the loops around them.

    for i: for j in 4: block: v = i * 4 + j; A[v + 1] = 0         A at (i * 4 + j + 1,), for j in [0, 4)

What a tensorised block and calls with pointers do is taken from what their block says that it reads and writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from baton._src.ir.expr import PrimExpr, Range
from baton._src.ir.traverse import children, post_order, substitute
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.regions import pointer_arguments
from baton._src.tir.analysis.vector_rows import by_lane
from baton._src.tir.buffer import Buffer, BufferRegion

Domains = Mapping[tir.Var, Range]


class Access(NamedTuple):
    """A load or store."""

    buffer: Buffer
    indices: tuple[PrimExpr, ...]
    is_store: bool
    block: str
    """The block it is in."""
    loops: Domains
    """Those around it and inside of the loop that was asked for, outermost first."""
    conditions: tuple[PrimExpr, ...]
    """Under which it happens."""


class _Place(NamedTuple):
    """What stands around a statement."""

    block: str = ""
    loops: Domains = {}
    conditions: tuple[PrimExpr, ...] = ()

    def under(self, condition: PrimExpr) -> _Place:
        return self._replace(conditions=(*self.conditions, *ops.conjuncts(condition)))


def loop_accesses(loop: st.For) -> Iterator[Access]:
    """What the body of a loop accesses of buffers that it does not allocate itself, in order of the program."""
    values: dict[Any, PrimExpr] = {}
    """Of axes of blocks and of names."""
    nodes = post_order(loop.body)
    own = {b.data for n in nodes if isinstance(n, st.Block) for b in n.alloc_buffers}
    own |= {n.buffer_var for n in nodes if isinstance(n, st.Allocate | st.AllocateConst)}
    pending: list[tuple[st.Stmt, _Place]] = [(loop.body, _Place())]
    while pending:
        stmt, place = pending.pop()
        if isinstance(stmt, st.BlockRealize):
            pairs = zip(stmt.block.iter_vars, stmt.iter_values)
            values.update({axis.var: substitute(value, values) for axis, value in pairs})
            place = place._replace(block=stmt.block.name_hint).under(substitute(stmt.predicate, values))
        elif isinstance(stmt, st.For):
            domain = Range(substitute(stmt.min, values), substitute(stmt.extent, values))
            place = place._replace(loops={**place.loops, stmt.loop_var: domain})
        elif isinstance(stmt, st.LetStmt):
            values[stmt.var] = substitute(stmt.value, values)
        is_opaque = isinstance(stmt, st.Block) and _is_opaque(stmt)
        for access in _of_regions(stmt, place) if is_opaque else _of_statement(stmt, place):
            if access.buffer.data not in own:
                yield access._replace(indices=tuple(substitute(index, values) for index in access.indices))
        if isinstance(stmt, st.IfThenElse):
            pending += [(stmt.else_case, place)] if stmt.else_case is not None else []
            pending.append((stmt.then_case, place.under(substitute(stmt.condition, values))))
        elif not is_opaque:
            pending += [(part, place) for part in reversed(st.inner_statements(stmt))]


def _is_opaque(block: st.Block) -> bool:
    """Whether loads and stores do not tell what a block does: views and pointers, in the innermost block, do not."""
    has_blocks = any(isinstance(n, st.Block) for n in post_order(block.body))
    return bool(block.match_buffers) or (not has_blocks and bool(pointer_arguments(block.body)))


def _of_statement(stmt: st.Stmt, place: _Place) -> Iterator[Access]:
    for part in children(stmt):
        if isinstance(part, PrimExpr):
            for node in post_order(part, below=lambda n: () if isinstance(n, Buffer) else children(n)):
                if isinstance(node, tir.BufferLoad):
                    yield _of_lanes(node.buffer, node.indices, False, place)
    if isinstance(stmt, st.BufferStore):
        yield _of_lanes(stmt.buffer, stmt.indices, True, place)


def _of_lanes(buffer: Buffer, indices: tuple[PrimExpr, ...], is_store: bool, place: _Place) -> Access:
    scalars, lanes = by_lane(buffer, indices)
    return Access(buffer, scalars, is_store, *place._replace(loops={**place.loops, **lanes}))


def _of_regions(block: Any, place: _Place) -> Iterator[Access]:
    regions: list[tuple[BufferRegion, bool]] = [(r, False) for r in block.reads] + [(w, True) for w in block.writes]
    for region, is_store in regions:
        inside: dict[tir.Var, Range] = {}
        indices: list[PrimExpr] = []
        for n, dim in enumerate(region.region):
            index = dim.min
            if not ops.is_const(dim.extent, 1):
                var = tir.Var(f"r{n}", dim.extent.dtype)
                inside[var] = Range(tir.literal(0, var.dtype), dim.extent)
                index = ops.add(index, var)
            indices.append(index)
        yield Access(region.buffer, tuple(indices), is_store, *place._replace(loops={**place.loops, **inside}))


def needed_loops(loops: Domains, exprs: Any) -> Domains:
    """The loops, outermost first, that expressions or the bounds of those loops depend on."""
    found: dict[tir.Var, Range] = {}
    used = set(post_order(exprs))
    for var, domain in reversed([*loops.items()]):
        if var in used:
            found[var] = domain
            used.update(post_order((domain.min, domain.extent)))
    return dict(reversed(found.items()))
