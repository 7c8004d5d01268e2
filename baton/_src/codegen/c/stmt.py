"""Statements of lowered PrimFuncs to C. Nesting recurses (loops, conditions); sequences and chains do not.

Functions return 0, or -1 after a fault, of which they have told `__TVMAPISetLastError`. Under a condition with lanes
(`IfThenElse(mask, ...)`) loads and stores are restricted to those lanes.
"""

from __future__ import annotations

from collections.abc import Mapping

from baton._src.codegen.c.expr import ExprWriter, bare
from baton._src.codegen.c.helpers import stored_suffix
from baton._src.codegen.c.intrinsics import HANDLERS
from baton._src.codegen.c.text import CFile, Lines, string
from baton._src.codegen.c.types import c_type, held_type, is_padded
from baton._src.ir.expr import GlobalVar, Op, PrimExpr
from baton._src.ir.traverse import post_order
from baton._src.support.diagnostics import InternalError, fail
from baton._src.tir import expr as tir
from baton._src.tir import stmt as st

STACK_LIMIT = 1 << 10
"""Most bytes of a buffer on the stack, which is small where there is no operating system."""


class StmtWriter:
    """Writes statements into the function `name`. `callees` gives C's names of the kernels it may call."""

    def __init__(
        self, file: CFile, text: Lines, name: str, callees: Mapping[str, str], used: frozenset[tir.Var]
    ) -> None:
        self.name = name
        self.file = file
        self.t = text
        self.callees = callees
        self.used = used
        """The variables that are read: C compilers warn of others."""
        self.e = ExprWriter(file, text, HANDLERS)
        self.e.leave = self.leave_with
        self.blocks: list[str] = []
        """Work buffers to free when the function is left."""
        self._loops: list[int] = []
        """How many blocks are held around each loop."""
        self._mask: str | None = None

    def emit(self, stmt: st.Stmt | None) -> None:
        """Write one statement."""
        while stmt is not None:
            match stmt:
                case st.SeqStmt(seq=seq):
                    for item in seq[:-1]:
                        self._scoped(item)
                    stmt = seq[-1] if seq else None
                    continue
                case st.LetStmt(var=var, value=value, body=body):
                    self.e.start(value)
                    if var in self.used:
                        self.e.define(var, value)
                    else:
                        self._evaluate(value)
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
                    self._evaluate(stmt.value)
                case _:
                    raise InternalError(f"code generation: {type(stmt).__name__} should have been lowered")
            return

    def _scoped(self, stmt: st.Stmt) -> None:
        """A statement whose names and buffers end with it."""
        if isinstance(stmt, (st.LetStmt, st.Allocate)):
            with self.t.block(""):
                self.emit(stmt)
        else:
            self.emit(stmt)

    # ------------------------------------------------------------------------------------------- memory

    def _store(self, stmt: st.BufferStore) -> None:
        (index,) = stmt.indices
        if stmt.value.dtype.lanes > 1 or index.dtype.lanes > 1:
            self._store_lanes(stmt, index)
            return
        self.e.start(stmt.value, index)
        value = bare(self.e.emit(stmt.value))
        self._put(stmt, self.e.place(index), value)

    def _put(self, stmt: st.BufferStore, place: str, value: str) -> None:
        buffer, dtype = stmt.buffer, stmt.value.dtype.element
        if is_padded(dtype):
            value = f"({c_type(dtype)})(({value}) & {(1 << dtype.bits) - 1})"
        if self.e.kinds.get(buffer.data, "void") == "void":
            helper = self.file.helper(f"store_{stored_suffix(c_type(buffer.dtype))}")
            self.t.line(f"{helper}({self.e.emit(buffer.data)}, {place}, {value});")
        else:
            self.t.line(f"{self.e.element(buffer, place)} = {value};")

    def _store_lanes(self, stmt: st.BufferStore, index: PrimExpr) -> None:
        """Compute all lanes before the first is written: they may be read from the same memory."""
        self.e.start()
        count = stmt.value.dtype.lanes
        values = self.e.array(stmt.value, self._mask)
        reads = any(isinstance(node, tir.BufferLoad) for node in post_order(index))
        places = self.e.array(index, self._mask) if reads and index.dtype.lanes > 1 else ""
        with self.e.lanes(count) as lane:
            place = f"{places}[{lane}]" if places else self.e.place(index)
            place = place if index.dtype.lanes > 1 else f"{place} + {lane}"
            if self._mask is None:
                self._put(stmt, place, f"{values}[{lane}]")
            else:
                with self.t.block(f"if ({self._mask}[{lane}])"):
                    self._put(stmt, place, f"{values}[{lane}]")

    def _allocate(self, stmt: st.Allocate) -> None:
        """An array if it is small and of constant size, else memory for the time of the body."""
        if stmt.buffer_var not in self.used:
            self.emit(stmt.body)
            return
        kind = self.e.kinds.get(stmt.buffer_var, "void")
        name = self.t.name(stmt.buffer_var.name)
        item = c_type(stmt.dtype)
        unit = f"(int64_t)sizeof({item})" if stmt.dtype.lanes == 1 else f"{stmt.dtype.lanes} * (int64_t)sizeof({item})"
        numbers = [e.value for e in stmt.extents if isinstance(e, tir.IntImm)]
        count = stmt.dtype.lanes
        for number in numbers:
            count *= number
        size = stmt.dtype.element.itemsize * count
        if len(numbers) == len(stmt.extents) and size <= STACK_LIMIT:
            if kind == "void":
                self.t.line(f"uint64_t {name}[{max(1, -(-size // 8))}];")
            else:
                self.t.line(f"{kind} {name}[{max(count, 1)}];")
            self.e.env[stmt.buffer_var] = name
            self.emit(stmt.body)
            return
        self.e.start()
        total = str(size) if len(numbers) == len(stmt.extents) and size < 1 << 31 else unit
        for extent in () if total == str(size) else stmt.extents:
            total = f"{self.file.helper('times')}({bare(self.e.emit(extent))}, {total})"
        self.t.line(f"{kind}* const {name} = ({kind}*){self.file.helper('workspace')}({total});")
        with self.t.block(f"if ({name} == NULL)"):
            self.leave_with(f"{self.name}: out of memory", [])
        self.e.env[stmt.buffer_var] = name
        self.blocks.append(name)
        self.emit(stmt.body)
        self.blocks.pop()
        self.t.line(f"BATON_FREE({name});")

    def leave(self, result: str = "0") -> None:
        """Return from the function, releasing the memory that it holds."""
        self._release(0)
        self.t.line(f"return {result};")

    def _release(self, kept: int) -> None:
        for block in reversed(self.blocks[kept:]):
            self.t.line(f"BATON_FREE({block});")

    def leave_with(self, pattern: str, numbers: list[str]) -> None:
        """Return after a fault: `pattern`, with `{0}`, `{1}`, `{2}` for the numbers."""
        self._release(0)
        given = ", ".join([*numbers, "0", "0", "0"][:3])
        self.t.line(f"return {self.file.helper('fault')}({string(pattern)}, {given});")

    # ------------------------------------------------------------------------------------------ control

    def _for(self, stmt: st.For) -> None:
        if stmt.kind is st.ForKind.VECTORIZED:
            raise InternalError("code generation: vectorised loops should have been lowered")
        if isinstance(stmt.extent, tir.IntImm) and stmt.extent.value <= 0:
            return
        self.e.start(stmt.min, stmt.extent)
        low, high = self.e.intervals.of(stmt.min), self.e.intervals.of(stmt.extent)
        known = (low[0], low[1] + max(high[1], 1) - 1) if low and high else None
        self.e.intervals.bind(stmt.loop_var, known)
        kind, name = held_type(stmt.loop_var.dtype, known), self.t.name(stmt.loop_var.name)
        first, last = self.e.place(stmt.min), self.e.place(stmt.extent)
        if first != "0":
            both = (stmt.min, stmt.extent)
            numbers = [e.value for e in both if isinstance(e, tir.IntImm)]
            last = str(sum(numbers)) if len(numbers) == 2 else f"{first} + {last}"
        if not last.lstrip("-").isalnum():
            end = self.t.name(f"{stmt.loop_var.name}_end")
            self.t.line(f"const {kind} {end} = {last};")
            last = end
        self.e.env[stmt.loop_var] = name
        self._loops.append(len(self.blocks))
        with self.t.block(f"for ({kind} {name} = {first}; {name} < {last}; ++{name})"):
            self.emit(stmt.body)
        self._loops.pop()

    def _while(self, stmt: st.While) -> None:
        self._loops.append(len(self.blocks))
        with self.t.block("while (true)"):
            with self.t.block(f"if (!{self.e.fresh(stmt.condition)[0]})"):
                self.t.line("break;")
            self.emit(stmt.body)
        self._loops.pop()

    def _if(self, stmt: st.IfThenElse) -> None:
        if stmt.condition.dtype.lanes > 1:
            self._predicated(stmt)
            return
        (condition,) = self.e.fresh(stmt.condition)
        with self.t.block(f"if ({bare(condition)})"):
            self.emit(stmt.then_case)
        if stmt.else_case is not None:
            with self.t.block("else"):
                self.emit(stmt.else_case)

    def _predicated(self, stmt: st.IfThenElse) -> None:
        self.e.start()
        count, outer = stmt.condition.dtype.lanes, self._mask
        flags = self.e.array(stmt.condition, outer)
        for case, sign in ((stmt.then_case, ""), (stmt.else_case, "!")):
            if case is None:
                continue
            mask, some = self.t.name("mask"), self.t.name("some")
            self.t.line(f"bool {mask}[{count}], {some} = false;")
            with self.e.lanes(count) as lane:
                held = f"{sign}{flags}[{lane}]" if outer is None else f"{outer}[{lane}] && {sign}{flags}[{lane}]"
                self.t.line(f"{some} |= {mask}[{lane}] = {held};")
            self._mask = mask
            with self.t.block(f"if ({some})"):
                self.emit(case)
            self._mask = outer

    def _assert(self, stmt: st.AssertStmt) -> None:
        (condition,) = self.e.fresh(stmt.condition)
        said = stmt.message.value if isinstance(stmt.message, tir.StringImm) else "an assertion failed"
        with self.t.block(f"if (!{condition})"):
            self.leave_with(f"{self.name}: {said}".replace("{", "{{").replace("}", "}}"), [])

    # -------------------------------------------------------------------------------------------- calls

    def _evaluate(self, value: PrimExpr) -> None:
        match value:
            case tir.IntImm() | tir.FloatImm():
                return
            case tir.Call(op=GlobalVar(name_hint=name)):
                self._call_kernel(name, value)
            case tir.Call(op=Op(name="tir.ret")):
                self.leave()
            case tir.Call(op=Op(name="tir.break_loop" | "tir.continue_loop" as name)):
                self._release(self._loops[-1])
                self.t.line("break;" if name == "tir.break_loop" else "continue;")
            case tir.Call(op=Op(name="tir.assume" | "tir.prefetch" | "tir.tvm_storage_sync" | "tir.leave_if_fault")):
                return
            case _ if value.dtype.lanes > 1:
                self.e.start()
                self.e.array(value, self._mask)
            case _:
                (text,) = self.e.fresh(value)
                if text and isinstance(value, tir.Call):
                    self.t.line(f"(void){text};")

    def _call_kernel(self, name: str, call: tir.Call) -> None:
        linked = self.callees.get(name)
        if linked is None:
            raise fail("codegen-callee", f"{self.name} calls {name}, which is not compiled with it")
        kinds = self.file.parameters[linked]
        found = zip(kinds, self.e.fresh(*call.args), strict=True)
        given = ", ".join(f"({kind}){text}" if kind.endswith("*") else bare(text) for kind, text in found)
        with self.t.block(f"if ({linked}({given}) != 0)"):
            self.leave("-1")
