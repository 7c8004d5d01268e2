"""Statements as Python functions over an environment, for the interpreter: each kind of loop runs serially."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from baton._src.ir.expr import PrimExpr
from baton._src.support.diagnostics import InternalError, fail
from baton._src.tir.analysis.empty_reductions import EmptyReduction, empty_reductions
from baton._src.tir.buffer import Buffer
from baton._src.tir.evaluation.calls import packed_call
from baton._src.tir.evaluation.expressions import ExprCompiler
from baton._src.tir.expr import Call, IntImm, StringImm, Var
from baton._src.tir.packed_calls import is_packed_call
from baton._src.tir.scalar_values import Env, Run
from baton._src.tir.stmt import (
    Allocate,
    AllocateConst,
    AssertStmt,
    AttrStmt,
    Block,
    BlockRealize,
    BufferStore,
    DeclBuffer,
    Evaluate,
    For,
    IfThenElse,
    LetStmt,
    MatchBufferRegion,
    SeqStmt,
    Stmt,
    While,
)
from baton._src.tir.thread_axes import thread_loop
from baton._src.values.dtype import DataType

_UNSET = 0xAB


class StmtCompiler(ExprCompiler):
    """Compiles statements to closures."""

    def __init__(self, functions: Mapping[str, Any] | None = None) -> None:
        super().__init__(functions)
        self.opened: set[Any] = set()
        """Variables of sizes that views leave open: each time what the region has."""
        self.empty: Mapping[Var, Sequence[EmptyReduction]] = {}
        """What begins empty reductions in front of the loops that carry them."""

    def whole(self, body: Stmt) -> Run:
        """The closure of the body of a function."""
        self.empty = empty_reductions(body)
        return self.stmt(body)

    def stmt(self, node: Stmt) -> Run:
        """The closure of a statement. Chains of lets, attributes, asserts and declarations run as one list."""
        steps: list[Run] = []
        current: Stmt | None = node
        while current is not None:
            step, current = self._step(current)
            if step is not None:
                steps.append(step)
        if len(steps) == 1:
            return steps[0]

        def run(env: Env) -> None:
            for one in steps:
                one(env)

        return run

    def _step(self, node: Stmt) -> tuple[Run | None, Stmt | None]:
        """What a statement does before its tail, and the tail."""
        match node:
            case LetStmt():
                return self._bind(node.var, self.expr(node.value)), node.body
            case AttrStmt():
                threads = thread_loop(node)
                return (None, node.body) if threads is None else (self._for(threads), None)
            case AssertStmt():
                return self._assert(node), node.body
            case DeclBuffer():
                return self._forget(self.slot(node.buffer)), node.body
            case Allocate():
                return self._allocate(node.buffer_var, node.dtype, node.extents), node.body
            case AllocateConst():
                return self._step(node.as_let())
            case SeqStmt():
                return self._sequence(node), None
            case _:
                return self._leaf(node), None

    def _leaf(self, node: Stmt) -> Run:
        match node:
            case BufferStore():
                return self._store(node)
            case For():
                return self._for(node)
            case BlockRealize():
                return self._block(node)
            case IfThenElse():
                return self._if(node)
            case Evaluate(value=Call() as call) if is_packed_call(call):
                return packed_call(self, call, is_used=False)
            case Evaluate():
                return self.expr(node.value)
            case While():
                return self._while(node)
            case _:
                raise InternalError(f"the interpreter does not know {type(node).__name__}")

    def _sequence(self, node: SeqStmt) -> Run:
        parts = [self.stmt(s) for s in node.seq]

        def run(env: Env) -> None:
            for part in parts:
                part(env)

        return run

    def _bind(self, var: Var, value: Run) -> Run:
        slot, aliases = self.binding(var)

        def run(env: Env) -> None:
            env[slot] = value(env)
            for alias in aliases:
                env[alias] = None

        return run

    def _forget(self, slot: int) -> Run:
        def run(env: Env) -> None:
            env[slot] = None

        return run

    def _assert(self, node: AssertStmt) -> Run:
        condition = self.expr(node.condition)
        message = node.message.value if isinstance(node.message, StringImm) else "assertion failed"

        def run(env: Env) -> None:
            if not condition(env):
                raise fail("tir-assert", message, span=node.span)

        return run

    def _allocate(self, pointer: Var, dtype: DataType, extents: Sequence[PrimExpr]) -> Run:
        sizes = [self.expr(e) for e in extents]

        def value(env: Env) -> Any:
            count = 1
            for size in sizes:
                count *= int(size(env))
            return _fresh_memory(dtype, max(count, 1))

        return self._bind(pointer, value)

    def _store(self, node: BufferStore) -> Run:
        view, at = self.view(node.buffer), self.indices(node.buffer, node.indices)
        value, name = self.expr(node.value), node.buffer.name

        def run(env: Env) -> None:
            element = value(env)  # before the indices, as in compiled kernels: calls in both may have effects
            array, index = view(env), at(env)
            try:
                array[index] = element
            except IndexError:
                shape = array.shape
                raise fail("tir-bounds", f"write of {name}{list(index)} is outside its shape {shape}") from None

        return run

    def _for(self, node: For) -> Run:
        (slot, aliases), begin, extent = self.binding(node.loop_var), self.expr(node.min), self.expr(node.extent)
        body, empty = self.stmt(node.body), self.empty.get(node.loop_var, ())
        ahead = [self.stmt(made.beginning) for made in empty]

        def run(env: Env) -> None:
            for beginning in ahead:
                beginning(env)
            start = begin(env)
            for value in range(start, start + extent(env)):
                env[slot] = value
                for alias in aliases:
                    env[alias] = None
                body(env)

        return run

    def _while(self, node: While) -> Run:
        condition, body = self.expr(node.condition), self.stmt(node.body)

        def run(env: Env) -> None:
            while condition(env):
                body(env)

        return run

    def _if(self, node: IfThenElse) -> Run:
        condition, yes = self.expr(node.condition), self.stmt(node.then_case)
        no = self.stmt(node.else_case) if node.else_case is not None else None

        def run(env: Env) -> None:
            if condition(env):
                yes(env)
            elif no is not None:
                no(env)

        return run

    # ------------------------------------------------------------------------------------------- blocks

    def _block(self, node: BlockRealize) -> Run:
        block = node.block
        values = [(*self.binding(iv.var), self.expr(v)) for iv, v in zip(block.iter_vars, node.iter_values)]
        predicate = None if _is_true(node.predicate) else self.expr(node.predicate)
        prepare = [self._allocate(b.data, b.dtype, _extents(b)) for b in block.alloc_buffers]
        prepare += [self._match_region(m) for m in block.match_buffers]
        init, body = self._init(block), self.stmt(block.body)

        def run(env: Env) -> None:
            # All values are computed before any is bound: they may name the same variables.
            found = [v(env) for _, _, v in values]
            if predicate is not None and not predicate(env):
                return
            for (slot, aliases, _), value in zip(values, found):
                env[slot] = value
                for alias in aliases:
                    env[alias] = None
            for step in prepare:
                step(env)
            if init is not None:
                init(env)
            body(env)

        return run

    def _init(self, block: Block) -> Run | None:
        if block.init is None:
            return None
        init = self.stmt(block.init)
        axes = [iv for iv in block.iter_vars if iv.iter_type == "reduce" and iv.dom is not None]
        starts = [(self.slot(iv.var), self.expr(iv.dom.min)) for iv in axes if iv.dom is not None]

        def run(env: Env) -> None:
            if all(env[slot] == start(env) for slot, start in starts):
                init(env)

        return run

    def _match_region(self, match: MatchBufferRegion) -> Run:
        """Bind a buffer to a box of another: its strides and offset where they are variables, its memory, its view."""
        source, buffer = match.source.buffer, match.buffer
        view, memory = self.view(source), self.expr(source.data)
        box = [(self.expr(r.min), self.expr(r.extent)) for r in match.source.region]
        data, slot = self.slot(buffer.data), self.slot(buffer)
        strides = [(i, self.slot(s)) for i, s in enumerate(buffer.strides) if isinstance(s, Var)]
        self.opened |= {s for s in buffer.shape if isinstance(s, Var) and s not in self.slots}
        shape = [(i, self.slot(s)) for i, s in enumerate(buffer.shape) if s in self.opened]
        offset = self.slot(buffer.elem_offset) if isinstance(buffer.elem_offset, Var) else None
        dropped = source.ndim - buffer.ndim

        def run(env: Env) -> None:
            part = view(env)[tuple(slice(m(env), m(env) + e(env)) for m, e in box)]
            part = part[(*(0,) * dropped, ...)]  # also of one element it is a view
            whole = memory(env)
            env[data], env[slot] = whole, part
            for axis, var in strides:
                env[var] = part.strides[axis] // part.itemsize
            for axis, var in shape:
                env[var] = part.shape[axis]
            if offset is not None:
                start = part.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
                env[offset] = start // part.itemsize

        return run


def _is_true(predicate: PrimExpr) -> bool:
    return isinstance(predicate, IntImm) and predicate.value != 0


def _extents(buffer: Buffer) -> Sequence[PrimExpr]:
    """How many elements a buffer takes, as factors; with strides the outermost one bounds it."""
    return (buffer.strides[0], buffer.shape[0]) if buffer.strides else buffer.shape


def _fresh_memory(dtype: DataType, count: int) -> Any:
    if dtype.is_float:
        return np.full(count * dtype.lanes, np.nan, dtype.numpy).view(np.uint8)
    if dtype.is_bool:
        return np.zeros(count * dtype.lanes, np.uint8)
    return np.full(count * dtype.itemsize, _UNSET, np.uint8)
