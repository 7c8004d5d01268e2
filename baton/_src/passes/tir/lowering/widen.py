"""One iteration variable becomes a vector of consecutive values; everything that depends on it grows lanes.

Expressions that do not depend on it stay scalar. Buffers allocated inside get one element per lane, with lanes
contiguous, so that accumulators inside a vectorised loop become vector registers.
"""

from __future__ import annotations

from typing import Any

from baton._src.ir.expr import Op, PrimExpr
from baton._src.ir.node import Node
from baton._src.ir.traverse import post_order
from baton._src.ir.visitor import Visitor
from baton._src.passes.tir.lowering.fold import fold
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.arith.opaque import is_index
from baton._src.tir.buffer import Buffer
from baton._src.tir.intrinsics import Effect, Intrinsic, intrinsic, is_pure_call


class CannotVectorize(Exception):
    """The loop cannot be vectorised; says why."""


def broadcast(expr: PrimExpr, lanes: int) -> PrimExpr:
    """`expr` with lanes."""
    return expr if expr.dtype.lanes == lanes else tir.Broadcast(expr, lanes)


class Widening:
    """Widens statements over `var` = base, base + 1, ..., base + lanes - 1."""

    def __init__(self, var: tir.Var, base: PrimExpr, lanes: int) -> None:
        self.lanes = lanes
        one = tir.IntImm(var.dtype, 1)
        self.values: dict[tir.Var, PrimExpr] = {var: tir.Ramp(base, one, lanes)}
        """Variables that have become vectors."""
        self.private: dict[tir.Var, None] = {}
        """Pointers of buffers with one element per lane."""
        self.wide: dict[Buffer, Buffer] = {}
        """These buffers, with room for all lanes."""
        self.depth = 0
        """Nesting depth of vector conditions."""

    # ------------------------------------------------------------------------------------------ statements

    def statement(self, stmt: st.Stmt) -> st.Stmt:
        """`stmt` for all lanes at once."""
        match stmt:
            case st.SeqStmt(seq=seq):
                return st.SeqStmt(tuple(self.statement(s) for s in seq))
            case st.BufferStore():
                return self._store(stmt)
            case st.IfThenElse():
                return self._if(stmt)
            case st.For():
                return self._for(stmt)
            case st.LetStmt(var=var, value=value, body=body):
                found = self.expression(value)
                if found.dtype.lanes == 1:
                    return stmt.with_fields(value=found, body=self.statement(body))
                wide = tir.Var(var.name, found.dtype)
                self.values[var] = wide
                return st.LetStmt(wide, found, self.statement(body))
            case st.Allocate():
                self.private[stmt.buffer_var] = None
                extents = (*stmt.extents, tir.IntImm("int64", self.lanes))
                return stmt.with_fields(extents=extents, body=self.statement(stmt.body))
            case st.DeclBuffer(buffer=buffer):
                shown = self.own_part(buffer) if buffer.data in self.private else buffer
                return stmt.with_fields(buffer=shown, body=self.statement(stmt.body))
            case st.AttrStmt(body=body):
                return stmt.with_fields(body=self.statement(body))
            case st.Evaluate(value=tir.IntImm()):
                return stmt
            case _:
                raise CannotVectorize(type(stmt).__name__)

    def _store(self, stmt: st.BufferStore) -> st.Stmt:
        index, value = self.expression(stmt.indices[0]), self.expression(stmt.value)
        buffer = stmt.buffer
        if stmt.indices[0].dtype.lanes > 1:  # of a loop inside
            if self.depth or buffer.data in self.private or index is not stmt.indices[0] or value is not stmt.value:
                raise CannotVectorize("vectors inside vectors")
            return stmt
        if buffer.data in self.private:
            buffer, index = self.own_part(buffer), self._own_place(index)
        elif index.dtype.lanes == 1:
            if value.dtype.lanes > 1 or self.depth:
                raise CannotVectorize(f"all lanes store to one place of {buffer.name}")
            return st.BufferStore(buffer, value, (index,))
        return st.BufferStore(buffer, broadcast(value, self.lanes), (index,))

    def own_part(self, buffer: Buffer) -> Buffer:
        """A private buffer with one element per lane."""
        if buffer not in self.wide:
            *outer, last = buffer.shape
            self.wide[buffer] = buffer.with_fields(
                shape=(*outer, ops.multiply(last, tir.literal(self.lanes, last.dtype)))
            )
        return self.wide[buffer]

    def _own_place(self, index: PrimExpr) -> PrimExpr:
        if index.dtype.lanes > 1:
            raise CannotVectorize("a private buffer is indexed by the vector axis")
        base = ops.multiply(index, tir.IntImm(index.dtype, self.lanes))
        return tir.Ramp(base, tir.IntImm(index.dtype, 1), self.lanes)

    def _if(self, stmt: st.IfThenElse) -> st.Stmt:
        condition = self.expression(stmt.condition)
        masks = condition.dtype.lanes > stmt.condition.dtype.lanes
        self.depth += masks
        then = self.statement(stmt.then_case)
        other = None if stmt.else_case is None else self.statement(stmt.else_case)
        self.depth -= masks
        return st.IfThenElse(condition, then, other)

    def _for(self, stmt: st.For) -> st.Stmt:
        low, extent = self.expression(stmt.min), self.expression(stmt.extent)
        if low.dtype.lanes > 1 or extent.dtype.lanes > 1:
            raise CannotVectorize("the bounds of an inner loop depend on the vector axis")
        if stmt.kind is st.ForKind.PARALLEL:
            raise CannotVectorize("a parallel loop inside")
        return stmt.with_fields(min=low, extent=extent, body=self.statement(stmt.body))

    # ----------------------------------------------------------------------------------------- expressions

    def expression(self, expr: PrimExpr) -> PrimExpr:
        """`expr` for all lanes: a vector if it depends on the lane, else as it was."""
        if expr.dtype.lanes > 1:  # a loop inside made it
            return self._independent(expr)
        found: PrimExpr = _Expressions(self).visit(expr)
        return found

    def _independent(self, expr: PrimExpr) -> PrimExpr:
        """A value that must be the same in all lanes."""
        for n in post_order(expr):
            private = isinstance(n, tir.BufferLoad) and n.buffer.data in self.private
            if private or (isinstance(n, tir.Var) and n in self.values):
                raise CannotVectorize("vectors inside vectors")
        return expr


