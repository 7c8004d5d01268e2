"""Check whether a PrimFunc is well-formed: all errors are reported together, each with the node and a fix.

Checked: variables are defined before they are used, within their scope, and once; buffers lie in memory that exists,
are indexed with as many integers as they have dims, and hold what is stored; conditions are bool; loops range over
integers of their variable's dtype; operands of arithmetic agree; intrinsics get as many operands as they take; blocks
bind every axis, use outer loop variables only through their axes, and list what they write.
Not checked: that indices are in bounds (`outside_indices` finds those that are not), and that regions are as small as
they could be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from baton._src.ir.module import IRModule
from baton._src.support.diagnostics import Diagnostic, ValueDiagnosticError
from baton._src.support.trampoline import Task, run
from baton._src.tir import expr as tir
from baton._src.tir.analysis.check_expressions import ExpressionChecker
from baton._src.tir.buffer import Buffer, BufferRegion
from baton._src.tir.expr import Var
from baton._src.tir.kernel_abi import implicit_shape_vars
from baton._src.tir.prim_func import PrimFunc
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
    SeqStmt,
    Stmt,
    While,
)
from baton._src.values.dtype import HANDLE


def check_prim_func(func: PrimFunc, name: str = "") -> list[Diagnostic]:
    """All errors of `func`, in program order; empty if it is well-formed."""
    checker = _Checker(name or str(func.attrs.get("global_symbol", "")))
    checker.function(func)
    return checker.findings


def verify_well_formed(obj: PrimFunc | IRModule, assert_mode: bool = True) -> bool:
    """Whether a kernel, or each one of a module, is well formed; with `assert_mode` raise a `DiagnosticError` (and
    `ValueError`) with every finding if not."""
    kernels = [obj] if isinstance(obj, PrimFunc) else [f for f in obj.functions.values() if isinstance(f, PrimFunc)]
    findings = [finding for kernel in kernels for finding in check_prim_func(kernel)]
    if findings and assert_mode:
        raise ValueDiagnosticError(findings)
    return not findings


class _Checker(ExpressionChecker):
    """The state of checking one function."""

    def __init__(self, name: str) -> None:
        super().__init__()
        if name:
            self.crumbs.append(f"in PrimFunc {name}")
        self.loop_vars: set[Any] = set()
        """Loop variables that may be used here."""
        self.writable: set[Buffer] | None = None
        """Buffers the innermost block may write; None outside of blocks."""
        self.constants: set[Any] = set()
        """Pointers to numbers that are only read."""
        self.own_memory: set[Any] = set()
        """Buffers that the innermost block allocates: writes to them are not visible outside."""

    # -------------------------------------------------------------------------------------------- scopes

    @contextmanager
    def scope(self, crumb: str = "") -> Iterator[None]:
        """Definitions inside end with the scope."""
        mark, loops, hidden, writable = len(self.log), self.loop_vars, self.hidden_loop_vars, self.writable
        own = self.own_memory
        self.loop_vars = set(loops)
        if crumb:
            self.crumbs.append(crumb)
        yield
        if crumb:
            self.crumbs.pop()
        self.defined.difference_update(self.log[mark:])
        del self.log[mark:]
        self.loop_vars, self.hidden_loop_vars, self.writable, self.own_memory = loops, hidden, writable, own

    def function(self, func: PrimFunc) -> None:
        for param in func.params:
            self.define(param, func)
        for var in implicit_shape_vars(func):
            self.define(var, func)
        for param, buffer in func.buffer_map.items():
            if param.dtype != HANDLE:
                self.report("tir-param", param, f"{param.name} has a buffer but is {param.dtype}, not a handle")
            if buffer.data is not param and buffer.data not in self.defined:
                self.define(buffer.data, buffer)
        run(self.stmt(func.body))

    # ----------------------------------------------------------------------------------------- statements

    def stmt(self, node: Stmt) -> Task[None]:
        match node:
            case SeqStmt():
                for part in node.seq:
                    yield self.stmt(part)
            case BufferStore():
                self.store(node)
            case Evaluate():
                self.expr(node.value)
            case For():
                yield self.loop(node)
            case BlockRealize():
                yield self.block(node)
            case IfThenElse():
                self.expr(node.condition)
                self.condition(node.condition, "if")
                for case in (node.then_case, node.else_case):
                    if case is not None:
                        yield self.body(case)
            case While():
                self.expr(node.condition)
                self.condition(node.condition, "while")
                yield self.body(node.body)
            case Block():
                self.report("tir-block", node, f"the block {node.name_hint} is not in a BlockRealize")
            case _:
                yield self.chain(node)

    def body(self, node: Stmt) -> Task[None]:
        with self.scope():
            yield self.stmt(node)

    def chain(self, node: Stmt) -> Task[None]:
        """Statements that enclose the rest of their scope, in a loop, however many follow each other."""
        with self.scope():
            current: Stmt = node
            while isinstance(current, (LetStmt, AttrStmt, AssertStmt, Allocate, AllocateConst, DeclBuffer)):
                self.opening(current)
                current = current.body
            yield self.stmt(current)

    def opening(self, node: LetStmt | AttrStmt | AssertStmt | Allocate | AllocateConst | DeclBuffer) -> None:
        match node:
            case LetStmt():
                self.expr(node.value)
                if node.var.dtype != node.value.dtype:
                    self.report("tir-dtype", node, f"{node.var.name} is {node.var.dtype}, its value {node.value.dtype}")
                self.define(node.var, node)
            case AttrStmt():
                if isinstance(node.node, tir.IterVar) and node.node.var not in self.defined:
                    self.define(node.node.var, node)
                self.expr(node.value)
            case AssertStmt():
                self.expr(node.condition)
                self.condition(node.condition, "assert")
            case Allocate():
                self.expr(*node.extents, node.condition)
                self.define(node.buffer_var, node)
                self.own_memory.add(node.buffer_var)
            case AllocateConst():
                self.define(node.buffer_var, node)
                self.constants.add(node.buffer_var)
            case DeclBuffer():
                self.buffer_shape(node.buffer)
                if node.buffer.data not in self.defined:
                    self.report("tir-undefined", node, f"the buffer {node.buffer.name} is not allocated here")

    def buffer_shape(self, buffer: Buffer) -> None:
        self.expr(*buffer.shape, *buffer.strides, buffer.elem_offset)
        if buffer.strides and len(buffer.strides) != buffer.ndim:
            message = f"{buffer.name} has {buffer.ndim} dims but {len(buffer.strides)} strides"
            self.report("tir-buffer", buffer, message)

    def store(self, node: BufferStore) -> None:
        self.expr(node.value, *node.indices)
        self.access(node, node.buffer, node.indices, "written")
        lanes = node.indices[-1].dtype.lanes if node.indices else 1
        dtype = node.buffer.dtype.with_lanes(node.buffer.dtype.lanes * lanes)
        if node.value.dtype != dtype:
            self.report("tir-dtype", node, f"{node.buffer.name} holds {dtype}, the value is {node.value.dtype}")
        if node.buffer.data in self.constants:
            self.report(
                "tir-constant", node, f"{node.buffer.name} is a constant and cannot be written", "copy it first"
            )
        known = self.writable is None or node.buffer in self.writable or node.buffer.data in self.own_memory
        if not known:
            message = f"the block writes {node.buffer.name}, which is not among its writes"
            self.report("tir-block-writes", node, message, "add the region to the writes of the block")

    def loop(self, node: For) -> Task[None]:
        self.expr(node.min, node.extent)
        if not node.loop_var.dtype.is_int:
            self.report("tir-loop", node, f"the loop variable {node.loop_var.name} is {node.loop_var.dtype}")
        for end in (node.min, node.extent):
            if end.dtype != node.loop_var.dtype:
                message = f"the loop over {node.loop_var.name} ({node.loop_var.dtype}) has a bound of {end.dtype}"
                self.report("tir-dtype", node, message)
        with self.scope():
            self.define(node.loop_var, node)
            self.loop_vars.add(node.loop_var)
            yield self.stmt(node.body)

    def block(self, node: BlockRealize) -> Task[None]:
        block = node.block
        self.expr(*node.iter_values, node.predicate)
        self.condition(node.predicate, "a block's predicate")
        if len(node.iter_values) != len(block.iter_vars):
            message = (
                f"the block {block.name_hint} has {len(block.iter_vars)} axes and {len(node.iter_values)} bindings"
            )
            self.report("tir-block", node, message)
        with self.scope(f"in block {block.name_hint}"):
            self.axes(node)
            allocated = [b.data for b in block.alloc_buffers]
            for buffer in block.alloc_buffers:
                self.define(buffer.data, buffer)
                self.buffer_shape(buffer)
            self.regions((*block.reads, *block.writes, *(m.source for m in block.match_buffers)))
            self.matches(block)
            self.limit_writes(block, set(allocated))
            if block.init is not None:
                yield self.body(block.init)
            yield self.stmt(block.body)

    def axes(self, node: BlockRealize) -> None:
        for axis, value in zip(node.block.iter_vars, node.iter_values):
            if axis.dom is not None:
                self.expr(axis.dom.min, axis.dom.extent)
            if axis.var.dtype != value.dtype:
                message = f"the axis {axis.var.name} ({axis.var.dtype}) is bound to a value of {value.dtype}"
                self.report("tir-dtype", node, message)
        if node.block.iter_vars:
            self.hidden_loop_vars = self.hidden_loop_vars | self.loop_vars
            self.loop_vars = set()
        for axis in node.block.iter_vars:
            self.define(axis.var, node)

    def regions(self, regions: Iterable[BufferRegion]) -> None:
        for region in regions:
            if len(region.region) != region.buffer.ndim:
                name, count = region.buffer.name, len(region.region)
                self.report(
                    "tir-indices", region, f"a region of {name} has {count} ranges for {region.buffer.ndim} dims"
                )
            for box in region.region:
                self.expr(box.min, box.extent)

    def matches(self, block: Block) -> None:
        for match in block.match_buffers:
            offset = () if match.buffer.elem_offset is None else (match.buffer.elem_offset,)
            for dim in (*match.buffer.shape, *match.buffer.strides, *offset):
                if isinstance(dim, Var) and dim not in self.defined:
                    self.define(dim, match)
            self.buffer_shape(match.buffer)
            self.define(match.buffer.data, match)

    def limit_writes(self, block: Block, allocated: set[Any]) -> None:
        """From here on only the regions that the block lists may be written. A root block that lists nothing has no
        limits.
        """
        if not block.iter_vars and not block.writes:
            return
        listed = {w.buffer for w in block.writes} | set(block.alloc_buffers)
        matched = {m.buffer for m in block.match_buffers if m.source.buffer in listed}
        inherited = set() if self.writable is None else {b for b in self.writable if b.data in allocated}
        self.writable, self.own_memory = listed | matched | inherited, set()
