"""Statements of lowered PrimFuncs to LLVM IR. Nesting recurses (loops, conditions); sequences and chains do not.

A statement under a vector condition is predicated: `IfThenElse(mask, ...)` whose condition has lanes runs its body
with loads and stores restricted to those lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from baton._src.codegen.llvm.addressing.memory import keeps_lanes_apart
from baton._src.codegen.llvm.bounds import check_bounds, check_index
from baton._src.codegen.llvm.expr import ExprWriter
from baton._src.codegen.llvm.fault import leave_if_fault, leave_with_fault
from baton._src.codegen.llvm.function_writer import KernelContext
from baton._src.codegen.llvm.functions.intrinsics import HANDLERS, call_c
from baton._src.codegen.llvm.functions.writer import Handler
from baton._src.codegen.llvm.packed_calls import call_packed
from baton._src.codegen.llvm.parallel import parallel_loop
from baton._src.codegen.llvm.text import FunctionText
from baton._src.codegen.llvm.types import byte_size, memory_type, register_type
from baton._src.ir.expr import GlobalVar, Op, PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import InternalError, fail
from baton._src.tir import expr as tir
from baton._src.tir import operators as ops
from baton._src.tir import stmt as st
from baton._src.tir.packed_calls import PACKED, calls_packed, is_packed_call

STACK_LIMIT = 1 << 16
"""Most bytes of a buffer on the stack: larger or symbolic ones are in the thread's workspace for the time of their
scope.
"""

BEYOND_MEMORY = 1 << 62
"""Bytes that no allocation gives."""


class StmtWriter:
    """Writes statements into one function."""

    def __init__(self, context: KernelContext, text: FunctionText) -> None:
        self.context = context
        self.f = text
        self.e = ExprWriter(text, context.features, {**HANDLERS, **self._handlers()})
        self.extents: dict[tir.Var, PrimExpr] = {}
        """Elements behind each pointer, where known (for checked builds)."""
        self.blocks: list[str] = []
        """Blocks to free when the function is left."""
        self._loops: list[tuple[str, str, int]] = []
        """Where the next iteration begins, where the loop ends, and how many blocks are held around it."""
        if context.checked:
            self.e.check_access = lambda load: check_bounds(self, load.buffer, load.indices[0])

    def _handlers(self) -> dict[str, Handler]:
        """How the intrinsics are written that may leave the function."""
        packed: dict[str, Handler] = dict.fromkeys(PACKED, lambda _, call: call_packed(self, call))
        return {**packed, "tir.index_within": lambda _, call: check_index(self, call)}

    def beside(self, text: FunctionText) -> StmtWriter:
        """The writer of another function of the kernel."""
        return StmtWriter(self.context, text)

    def emit(self, stmt: st.Stmt | None) -> None:
        """Write one statement."""
        while stmt is not None:
            match stmt:
                case st.SeqStmt(seq=seq):
                    for item in seq[:-1]:
                        self.emit(item)
                    stmt = seq[-1] if seq else None
                    continue
                case st.LetStmt(var=var, value=value, body=body):
                    self.e.env[var] = self.e.fresh(value)
                    stmt = body
                    continue
                case st.AttrStmt(body=body) | st.DeclBuffer(body=body):
                    stmt = body
                    continue
                case st.AssertStmt(body=body):
                    self._assert(stmt)
                    stmt = body
                    continue
                case st.Allocate():
                    self._allocate(stmt)
                case st.BufferStore():
                    self._store(stmt)
                case st.For():
                    self._for(stmt)
                case st.While():
                    self._while(stmt)
                case st.IfThenElse():
                    self._if(stmt)
                case st.Evaluate():
                    self._evaluate(stmt)
                case _:
                    raise InternalError(f"code generation: {type(stmt).__name__} should have been lowered")
            return

    # ------------------------------------------------------------------------------------------- memory

    def _store(self, stmt: st.BufferStore) -> None:
        self.e.fresh(stmt.value)
        if self.context.checked:
            check_bounds(self, stmt.buffer, stmt.indices[0])
        self.e.store(stmt)

    def _allocate(self, stmt: st.Allocate) -> None:
        """Stack memory if small and constant, else workspace for the time of the body; 64-byte aligned."""
        sizes = [e.value for e in stmt.extents if isinstance(e, tir.IntImm)]
        kind, unit = memory_type(stmt.dtype), byte_size(stmt.dtype.element) * stmt.dtype.lanes
        count = 1
        for size in sizes:
            count *= size
        total: PrimExpr = tir.IntImm("int64", 1)
        for extent in stmt.extents:
            total = ops.multiply(total, ops.cast("int64", extent))
        self.extents[stmt.buffer_var] = total
        if len(sizes) == len(stmt.extents) and count * unit <= STACK_LIMIT:
            self.e.env[stmt.buffer_var] = self.f.alloca(kind, max(count, 1), 64)
            self.e.stack[stmt.buffer_var] = count
            if self.e.mask is not None and keeps_lanes_apart(stmt, self.e.mask_lanes):
                self.e.own_mask[stmt.buffer_var] = self.e.mask
            self._spoil(self.e.env[stmt.buffer_var], str(count * unit))
            self.emit(stmt.body)
            return
        bytes_ = self._bytes(stmt.extents, unit)
        block = self._workspace(bytes_)
        whole = self.f.value(f"ptrtoint ptr {block} to i64")
        above = self.f.value(f"and i64 {self.f.value(f'sub i64 0, {whole}')}, 63")
        self.e.env[stmt.buffer_var] = self.f.value(f"getelementptr i8, ptr {block}, i64 {above}")
        self._spoil(self.e.env[stmt.buffer_var], bytes_)
        self.blocks.append(block)
        self.emit(stmt.body)
        self.blocks.pop()
        self._free(block)

    def _bytes(self, extents: Sequence[PrimExpr], unit: int) -> str:
        """The size of a buffer; if no int64 holds it, more than there ever is."""
        f, pair, size, beyond = self.f, "{ i64, i1 }", str(unit), "false"
        self.e.memo = {}
        for extent in extents:
            factor = self.e.emit(ops.cast("int64", extent))
            found = f.intrinsic("llvm.smul.with.overflow.i64", pair, ("i64", size), ("i64", factor))
            size = f.value(f"extractvalue {pair} {found}, 0")
            beyond = f.value(f"or i1 {beyond}, {f.value(f'extractvalue {pair} {found}, 1')}")
        return f.value(f"select i1 {beyond}, i64 {BEYOND_MEMORY}, i64 {size}")

    def _spoil(self, address: str, size: str) -> None:
        """Checked builds: fill new memory with NaN, or -1, so that reads of unwritten elements become visible."""
        if self.context.checked:
            name = self.f.module.declare("llvm.memset.p0.i64", "void", ["ptr", "i8", "i64", "i1"])
            self.f.line(f"call void {name}(ptr {address}, i8 -1, i64 {size}, i1 false)")

    def _workspace(self, size: str) -> str:
        padded = self.f.value(f"add i64 {size}, 64")
        symbol = self.f.module.import_function("baton_workspace", "ptr", ["i64"])
        block = self.f.value(f"call ptr {symbol}(i64 {padded})")
        empty = self.f.value(f"icmp eq ptr {block}, null")
        with self.f.aside(empty, "nomemory", "allocated"):
            leave_with_fault(self, f"{self.context.name}: out of memory allocating {{0}} bytes of workspace", [size])
        return block

    def _free(self, block: str) -> None:
        symbol = self.f.module.import_function("baton_workspace_end", "void", ["ptr"])
        self.f.line(f"call void {symbol}(ptr {block})")

    def leave(self) -> None:
        """Return from the function, releasing the memory that it holds."""
        for block in reversed(self.blocks):
            self._free(block)
        self.f.line("ret void")

    # ------------------------------------------------------------------------------------------ control

    def _for(self, stmt: st.For) -> None:
        if stmt.kind is st.ForKind.PARALLEL:
            parallel_loop(self, stmt)
            if self._may_raise(stmt.body):
                leave_if_fault(self)
            return
        if stmt.kind is st.ForKind.VECTORIZED:
            raise InternalError("code generation: vectorised loops should have been lowered")
        begin = self.e.fresh(stmt.min)
        extent = self.e.emit(stmt.extent)
        kind = register_type(stmt.loop_var.dtype)
        end = extent if begin == "0" else self.f.value(f"add {_no_wrap(stmt.loop_var)} {kind} {begin}, {extent}")
        positive = isinstance(stmt.extent, tir.IntImm) and stmt.extent.value > 0
        self.counted(stmt.loop_var, begin, end, kind, lambda: self.emit(stmt.body), known_to_run=positive)

    def counted(
        self, var: tir.Var, begin: str, end: str, kind: str, body: Callable[[], None], known_to_run: bool = False
    ) -> None:
        """A loop of `var` from begin to end, tested at the bottom."""
        f = self.f
        less = "ult" if var.dtype.kind == "uint" else "slt"
        head, latch, exit_ = f.new_label("loop"), f.new_label("next"), f.new_label("done")
        if not known_to_run:
            f.branch_if(f.value(f"icmp {less} {kind} {begin}, {end}"), head, exit_)
        else:
            f.branch(head)
        before = f.block
        f.place(head)
        following = f"%{latch}.i"
        counter = f.phi(kind, [(begin, before), (following, latch)])
        self.e.env[var] = counter
        self._loops.append((latch, exit_, len(self.blocks)))
        body()
        self._loops.pop()
        f.branch(latch)
        f.place(latch)
        f.line(f"{following} = add {_no_wrap(var)} {kind} {counter}, 1")
        f.branch_if(f.value(f"icmp {less} {kind} {following}, {end}"), head, exit_)
        f.place(exit_)

    def _while(self, stmt: st.While) -> None:
        f = self.f
        test, body, exit_ = f.new_label("while"), f.new_label("do"), f.new_label("done")
        f.branch(test)
        f.place(test)
        f.branch_if(self.e.fresh(stmt.condition), body, exit_)
        f.place(body)
        self._loops.append((test, exit_, len(self.blocks)))
        self.emit(stmt.body)
        self._loops.pop()
        f.branch(test)
        f.place(exit_)

    def _if(self, stmt: st.IfThenElse) -> None:
        condition = self.e.fresh(stmt.condition)
        if stmt.condition.dtype.lanes > 1:
            self._predicated(stmt, condition)
            return
        f = self.f
        then, end = f.new_label("then"), f.new_label("endif")
        other = f.new_label("else") if stmt.else_case is not None else end
        f.branch_if(condition, then, other)
        f.place(then)
        self.emit(stmt.then_case)
        f.branch(end)
        if stmt.else_case is not None:
            f.place(other)
            self.emit(stmt.else_case)
            f.branch(end)
        f.place(end)

    def _predicated(self, stmt: st.IfThenElse, condition: str) -> None:
        lanes = stmt.condition.dtype.lanes
        outer, outer_lanes = self.e.mask, self.e.mask_lanes
        self.e.set_mask(self.e.join_masks(condition, lanes), lanes)
        self.emit(stmt.then_case)
        if stmt.else_case is not None:
            self.e.set_mask(outer, outer_lanes)
            flipped = self.f.value(f"xor <{lanes} x i1> {condition}, splat (i1 true)")
            self.e.set_mask(self.e.join_masks(flipped, lanes), lanes)
            self.emit(stmt.else_case)
        self.e.set_mask(outer, outer_lanes)

    def _assert(self, stmt: st.AssertStmt) -> None:
        condition = self.e.fresh(stmt.condition)
        said = stmt.message.value if isinstance(stmt.message, tir.StringImm) else "an assertion failed"
        with self.f.aside(self.f.value(f"xor i1 {condition}, true"), "failed", "held"):
            leave_with_fault(self, f"{self.context.name}: {said}".replace("{", "{{").replace("}", "}}"), [])

    # -------------------------------------------------------------------------------------------- calls

    def _evaluate(self, stmt: st.Evaluate) -> None:
        value = stmt.value
        match value:
            case tir.IntImm() | tir.FloatImm():
                return
            case tir.Call(op=GlobalVar(name_hint=name)):
                self._call_kernel(name, value)
            case tir.Call(op=Op(name="tir.ret")):
                self.leave()
                self.f.place(self.f.new_label("unreachable"))
            case tir.Call(op=Op(name="tir.leave_if_fault"), args=(tir.StringImm(value=site),)):
                leave_if_fault(self, site)
            case tir.Call(op=Op(name="tir.break_loop" | "tir.continue_loop" as name)):
                latch, exit_, held = self._loops[-1]
                for block in reversed(self.blocks[held:]):
                    self._free(block)
                self.f.branch(exit_ if name == "tir.break_loop" else latch)
                self.f.place(self.f.new_label("unreachable"))
            case tir.Call(op=Op(name="tir.prefetch"), args=(tir.Call(op=Op(name="tir.address_of")) as place, *hints)):
                self._prefetch(place, hints)
            case tir.Call(op=Op(name="tir.assume" | "tir.prefetch" | "tir.tvm_storage_sync")):
                return
            case tir.Call() if is_packed_call(value):
                self.e.memo = {}
                call_packed(self, value, is_used=False)
            case _:
                self.e.fresh(value)

    def _prefetch(self, place: tir.Call, hints: list[PrimExpr]) -> None:
        """prefetch(address, write?, locality 0 to 3, data?): a hint, for which any address is valid."""
        numbers = [h.value for h in hints if isinstance(h, tir.IntImm)]
        write, locality, data = numbers if len(numbers) == 3 else (0, 3, 1)
        address = self.e.fresh(place)
        self.f.module.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
        self.f.line(f"call void @llvm.prefetch.p0(ptr {address}, i32 {write}, i32 {locality}, i32 {data})")

    def _call_kernel(self, name: str, call: tir.Call) -> None:
        linked = self.context.callees.get(name)
        if linked is None:
            raise fail("codegen-callee", f"{self.context.name} calls {name}, which is not compiled with it")
        self.e.memo = {}
        call_c(self.e, self.f.module.declare, linked, call.dtype, list(call.args))
        if name in self.context.raising:
            leave_if_fault(self, name)

    def _may_raise(self, body: st.Stmt) -> bool:
        """Whether a packed function may raise an exception in it: what follows is then not to run."""
        if not self.context.raising:
            return False
        names = {n.op.name_hint for n in post_order(body) if isinstance(n, tir.Call) and isinstance(n.op, GlobalVar)}
        return calls_packed(body) or not names.isdisjoint(self.context.raising)


def _no_wrap(var: tir.Var) -> str:
    """The flag of sums that a loop's variable takes: it stays in the range of its dtype."""
    return "nuw" if var.dtype.kind == "uint" else "nsw"