class _Expressions(Visitor):
    """Widens one expression bottom-up."""

    def __init__(self, owner: Widening) -> None:
        super().__init__()
        self.owner = owner
        self.lanes = owner.lanes

    def below(self, node: Node) -> Any:
        match node:
            case tir.BufferLoad(indices=indices):
                return indices
            case tir.Call(args=args):
                return [a for a in args if isinstance(a, PrimExpr)]
            case tir.Let(value=value):
                return (value,)
            case _:
                return super().below(node)

    def visit_default(self, node: Node) -> Any:
        return node

    def visit_Var(self, var: tir.Var) -> PrimExpr:
        return self.owner.values.get(var, var)

    def visit_BinaryOp(self, node: tir.BinaryOp) -> PrimExpr:
        found = _ramp_arithmetic(node, self.memo[node.a], self.memo[node.b])
        return self._pair(node) if found is None else found

    def visit_CompareOp(self, node: tir.CompareOp) -> PrimExpr:
        return self._pair(node)

    def visit_LogicalOp(self, node: tir.LogicalOp) -> PrimExpr:
        return self._pair(node)

    def _pair(self, node: Any) -> PrimExpr:
        a, b = self.memo[node.a], self.memo[node.b]
        if a.dtype.lanes == 1 and b.dtype.lanes == 1:
            return self._same(node, a, b)
        dtype = node.dtype.with_lanes(self.lanes)
        found: PrimExpr = node.with_fields(a=broadcast(a, self.lanes), b=broadcast(b, self.lanes), dtype=dtype)
        return found

    def _same(self, node: Any, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        rebuilt: PrimExpr = node.with_fields(a=a, b=b)
        folded = fold(rebuilt)
        return folded if isinstance(folded, PrimExpr) else rebuilt

    def visit_Not(self, node: tir.Not) -> PrimExpr:
        a = self.memo[node.a]
        return node.with_fields(a=a, dtype=a.dtype)

    def visit_Cast(self, node: tir.Cast) -> PrimExpr:
        value = self.memo[node.value]
        lanes, narrows = value.dtype.lanes, node.dtype.bits < value.dtype.bits
        if isinstance(value, tir.Ramp) and is_index(value.base.dtype) and node.dtype.is_int and not narrows:
            return tir.Ramp(ops.cast(node.dtype, value.base), ops.cast(node.dtype, value.stride), lanes)
        return node.with_fields(value=value, dtype=node.dtype.with_lanes(lanes))

    def visit_Select(self, node: tir.Select) -> PrimExpr:
        parts = [self.memo[p] for p in (node.condition, node.true_value, node.false_value)]
        if all(p.dtype.lanes == 1 for p in parts):
            return node.with_fields(condition=parts[0], true_value=parts[1], false_value=parts[2])
        condition = parts[0]
        true, false = broadcast(parts[1], self.lanes), broadcast(parts[2], self.lanes)
        if condition.dtype.lanes > 1 and true.dtype.lanes == 1:
            raise CannotVectorize("select")
        return tir.Select(broadcast(condition, self.lanes), true, false)

    def visit_BufferLoad(self, node: tir.BufferLoad) -> PrimExpr:
        index = self.memo[node.indices[0]]
        buffer = node.buffer
        if buffer.data in self.owner.private:
            buffer, index = self.owner.own_part(buffer), self.owner._own_place(index)
        if index is node.indices[0]:
            return node
        if node.dtype.lanes > 1:
            raise CannotVectorize("vectors inside vectors")
        return tir.BufferLoad(buffer, (index,))

    def visit_Call(self, node: tir.Call) -> PrimExpr:
        args = [self.memo[a] if isinstance(a, PrimExpr) else a for a in node.args]
        if _calls_out(node):
            raise CannotVectorize("a call for each iteration")
        if all(not isinstance(a, PrimExpr) or a.dtype.lanes == 1 for a in args):
            same = all(new is old for new, old in zip(args, node.args))
            return node if same else node.with_fields(args=tuple(args))
        name = node.op.name if isinstance(node.op, Op) else ""
        if name == "tir.if_then_else":
            condition, true, false = args
            wide = node.dtype.with_lanes(self.lanes)
            return tir.Call(wide, node.op, (condition, broadcast(true, self.lanes), broadcast(false, self.lanes)))
        if name == "tir.index_within":
            index, extent, text, shown = args
            if extent.dtype.lanes > 1 or shown.dtype.lanes != index.dtype.lanes:
                raise CannotVectorize("an axis of many sizes")
            return tir.Call(index.dtype, node.op, (index, extent, text, shown))
        row = node.op.definition if isinstance(node.op, Op) else None
        if not isinstance(row, Intrinsic) or row.effect is not Effect.PURE or name in _SCALAR_ONLY:
            raise CannotVectorize(f"a call of {name or node.op}")
        return tir.Call(node.dtype.with_lanes(self.lanes), node.op, [broadcast(a, self.lanes) for a in args])

    def visit_Let(self, node: tir.Let) -> PrimExpr:
        value = self.memo[node.value]
        if value.dtype.lanes == 1:
            return tir.Let(node.var, value, self.owner.expression(node.body))
        wide = tir.Var(node.var.name, value.dtype)
        self.owner.values[node.var] = wide
        return tir.Let(wide, value, self.owner.expression(node.body))

    def visit_Ramp(self, node: tir.Ramp) -> PrimExpr:
        return self.owner._independent(node)

    def visit_Broadcast(self, node: tir.Broadcast) -> PrimExpr:
        return self.owner._independent(node)

    def visit_Shuffle(self, node: tir.Shuffle) -> PrimExpr:
        return self.owner._independent(node)


def _calls_out(call: tir.Call) -> bool:
    """Whether it calls a function that may have effects: as often as the loop runs, whatever its operands are."""
    return not is_pure_call(call, Effect.READ) and call.op not in _HINTS


_HINTS = (intrinsic("prefetch"), intrinsic("tvm_storage_sync"))


_SCALAR_ONLY = {"tir.call_pure_extern", "tir.address_of", "tir.ptr_add", "tir.q_multiply_shift", "tir.large_uint_imm"}


def _ramp_arithmetic(node: tir.BinaryOp, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    """Ramps stay ramps under addition and multiplication by a scalar."""
    if not node.dtype.is_int:
        return None
    match node:
        case tir.Add():
            if isinstance(b, tir.Ramp) and a.dtype.lanes == 1:
                a, b = b, a
            if isinstance(a, tir.Ramp) and b.dtype.lanes == 1:
                return tir.Ramp(ops.add(a.base, b), a.stride, a.lanes)
            if isinstance(a, tir.Ramp) and isinstance(b, tir.Ramp):
                return tir.Ramp(ops.add(a.base, b.base), ops.add(a.stride, b.stride), a.lanes)
        case tir.Sub():
            if isinstance(a, tir.Ramp) and b.dtype.lanes == 1:
                return tir.Ramp(ops.subtract(a.base, b), a.stride, a.lanes)
            if isinstance(b, tir.Ramp) and a.dtype.lanes == 1:
                return tir.Ramp(ops.subtract(a, b.base), ops.negative(b.stride), b.lanes)
        case tir.Mul():
            if isinstance(b, tir.Ramp) and a.dtype.lanes == 1:
                a, b = b, a
            if isinstance(a, tir.Ramp) and b.dtype.lanes == 1:
                return tir.Ramp(ops.multiply(a.base, b), ops.multiply(a.stride, b), a.lanes)
        case _:
            pass
    return None
