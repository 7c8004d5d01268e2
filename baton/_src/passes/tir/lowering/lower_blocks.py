"""Blocks become plain loops.

A block's axes are replaced by their values; its predicate becomes a condition; buffers it allocates become
`Allocate`; the initialisation of a reduction moves in front of the outermost loop that reduces:

    for i: for k: block(vi = i, vk = k) { init: C[vi] = 0; C[vi] += A[vi, vk] }
    ->  for i: C[i] = 0; for k: C[i] += A[i, k]

so it also runs if the reduced axis is empty. If other statements are between loop and block, or one loop covers a
reduced and another axis (they were fused), it stays inside under the condition that every reduced axis is at its start,
and stands in front of the loops for the case that they are empty. `tir.analysis.reductions` determines where a
reduction begins, `empty_reductions` what begins an empty one.
"""

from __future__ import annotations

from collections.abc import Sequence

from baton._src.passes.tir.lowering.flatten_buffers import element_count
from baton._src.passes.tir.lowering.fold import substitute_and_fold
from baton._src.passes.tir.lowering.views import view_as_source
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.analysis.empty_reductions import EmptyReduction, empty_reductions
from baton._src.tir.analysis.reductions import begun_ahead, only_block
from baton._src.tir.buffer import Buffer
from baton._src.tir.stmt import Stmt
from baton._src.tir.thread_axes import launched_axis, thread_loop


def lower_blocks(body: st.Stmt) -> st.Stmt:
    """`body` without blocks."""
    return _Lowering(empty_reductions(body)).lower(body)


class _Lowering:
    def __init__(self, empty: dict[tir.Var, list[EmptyReduction]]) -> None:
        self.empty = empty
        """What begins empty reductions in front of the loops that carry them."""
        self.around: list[tir.Var] = []
        """Variables of the loops and blocks around the current statement."""
        self.initialised: set[st.Block] = set()
        """Blocks whose initialisation was already placed before a loop."""

    def lower(self, stmt: st.Stmt) -> st.Stmt:
        match stmt:
            case st.BlockRealize():
                return self._realize(stmt)
            case st.Block():
                return self._realize(st.BlockRealize((), tir.IntImm("bool", 1), stmt))
            case st.For():
                return self._loop(stmt)
            case st.SeqStmt(seq=seq):
                return st.SeqStmt(tuple(self.lower(s) for s in seq))
            case st.IfThenElse():
                other = None if stmt.else_case is None else self.lower(stmt.else_case)
                return stmt.with_fields(then_case=self.lower(stmt.then_case), else_case=other)
            case st.AttrStmt() if (threads := thread_loop(stmt)) is not None:
                return self._loop(threads)
            case st.AllocateConst():
                return self._chain(stmt.as_let())
            case st.While() | st.LetStmt() | st.AttrStmt() | st.AssertStmt() | st.Allocate() | st.DeclBuffer():
                return self._chain(stmt)
            case _:
                return stmt

    def _chain(self, stmt: Stmt) -> st.Stmt:
        """A chain of nested statements with one body each, of any depth."""
        outer = []
        while isinstance(stmt, (st.While, st.LetStmt, st.AttrStmt, st.AssertStmt, st.Allocate, st.DeclBuffer)):
            if isinstance(stmt, st.AttrStmt) and launched_axis(stmt) is not None:
                break
            outer.append(stmt)
            stmt = stmt.body
        found = self.lower(stmt)
        for item in reversed(outer):
            found = item.with_fields(body=found)
        return found

    def _loop(self, loop: st.For) -> st.Stmt:
        realize = only_block(loop)
        first: st.Stmt | None = None
        if realize is not None and realize.block not in self.initialised:
            first = begun_ahead(loop, self.around)
        if first is not None and realize is not None:
            ahead = [self.lower(first)]
            self.initialised.add(realize.block)
        else:
            empty = self.empty.get(loop.loop_var, ())
            ahead = [self.lower(made.beginning) for made in empty if made.block not in self.initialised]
        lowered = loop.with_fields(body=self._inside(loop.body, (loop.loop_var,)))
        return st.SeqStmt((*ahead, lowered)) if ahead else lowered

    def _inside(self, body: st.Stmt, variables: Sequence[tir.Var]) -> st.Stmt:
        """`body`, lowered, in which these variables are of loops or blocks around."""
        self.around += variables
        lowered = self.lower(body)
        del self.around[len(self.around) - len(variables) :]
        return lowered

    def _realize(self, realize: st.BlockRealize) -> st.Stmt:
        block = realize.block
        body = self._inside(block.body, [axis.var for axis in block.iter_vars])
        if block.init is not None and block not in self.initialised:
            init = self.lower(block.init)
            at_start = [
                ops.build("equal", iv.var, iv.dom.min)
                for iv in block.iter_vars
                if iv.iter_type == "reduce" and iv.dom is not None
            ]
            if at_start:
                condition = at_start[0]
                for more in at_start[1:]:
                    condition = tir.And(condition, more)
                init = st.IfThenElse(condition, init)
            body = st.SeqStmt((init, body))
        for match in reversed(block.match_buffers):
            body = view_as_source(body, match)
        values = {iv.var: ops.cast(iv.var.dtype, v) for iv, v in zip(block.iter_vars, realize.iter_values)}
        if values:
            body = substitute_and_fold(body, values)
        if not ops.is_const(realize.predicate, 1):
            body = st.IfThenElse(realize.predicate, body)
        for buffer in reversed(block.alloc_buffers):
            body = allocate(buffer, body)
        return body


def allocate(buffer: Buffer, body: st.Stmt) -> st.Stmt:
    """Allocate `buffer` around `body`: with strides, more than its elements."""
    plain = not buffer.strides and buffer.elem_offset is None
    extents = buffer.shape if plain else (ops.max(element_count(buffer), 1),)
    return st.Allocate(buffer.data, dtype=buffer.dtype, extents=extents, body=body)
